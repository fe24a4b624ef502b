"""A case on the triage desk: its marked passage, a replay beside the stored answer, a golden case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.answers.rights import question_shown
from chat.models import Message
from chat.turns.replay import answer_again
from chat.types import AnswerRecord
from evaluation.models import GoldenCase
from evaluation.services.lab.export import golden_case_save
from evaluation.services.lab.replay import replay_get
from evaluation.services.lab.searches import expected_find
from feedback.models import BadCase
from feedback.resolutions import REFUSED
from feedback.triage import case_mark
from knowledge.models import Chunk
from knowledge.selectors import documents_askable, documents_readable
from ragcore.metrics.quality import contains_gold

MOST_PHRASE = 60  # characters of a written answer that may be an accepted one as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChange:
    """One stage then and now; None where it did not run."""

    stage: str
    then: tuple[int, int] | None  # candidates before and after it
    now: tuple[int, int] | None
    milliseconds_then: float | None
    milliseconds_now: float | None

    @property
    def is_changed(self) -> bool:
        return self.then != self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageChange:
    """A passage of the result then or now, with its ranks, 1-based; None: not in that result."""

    document: int
    title: str
    heading_path: tuple[str, ...]
    then: int | None
    now: int | None
    is_marked: bool  # in the document that a reviewer has marked


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChange:
    """An option, prompt or model that is another one today."""

    group: str  # of options; or "prompt", "model"
    name: str
    then: Any
    now: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReplay:
    """A question asked again, beside the stored answer."""

    record: AnswerRecord
    is_answered: bool  # rightly, as far as is known of the right answer; otherwise by its status
    expects_refusal: bool  # the right answer is none
    uses_old_options: bool
    stages: Sequence[StageChange]
    passages: Sequence[PassageChange]
    options: Sequence[OptionChange]
    is_recorded: bool  # False: nothing was recorded then of options and prompts
    is_corpus_changed: bool


def case_mark_passage(
    *, scope: Scope, actor: User, case: BadCase, passage: str, right_answer: str, accepted: Sequence[str]
) -> BadCase:
    """Mark the passage with the right answer by its name (`#12:5`, external id, title), and write the answer.

    Raises NotFoundError for a name that leads nowhere, and without the right to review the case.
    """
    expected = expected_find(scope=scope, name=passage) if passage.strip() else None
    return case_mark(
        actor=actor,
        case=case,
        document_id=expected.document.pk if expected else None,
        ordinal=expected.ordinal if expected else None,
        right_answer=right_answer,
        accepted=accepted,
    )


def golden_answers(case: BadCase) -> list[str]:
    """The accepted answers that a golden case gets of a case.

    They are looked for letter by letter: a written answer that is longer than a phrase is none of them.
    """
    answer = case.right_answer.strip()
    is_phrase = 0 < len(answer) <= MOST_PHRASE and "\n" not in answer
    return list(case.accepted) or ([answer] if is_phrase else [])


def case_to_golden(*, scope: Scope, actor: User, case: BadCase, golden_set_id: int) -> GoldenCase:
    """Save question, marked document and answers as a golden case; a refusal where the case is resolved so.

    Raises what `golden_case_save` raises.
    """
    is_refusal = case.expects_refusal
    return golden_case_save(
        scope=scope,
        actor=actor,
        golden_set_id=golden_set_id,
        question=question_shown(scope=scope, message=case.message),
        documents=[case.marked_document_id] if case.marked_document_id is not None and not is_refusal else [],
        answers=[] if is_refusal else golden_answers(case),
        expects_refusal=is_refusal,
    )


def case_test_again(
    *, scope: Scope, viewer: User, case: BadCase, is_reviewer: bool, with_old_options: bool = False
) -> CaseReplay:
    """Ask the question of a case again, with the rights that asker and viewer share, and compare.

    Raises NotFoundError for a question that the viewer may not see, and what answering raises.
    """
    message = replay_get(scope=scope, message_id=str(case.message_id), is_reviewer=is_reviewer).message
    record = async_to_sync(answer_again)(message=message, viewer=scope, with_old_options=with_old_options)
    audit_record(actor=viewer, action="case.test", target=f"#{case.pk}", case=case.pk, status=record.status)
    then, now = message.trace, record.trace
    return CaseReplay(
        record=record,
        is_answered=is_answered(record, case),
        expects_refusal=case.expects_refusal,
        uses_old_options=with_old_options,
        stages=tuple(_stages(_records(then), _records({**now, "reasoning": record.reasoning}))),
        passages=tuple(_passages(scope, message, case, then, now)),
        options=tuple(_options(then, now)),
        is_recorded="asked" in then,
        is_corpus_changed=then.get("epoch") != now.get("epoch"),
    )


def is_answered(record: AnswerRecord, case: BadCase) -> bool:
    """Whether an answer is right, as far as is known of the right one; otherwise whether it is an answer at all."""
    if case.expects_refusal:
        return record.status in REFUSED
    if case.accepted:
        return contains_gold(record.text, case.accepted)
    cited = {citation.document_id for citation in record.cited}
    if case.marked_document_id is not None:
        return record.status in ("answered", "degraded") and case.marked_document_id in cited
    return record.status in ("answered", "degraded")


# ── stage by stage ────────────────────────────────────────────────────────────────────────────────


def _records(trace: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The records of the stages of answer and search by name, in their order; of one that ran twice the last."""
    answer = (trace.get("reasoning") or {}).get("stages") or ()
    return {record["stage"]: record for record in (*answer, *(trace.get("stages") or ()))}


def _stages(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[StageChange]:
    for stage in dict.fromkeys((*now, *then)):
        before, after = then.get(stage), now.get(stage)
        yield StageChange(
            stage=stage,
            then=(before["before"], before["after"]) if before else None,
            now=(after["before"], after["after"]) if after else None,
            milliseconds_then=1000 * before["seconds"] if before else None,
            milliseconds_now=1000 * after["seconds"] if after else None,
        )


def _passages(
    scope: Scope, message: Message, case: BadCase, then: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[PassageChange]:
    """Passages of both results that asker and viewer may read, in the order of today and then of that time."""
    ids_then, ids_now = (_chunk_ids(trace) for trace in (then, now))
    shared = scope.limited_to(scope_for(message.conversation.user))
    askable = documents_askable(scope=shared).order_by().values("pk")
    opened = documents_readable(scope=scope).order_by().values("pk")
    rows = Chunk.objects.select_related("version__document").filter(pk__in=[*ids_then, *ids_now])
    rows = rows.filter(version__document__in=askable).filter(version__document__in=opened)
    chunks = {chunk.pk: chunk for chunk in rows.defer("text", "version__markdown", "version__sketch")}
    places_then, places_now = ({pk: at for at, pk in enumerate(ids, 1)} for ids in (ids_then, ids_now))
    for pk in dict.fromkeys((*ids_now, *ids_then)):
        if (chunk := chunks.get(pk)) is not None:
            document = chunk.version.document
            yield PassageChange(
                document=document.pk,
                title=document.title,
                heading_path=tuple(chunk.heading_path),
                then=places_then.get(pk),
                now=places_now.get(pk),
                is_marked=document.pk == case.marked_document_id and case.marked_ordinal in (None, chunk.ordinal),
            )


def _chunk_ids(trace: Mapping[str, Any]) -> list[int]:
    return [int(candidate["chunk_id"]) for candidate in trace.get("candidates") or ()]


def _options(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[OptionChange]:
    """What differs, by name; nothing where nothing was recorded then."""
    before, after = _flat(then), _flat(now)
    for group, name in sorted(before.keys() & after.keys() if before else ()):
        change = OptionChange(group=group, name=name, then=before[group, name], now=after[group, name])
        if str(change.then) != str(change.now):
            yield change


def _flat(trace: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    asked = trace.get("asked") or {}
    parts: dict[str, Mapping[str, Any]] = {
        "retrieval": trace.get("options") or {},
        "answer": asked.get("answer_options") or {},
        "prompt": {name: digest[:12] for name, digest in (asked.get("prompts") or {}).items()},
        "model": {name: asked[name] for name in ("model", "embedder", "reranker") if name in asked},
    }
    return {(part, name): value for part, values in parts.items() for name, value in values.items()}
