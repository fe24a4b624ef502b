"""nDCG of the hybrid search without and with ranking from use, on questions that people asked and on others."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management import call_command

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import work_off
from chat.models import Conversation, Message, MessageCitation
from evaluation.services.golden import benchmark_load
from evaluation.services.ranking_from_use import STANDARD_SHIFT
from feedback.models import Signal
from feedback.ranking_from_use import set_use_learn
from knowledge.models import UseEvidence, UseSummary
from knowledge.services import indexes_refresh, retrieve
from knowledge.services.retrieval import forms_of
from knowledge.types import RetrievalRequest
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.metrics.quality import ndcg_at_k
from ragcore.types import Candidate

SEED = 17
PEOPLE, ASKERS, SHOWN = 12, 6, 8  # people; of them who ask a question; sources of an answer
WORTH = {True: 0.7, False: 0.15}  # that a source is opened by who looks at it, where it answers and where not
ANYTHING = 0.4  # the same for people to whom all sources are equal

Asked = tuple[str, frozenset[str]]


def measure_sets(folders: Sequence[Path], *, limit: int) -> dict[str, Any]:
    """Figures of each set by its name."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    found: dict[str, Any] = {}
    for folder in folders:
        one = _Set.loaded(folder, limit=limit)
        found[one.name] = {"people_who_judge": one.measure(worth=WORTH)}
        found[one.name]["people_who_do_not"] = one.measure(worth=dict.fromkeys(WORTH, ANYTHING))
        print(f"{one.name}: {json.dumps(found[one.name])}", file=sys.stderr, flush=True)
    return found


@dataclass(frozen=True, slots=True)
class _Set:
    """One retrieval set, alone in its tenant."""

    name: str
    scope: Scope
    set_id: int
    people: Sequence[User]
    asked: Sequence[Asked]  # by people
    others: Sequence[Asked]
    plain: dict[str, Sequence[Candidate]] = field(default_factory=dict)  # found without use, which is always the same

    @classmethod
    def loaded(cls, folder: Path, *, limit: int) -> _Set:
        """Ingested; up to `limit` of its questions, drawn with a fixed seed, half of them for people to ask."""
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        tenant = Tenant.objects.create(name=f"bench {name}")
        admin = User.objects.create(
            username=f"bench-{name}", tenant=tenant, is_staff=True, is_superuser=True, clearance=4
        )
        golden, accepted = benchmark_load(scope=scope_for(admin), actor=admin, folder=folder, name=name)
        work_off(accepted.job_id)
        indexes_refresh()
        people = [User.objects.create(username=f"{name}-{n}", tenant=tenant) for n in range(PEOPLE)]
        cases = [(case.question, frozenset(case.relevant)) for case in golden.cases.order_by("pk")]
        random.Random(SEED).shuffle(cases)  # noqa: S311 # nosec B311 - a bench
        cases = cases[:limit]
        half = len(cases) // 2
        return cls(name, scope_for(admin), golden.sets.get().pk, people, cases[:half], cases[half:])

    def measure(self, *, worth: Mapping[bool, float]) -> dict[str, Any]:
        """Let people ask, learn, and ask everything once more."""
        Conversation.objects.filter(tenant=self.scope.tenant_id).delete()
        drawn = random.Random(SEED)  # noqa: S311 # nosec B311 - a bench
        opened = sum(self._used(case, worth, drawn) for case in self.asked)
        set_use_learn(set_id=self.set_id)
        summary = UseSummary.objects.get(knowledge_set=self.set_id)
        values = list(UseEvidence.objects.filter(knowledge_set=self.set_id).values_list("value", flat=True))
        return {
            "questions": [len(self.asked), len(self.others)],
            "answers": summary.answers,
            "opened": opened,
            "raised_lowered": [sum(value > 0 for value in values), sum(value < 0 for value in values)],
            "floor": round(summary.floor, 3),
            "examination": [round(one, 3) for one in summary.examination[:SHOWN]],
            "learn_seconds": round(summary.seconds, 1),
            "asked": self._compared(self.asked),
            "others": self._compared(self.others),
        }

    def _used(self, case: Asked, worth: Mapping[bool, float], drawn: random.Random) -> int:
        """Some people ask the question in words of theirs and open what they like; how many sources."""
        question, right = case
        opened = 0
        for number, person in enumerate(drawn.sample(list(self.people), ASKERS)):
            text = _in_other_words(question, number)
            sources = self._found(text, 0.0)[:SHOWN]
            conversation = Conversation.objects.create(
                tenant_id=self.scope.tenant_id, user=person, channel=Conversation.Channel.WEB
            )
            message = Message.objects.create(
                conversation=conversation, question=text, answer="-", state=Message.State.DONE, status="answered"
            )
            for place, source in enumerate(sources, 1):
                passage = source.passage
                if passage is None:
                    continue
                MessageCitation.objects.create(
                    message=message,
                    number=place,
                    chunk_id=passage.chunk,
                    document_id=passage.document,
                    version_id=passage.version,
                )
                looks = drawn.random() < 1 / place
                if looks and drawn.random() < worth[passage.external_id in right]:
                    Signal.objects.create(message=message, user=person, kind=Signal.Kind.CITATION_CLICK, value=place)
                    opened += 1
        return opened

    def _compared(self, cases: Sequence[Asked]) -> dict[str, Any]:
        """nDCG@10 without and with ranking from use, and the difference with its 95 % interval."""
        off, on = ([self._ndcg(case, shift) for case in cases] for shift in (0.0, STANDARD_SHIFT))
        gain = paired_interval(on, off)
        return {
            "ndcg10_off": round(mean_interval(off).value, 4),
            "ndcg10_on": round(mean_interval(on).value, 4),
            "gain": [round(gain.value, 4), round(gain.low, 4), round(gain.high, 4)],
        }

    def _ndcg(self, case: Asked, shift: float) -> float:
        question, right = case
        names = [one.passage.external_id for one in self._found(question, shift) if one.passage is not None]
        return ndcg_at_k(list(dict.fromkeys(names)), right, 10)

    def _found(self, question: str, shift: float) -> Sequence[Candidate]:
        if not shift and question in self.plain:
            return self.plain[question]
        request = RetrievalRequest(query=question, sets=(self.set_id,), top_k=10, options={"use_shift": shift})
        found = retrieve(scope=self.scope, request=request).state.candidates
        if not shift:
            self.plain[question] = found
        return found


def _in_other_words(question: str, number: int) -> str:
    """As it is written, its topic words only, or with words before it."""
    topic = forms_of(question)[-1]
    return (question, topic, f"请问，{question}" if not question.isascii() else f"Please tell me: {question}")[
        number % 3
    ]
