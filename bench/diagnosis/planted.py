"""Failures planted over a public set: each breaks one stage for one question, asks it, and has the answer diagnosed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from unittest import mock

from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import connection

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.selectors import scope_for
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
from knowledge.services import document_delete, documents_bulk, indexes_refresh
from knowledge.services.documents import document_update
from knowledge.services.edits import chunk_disable
from ragcore.chunking import splitter_for
from ragcore.metrics.quality import contains_gold
from ragcore.options import ChunkingOptions
from ragcore.ports import ChunkSplitter, RerankInput, RerankScore, TokenCounter
from ragcore.reranking.linear import LinearReranker
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query, squeeze
from ragcore.text.sentences import split_sentences
from ragcore.types import ChunkDraft, ParsedDocument, Query

MOST_PLACES = 4  # of a good source in the answer, so that a text could have used it
TRIES = 6  # questions that are looked at for each failure that is planted
FAR = -50.0  # score of a passage that a broken reranker puts last
_DIGITS = re.compile(r"\d+")

Cause = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with the document that answers it."""

    question: str
    answers: tuple[str, ...]
    document: Document
    chunk: Chunk  # of this document; it holds an accepted answer

    def row(self, text: str, sets: Sequence[int]) -> dict[str, object]:
        """The document with another text, as a line of a bulk load."""
        document = self.document
        return {"external_id": document.external_id, "title": document.title, "text": text, "sets": sets}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What was broken: asked with `request`, inside of `broken`; `answered` changes the stored answer."""

    cause: Cause
    question: str = ""  # in place of the case's
    request: dict[str, object] = field(default_factory=dict)
    broken: AbstractContextManager[object] = field(default_factory=nullcontext)
    answered: Callable[[Message], None] = lambda message: None
    document: Document | None = None  # in place of the case's
    keeps_sources: bool = False  # it is a failure only if the passage was among the sources
    needs_other: bool = False  # and another document, too


@dataclass(kw_only=True)
class World:
    """Public sets in a product of their own, an administrator and an employee."""

    admin: User
    asker: User
    cases: list[Case]
    other: KnowledgeSet  # with documents that answer nothing
    small: KnowledgeSet  # that cuts documents into small passages
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
            return named, self._diagnose(message, named)
        except NotFoundError:
            return unnamed, self._diagnose(message, unnamed)

    def _diagnose(self, message: Message, wanted: Wanted) -> DiagnosedAnswer:
        return answer_diagnose(
            scope=scope_for(self.admin),
            viewer=self.admin,
            message_id=str(message.pk),
            wanted=wanted,
            is_reviewer=True,
        )


Plant = Callable[[World, Case], Planted | None]


def load(actor: User, rows: Iterable[Mapping[str, object]]) -> None:
    """Store documents, fields of a line of a bulk load each, and wait until they can be found."""
    lines = [json.dumps(row).encode() for row in rows]
    work_off(documents_bulk(scope=scope_for(actor), actor=actor, lines=lines).job_id)


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


# ── what is broken: corpus, rights, index ─────────────────────────────────────────────────────────


def removed(world: World, case: Case) -> Planted:
    document_delete(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk)
    return Planted(cause=("knowledge_gap", "missing document", "no passage"))


def overwritten(world: World, case: Case) -> Planted | None:
    """A newer version leaves out the sentences that answer."""
    sentences = [s for s in split_sentences(case.chunk.text) if not contains_gold(s, case.answers)]
    if len(sentences) < 2 or contains_gold(" ".join(sentences), case.answers):
        return None
    load(world.admin, [case.row(" ".join(sentences), list(case.document.sets.values_list("pk", flat=True)))])
    return Planted(cause=("knowledge_gap", "missing document", "stale version"))


def hidden(world: World, case: Case) -> Planted:
    document_update(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk, clearance=3)
    return Planted(cause=("permission", "not visible", "rights"))


def filtered(world: World, case: Case) -> Planted:
    return Planted(cause=("retrieval", "missed retrieval", "filter"), request={"sets": (world.other.pk,)})


def disabled(world: World, case: Case) -> Planted:
    chunk_disable(scope=scope_for(world.admin), actor=world.admin, chunk_id=case.chunk.pk)
    return Planted(cause=("retrieval", "missed retrieval", "disabled passage"))


def unindexed_words(world: World, case: Case) -> Planted:
    """The entries of the passage lose their terms and get vectors of nothing, as after wrong tokenisation."""
    with connection.cursor() as cursor:
        cursor.execute(SPOIL_TERMS, [case.chunk.pk])
        cursor.execute(SPOIL_VECTORS, [case.chunk.pk])
    return Planted(cause=("retrieval", "missed retrieval", "tokenisation"))


SPOIL_TERMS = """
UPDATE knowledge_indexentry SET bm25 = '{}/1000000000'::sparsevec,
    coarse = (SELECT array_agg(sin(n * 7919))::real[]::vector(384)::halfvec(384) FROM generate_series(1, 384) n)
WHERE chunk_id = %s
"""
SPOIL_VECTORS = """
UPDATE knowledge_wholevector SET
    vector = (SELECT array_agg(sin(n * 7919))::real[]::vector(768)::halfvec(768) FROM generate_series(1, 768) n)
WHERE chunk_id = %s
"""


def other_words(world: World, case: Case) -> Planted | None:
    """The question says in words that nobody else uses what the passage says in its own."""
    shared = [word for word in keywords(case.question, model_registry.tokenizer()) if squeeze(word) in _plain(case)]
    if len(shared) < 2:
        return None
    question = normalise_query(case.question).lower()
    for number, word in enumerate(sorted(shared, key=len, reverse=True)):
        question = question.replace(word, f" zyq{chr(97 + number % 26)}x ")
    return Planted(cause=("retrieval", "missed retrieval", "missing synonym"), question=question)


def _plain(case: Case) -> str:
    return squeeze(f"{case.document.title} {case.chunk.text}")


def split(world: World, case: Case) -> Planted | None:
    """The document comes again, and a bad splitter cuts it in the middle of its answer."""
    answer = max((a for a in case.answers if a in case.chunk.text), key=len, default="")
    if len(answer) < 6:
        return None
    text = case.chunk.text
    document_delete(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk)
    with cut_within(answer):
        load(world.admin, [case.row(text, [world.small.pk])])
    again = Document.objects.filter(external_id=case.document.external_id, deleted=None).first()
    texts = list(Chunk.objects.filter(version=again.live_version_id).values_list("text", flat=True)) if again else []
    if again is None or any(contains_gold(one, case.answers) for one in texts):
        return None
    return Planted(cause=("chunking", "overchunking", "split"), document=again)


@contextmanager
def cut_within(answer: str) -> Iterator[None]:
    """Whatever is ingested meanwhile is cut in the middle of this answer, too."""
    module = "knowledge.services.ingestion.chunk_and_represent.splitter_for"

    def bad(options: ChunkingOptions, counter: TokenCounter) -> ChunkSplitter:
        return _BadSplitter(splitter_for(options, counter), counter, answer)

    with mock.patch(module, bad):
        yield


@dataclass(frozen=True)
class _BadSplitter:
    """Cuts as another splitter does, and in the middle of an answer."""

    splitter: ChunkSplitter
    counter: TokenCounter
    answer: str

    def split(self, document: ParsedDocument) -> list[ChunkDraft]:
        pieces: list[ChunkDraft] = []
        for draft in self.splitter.split(document):
            at = draft.text.find(self.answer)
            cut = at + len(self.answer) // 2 if at >= 0 else len(draft.text)
            texts = [text for text in (draft.text[:cut], draft.text[cut:]) if text]
            pieces += [replace(draft, text=text, tokens=self.counter.count(text)) for text in texts]
        return [replace(piece, ordinal=ordinal) for ordinal, piece in enumerate(pieces)]


# ── the ranking ───────────────────────────────────────────────────────────────────────────────────


@contextmanager
def scores_changed(document: int, change: Callable[[float, float], float]) -> Iterator[None]:
    """The reranker gives passages of a document another score: `change(own, best of the others)`."""
    score = LinearReranker.score

    def changed(self: LinearReranker, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        found = score(self, query, candidates)
        others = [one.score for one, c in zip(found, candidates, strict=True) if c.passage.document != document]
        best = max(others, default=0.0)
        return [
            RerankScore(score=change(one.score, best), detail=one.detail) if c.passage.document == document else one
            for one, c in zip(found, candidates, strict=True)
        ]

    with mock.patch.object(LinearReranker, "score", changed):
        yield


def demoted(world: World, case: Case) -> Planted:
    broken = scores_changed(case.document.pk, lambda own, best: FAR)
    return Planted(cause=("reranking", "low recall", "reranker"), broken=broken)


# ── the text ──────────────────────────────────────────────────────────────────────────────────────


def refused(world: World, case: Case) -> Planted:
    return Planted(
        cause=("generation", "abstention failure", "answerability"),
        answered=_written("The documents do not say.", status="refused", support=None),
        keeps_sources=True,
    )


def wrong_figure(world: World, case: Case) -> Planted | None:
    """The sentence that answers, with another figure."""
    sentence = _answering(case)
    figures = [figure for answer in case.answers for figure in _DIGITS.findall(answer)]
    if not figures or figures[0] not in sentence or not sentence:
        return None
    wrong = str(int(figures[0]) + 17)
    year = re.fullmatch(r"(?:1[89]|20)\d\d", figures[0]) is not None
    subcause = "chronological inconsistency" if year else "numerical error"
    return Planted(
        cause=("generation", subcause, ""),
        answered=_written(f"{sentence.replace(figures[0], wrong)} [1]", support="unsupported"),
        keeps_sources=True,
    )


def invented(world: World, case: Case) -> Planted:
    text = "It was agreed upon by the committee in a secret meeting, as everybody knows. [1]"
    return Planted(
        cause=("generation", "fabricated content", ""),
        answered=_written(text, support="unsupported"),
        keeps_sources=True,
    )


def from_memory(world: World, case: Case) -> Planted:
    def written(message: Message) -> None:
        _written("It is generally known to be quite different.", support="unsupported")(message)
        message.citations.update(cited=False)

    return Planted(cause=("generation", "parametric overreliance", ""), answered=written, keeps_sources=True)


def beside_the_point(world: World, case: Case) -> Planted:
    """A true sentence of another source."""

    def written(message: Message) -> None:
        other = message.citations.exclude(document=case.document).order_by("number").first()
        assert other is not None
        sentence = (split_sentences(other.excerpt) or [other.excerpt])[0]
        _written(f"{sentence} [{other.number}]", support="supported")(message)
        message.citations.update(cited=False)
        message.citations.filter(pk=other.pk).update(cited=True)

    cause = ("generation", "contextual misalignment", "")
    return Planted(cause=cause, answered=written, keeps_sources=True, needs_other=True)


def _answering(case: Case) -> str:
    return next((s for s in split_sentences(case.chunk.text) if contains_gold(s, case.answers)), "")


def _written(text: str, *, status: str = "answered", support: str | None) -> Callable[[Message], None]:
    """The stored answer says this instead."""
    sentences = [{"text": text, "support": support}] if support else []

    def write(message: Message) -> None:
        Message.objects.filter(pk=message.pk).update(answer=text, status=status, sentences=sentences)

    return write


KINDS: dict[str, Plant] = {
    "document removed": removed,
    "newer version without the answer": overwritten,
    "hidden by clearance": hidden,
    "other set asked": filtered,
    "passage disabled": disabled,
    "entries without words": unindexed_words,
    "question in unknown words": other_words,
    "answer cut in two": split,
    "reranker puts it last": demoted,
    "refused": refused,
    "wrong figure": wrong_figure,
    "invented": invented,
    "without sources": from_memory,
    "another source told": beside_the_point,
}
