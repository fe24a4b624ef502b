"""The files of an organisation in a product of their own, and questions asked there as an employee."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asgiref.sync import async_to_sync
from django.core.management import call_command

from accounts.models import User
from accounts.selectors import scope_for
from bench.everyday.questions import Answer, EverydayQuestion, Turn, Verdict, reach_of, verdict_of
from bench.retrieval import note, work_off
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest, Mode
from knowledge.models import KnowledgeSet
from knowledge.services import document_upload, indexes_refresh
from knowledge.services.sets import set_create

CODE = "everyday"
VERDICTS: tuple[Verdict, ...] = ("useful", "wrong", "wrongly_refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTurn:
    """A turn with its answer."""

    question: EverydayQuestion
    turn: Turn
    answer: Answer
    verdict: Verdict
    reach: str  # see questions.reach_of
    seconds: float = 0.0


@dataclass(kw_only=True)
class Tally:
    """Verdicts on whole conversations: the first one that is not useful counts."""

    verdicts: Counter[str] = field(default_factory=Counter)
    groups: dict[str, Counter[str]] = field(default_factory=dict)  # kind or language -> verdicts

    def add(self, question: EverydayQuestion, verdict: Verdict) -> None:
        self.verdicts[verdict] += 1
        for name in (question.kind, question.language):
            self.groups.setdefault(name, Counter())[verdict] += 1

    def share(self, verdict: Verdict) -> float:
        """Of all conversations."""
        return round(self.verdicts[verdict] / (self.verdicts.total() or 1), 4)

    def table(self) -> str:
        """One row for each kind and language, and one for all, as Markdown."""
        rows = [f"| | {' | '.join(name.replace('_', ' ') for name in VERDICTS)} | all |", "|---|---|---|---|---|"]
        for name, counts in [*sorted(self.groups.items()), ("all", self.verdicts)]:
            rows.append(f"| {name} | {' | '.join(str(counts[v]) for v in VERDICTS)} | {counts.total()} |")
        return "\n".join(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Organisation:
    """Documents in one knowledge set, and an employee who may read it."""

    asker: User
    set_id: int

    @classmethod
    def loaded(cls, documents: Path) -> Organisation:
        """Documents that are there already are left as they are."""
        call_command("bootstrap", "--demo", "0", verbosity=0)
        admin = User.objects.get(username="admin")
        asker, _made = User.objects.get_or_create(username="asker", defaults={"tenant": admin.tenant, "clearance": 0})
        scope = scope_for(admin)
        home = KnowledgeSet.objects.filter(code=CODE).first() or set_create(
            scope=scope,
            actor=admin,
            values={"code": CODE, "name": "Everyday", "axis": "1", "visibility": KnowledgeSet.Visibility.EVERYONE},
        )
        for path in sorted(documents.iterdir()):
            content = path.read_bytes()
            done = document_upload(scope=scope, actor=admin, sets=[home.pk], name=path.name, content=content)
            if done.job is not None:
                work_off(done.job.pk)
        indexes_refresh()
        note(f"{home.documents.count()} documents")
        return cls(asker=asker, set_id=home.pk)

    def asked(self, question: EverydayQuestion, *, mode: Mode | None = None) -> Iterator[AskedTurn]:
        """Every turn of a conversation in its order. `mode`: None for the site's."""
        given = frozenset({"mode"} if mode is not None else ())
        request = AnswerRequest(query="", sets=(self.set_id,), mode=mode, given=given, cache=False, personal=False)
        for turn in question.turns:
            request = replace(request, query=turn.text)
            stored = async_to_sync(answer_now)(scope=scope_for(self.asker), user=self.asker, request=request)
            message = Message.objects.get(pk=stored.message.pk)
            request = replace(request, conversation_id=str(message.conversation_id))
            citations = message.citations.select_related("chunk").order_by("number")
            answer = Answer(
                text=message.answer,
                status=message.status,
                has_citations=bool(citations),
                sources=tuple(f"{one.document.title}\n{one.chunk.text if one.chunk else ''}" for one in citations),
                confidence=message.confidence,
                evidence=message.trace.get("confidence", {}),
            )
            yield AskedTurn(
                question=question,
                turn=turn,
                answer=answer,
                verdict=verdict_of(turn, answer),
                reach=reach_of(turn, answer),
                seconds=float(message.metadata.get("total_time") or 0.0),
            )


def verdict_together(turns: Sequence[AskedTurn]) -> Verdict:
    """Of a conversation."""
    return next((one.verdict for one in turns if one.verdict != "useful"), "useful")
