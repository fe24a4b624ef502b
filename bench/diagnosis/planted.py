"""Failures planted over a public set: each breaks one stage for one question, asks it, and has the answer diagnosed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from asgiref.sync import async_to_sync
from django.core.management import call_command

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.selectors import scope_for
from bench.diagnosis.breaks import KINDS, Case, Corpus, Plant, load
from bench.diagnosis.figures import Outcome
from bench.diagnosis.remedied import mended
from bench.retrieval import note, work_off
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.models import GoldenCase, GoldenSet
from evaluation.services.bearing import Wanted
from evaluation.services.diagnosis import DiagnosedAnswer, answer_diagnose
from evaluation.services.golden import benchmark_load
from evaluation.services.golden_files import GoldenRow
from knowledge import model_registry
from knowledge.models import Chunk, Document, KnowledgeSet
from knowledge.services import indexes_refresh
from ragcore.metrics.quality import contains_gold
from ragcore.text.matching import keywords

MOST_PLACES = 4  # of a good source in the answer, so that a text could have used it
TRIES = 6  # questions that are looked at for each failure that is planted


@dataclass(kw_only=True)
class World(Corpus):
    """Public sets in a product of their own, an administrator and an employee."""

    asker: User
    cases: list[Case]
    others: int = 16  # questions that are asked before and after each remedy

    @classmethod
    def loaded(cls, folders: Sequence[Path]) -> World:
        call_command("bootstrap", "--demo", "0", verbosity=0)
        admin = User.objects.get(username="admin")
        asker = User.objects.create_user("asker", tenant=admin.tenant, clearance=0)
        scope, cases = scope_for(admin), list[Case]()
        make = partial(KnowledgeSet.objects.create, tenant=admin.tenant, visibility="everyone")
        other = make(code="other", name="other")
        small = make(code="small", name="small", options={"chunking": {"max_tokens": 64, "overlap": 0}})
        for folder in folders:
            name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
            golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
            GoldenSet.objects.filter(pk=golden.pk).update(guards=False)  # what a gate holds up is no single click
            golden.sets.update(visibility="everyone")
            work_off(accepted.job_id)
            cases += list(_cases(golden.cases.all()))
            note(f"{name}: {len(cases)} questions can be used")
        text = "Canteen note {0}: the soup of day {0} is served at noon."
        notes = {f"canteen-{number}": text.format(number) for number in range(20)}
        load(admin, ({"external_id": n, "title": n, "text": t, "sets": [other.pk]} for n, t in notes.items()))
        indexes_refresh()
        return cls(admin=admin, asker=asker, cases=cases, other=other, small=small)

    def outcomes(self, *, each: int, seed: int) -> Iterator[Outcome]:
        """`each` failures of every kind, each over a document of its own."""
        free = list(self.cases)
        random.Random(seed).shuffle(free)
        for kind, plant in KINDS.items():
            planted = 0
            for _ in range(TRIES * each):
                if planted == each or not free:
                    break
                case = free.pop()
                if (outcome := self._outcome(kind, plant, case)) is not None:
                    planted += 1
                    yield outcome
            note(f"{kind}: {planted}")

    def _outcome(self, kind: str, plant: Plant, case: Case) -> Outcome | None:
        if not contains_gold(self._asked(case.question).answer, case.answers):
            return None  # not answered before anything was broken
        broken = plant(self, case)
        if broken is None:
            return None
        with broken.broken:
            message = self._asked(broken.question or case.question, **broken.request)
            if broken.keeps_sources and not _has_source(message, case, also_other=broken.needs_other):
                return None
            broken.answered(message)
            message.refresh_from_db()
            document = broken.document or case.document
            wanted, found = self._diagnosed(message, case, document=document)
            diagnosis = found.diagnosis
            if diagnosis.cause == "none":  # the answer was right in spite of what was broken: no failure
                return None
            clicked = mended(self.admin, message, wanted, found, self._rest(case))
        return Outcome(
            kind=kind,
            question=message.question,
            planted=broken.cause,
            found=(diagnosis.cause, diagnosis.subcause, diagnosis.detail),
            where=f"{found.passage.whereabouts} {found.passage.stage}" if found.passage else "no passage",
            confidence=diagnosis.confidence,
            rule=diagnosis.rule,
            certainty=found.passage.certainty if found.passage else 1.0,
            remedy=clicked.remedy if clicked else "",
            is_remedied=clicked.is_answered if clicked else None,
            before=clicked.before if clicked else (),
            after=clicked.after if clicked else (),
        )

    def _rest(self, case: Case) -> list[GoldenRow]:
        """Other questions that a remedy could hurt: half of them the nearest by their words, the others by chance."""
        live = set(Document.objects.filter(deleted=None).order_by().values_list("pk", flat=True))
        others = [one for one in self.cases if one is not case and one.document.pk in live]
        mine = self._words(case.question)
        others.sort(key=lambda one: (-len(mine & self._words(one.question)), one.question))
        near, far = others[: self.others // 2], others[self.others // 2 :]
        drawn = random.Random(case.question).sample(far, min(len(far), self.others - len(near)))
        return [
            GoldenRow(question=one.question, answers=one.answers, relevant=(one.document.external_id,))
            for one in [*near, *drawn]
        ]

    @staticmethod
    @cache
    def _words(question: str) -> frozenset[str]:
        return frozenset(keywords(question, model_registry.tokenizer()))

    def _asked(self, question: str, **request: object) -> Message:
        values: dict[str, object] = {"cache": False, "personal": False, **request}
        asked = AnswerRequest(query=question, **values)  # type: ignore[arg-type]
        stored = async_to_sync(answer_now)(scope=scope_for(self.asker), user=self.asker, request=asked)
        return Message.objects.get(pk=stored.message.pk)

    def _diagnosed(self, message: Message, case: Case, *, document: Document) -> tuple[Wanted, DiagnosedAnswer]:
        """As with a golden case: the document is known, unless it is gone."""
        named, unnamed = Wanted(passage=f"#{document.pk}", answers=case.answers), Wanted(answers=case.answers)
        try:
            return named, diagnose_as_reviewer(self.admin, message, named)
        except NotFoundError:
            return unnamed, diagnose_as_reviewer(self.admin, message, unnamed)


def diagnose_as_reviewer(reviewer: User, message: Message, wanted: Wanted) -> DiagnosedAnswer:
    """As a reviewer would have an answer diagnosed on the page of its case. Raises NotFoundError."""
    return answer_diagnose(
        scope=scope_for(reviewer), viewer=reviewer, message_id=str(message.pk), wanted=wanted, is_reviewer=True
    )


def _cases(rows: Iterable[GoldenCase]) -> Iterator[Case]:
    """One question for each document that holds an accepted answer of three characters or more in one passage."""
    documents = {d.external_id: d for d in Document.objects.select_related("live_version").filter(deleted=None)}
    seen: set[int] = set()
    for row in rows:
        answers = tuple(answer for answer in row.answers if len(answer) > 2)
        document = documents.get(row.relevant[0]) if row.relevant else None
        if document is None or document.pk in seen or not answers:
            continue
        chunks = Chunk.objects.filter(version=document.live_version, kind="body").order_by("ordinal")
        holding = [chunk for chunk in chunks if contains_gold(chunk.text, answers)]
        if len(holding) == 1:
            seen.add(document.pk)
            yield Case(question=row.question, answers=answers, document=document, chunk=holding[0])


def _has_source(message: Message, case: Case, *, also_other: bool) -> bool:
    has_it = message.citations.filter(document=case.document, number__lte=MOST_PLACES).exists()
    return has_it and (not also_other or message.citations.exclude(document=case.document).exists())
