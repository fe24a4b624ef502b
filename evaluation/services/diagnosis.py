"""Why an answer failed: its question is searched once more, and the passage that bears the answer is followed.

What the passage lost its way by is read from the search of today with the options of then; what became of it in the
text, from the stored answer. Nothing is told that the viewer may not open: a passage that they may not read counts as
one that is not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from chat.models import Message, MessageCitation
from evaluation.models import Diagnosis as StoredDiagnosis
from evaluation.services.bearing import Bearing, Wanted, bearing_find, window_coverage
from evaluation.services.bearing_judge import BearingJudge
from evaluation.services.lab.replay import Replay, replay_get
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabRow, LabRun
from feedback.features import standalone_question
from knowledge import model_registry
from ragcore.diagnosis.classify import diagnose
from ragcore.diagnosis.types import BearingPassage, Diagnosis, FailedAnswer, Whereabouts
from ragcore.grounding.facts import figures_offered
from ragcore.text.matching import contains_terms, keywords, needles, searchable

FATES: Mapping[str, Whereabouts] = {
    "not_live": "not_live",
    "not_theirs": "hidden",
    "not_yours": "not_asked",
    "not_asked": "not_asked",
    "not_indexed": "not_indexed",
    "not_coarse": "not_found",
    "not_fine": "not_fine",
    "dropped": "dropped",
    "found": "result",
    "merged": "result",
}
NOT_JUDGED_THERE = 0.85  # that there is no passage where the judge found the answer in none of those it read; by hand
VAGUE_WORDS = 1  # a question of so few words names nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedAnswer:
    """A diagnosis with what it rests on."""

    diagnosis: Diagnosis
    replay: Replay
    bearing: Bearing | None
    run: LabRun
    passage: BearingPassage | None
    judge: BearingJudge


def answer_diagnose(
    *,
    scope: Scope,
    viewer: User,
    message_id: str,
    wanted: Wanted,
    is_reviewer: bool = False,
    ruled_out: Collection[int] | None = None,
) -> DiagnosedAnswer:
    """Find the likeliest cause of a failed answer, with the rights that asker and viewer share.

    Where nothing is known of the right answer the language model for judging is asked, if there is one: it takes up to
    `bearing_judge.JUDGE_SECONDS` and reads passages only that both may ask. `ruled_out`: chunks that it has read before
    in vain; it is not asked again then. Not to be called in a transaction, because locks would be held meanwhile.
    Raises NotFoundError for a question that the viewer may not see, and for a passage that they may not open;
    whatever a search raises.
    """
    replay = replay_get(scope=scope, message_id=message_id, is_reviewer=is_reviewer)
    message = replay.message
    judge = BearingJudge(scope=scope.limited_to(scope_for(replay.asker)))
    bearing = bearing_find(
        scope=scope,
        question=replay.question.text,
        wanted=wanted,
        answer=message.answer,
        cited=set(message.citations.filter(cited=True).values_list("chunk_id", flat=True)),
        judge=judge if ruled_out is None else None,
        ruled_out=ruled_out or (),
    )
    run = lab_run(
        scope=scope,
        viewer=viewer,
        question=replay.question.text,
        sets=replay.question.sets,
        filters=replay.question.filters,
        as_user=replay.asker,
        configurations=[replay.configuration],
        expected=bearing.name if bearing else "",
    ).runs[0]
    passage = _followed(bearing, run, replay) if bearing else None
    failed = _failed(message, passage, bearing, wanted)
    if judge.told.get("outcome") == "none":
        failed = replace(failed, gap_certainty=NOT_JUDGED_THERE)
    return DiagnosedAnswer(
        diagnosis=diagnose(failed), replay=replay, bearing=bearing, run=run, passage=passage, judge=judge
    )


@transaction.atomic
def diagnosis_store(*, actor: User | None, diagnosed: DiagnosedAnswer, wanted: Wanted) -> StoredDiagnosis:
    """Keep a diagnosis with its answer; an earlier one stays, the latest counts. `actor`: None for the nightly one."""
    found, bearing = diagnosed.diagnosis, diagnosed.bearing
    stored = StoredDiagnosis.objects.create(
        message=diagnosed.replay.message,
        document=bearing.expected.document if bearing else None,
        ordinal=bearing.expected.ordinal if bearing else None,
        answers=list(wanted.answers),
        points=list(wanted.points),
        cause=found.cause,
        subcause=found.subcause,
        detail=found.detail,
        confidence=found.confidence,
        evidence={**found.evidence, **_seen_last(diagnosed.passage), **_found_by(diagnosed)},
        remedy=found.remedy,
        created_by=actor,
    )
    if actor is not None:
        audit_record(actor=actor, action="answer.diagnose", target=str(diagnosed.replay.message.pk), cause=found.cause)
    return stored


def _seen_last(passage: BearingPassage | None) -> dict[str, object]:
    if passage is None:
        return {"whereabouts": "nowhere"}
    return {"whereabouts": passage.whereabouts, "stage": passage.stage, "lost_at": passage.place}


def _found_by(diagnosed: DiagnosedAnswer) -> dict[str, object]:
    """By which way the passage was found, and what the judge said where it was asked."""
    bearing = diagnosed.bearing
    way = {"found_by": bearing.way, "quotation": bearing.quotation} if bearing else {}
    judge = {"judge": diagnosed.judge.told}
    return {name: value for name, value in (way | judge).items() if value}


# ── the passage on its way ────────────────────────────────────────────────────────────────────────


def _followed(bearing: Bearing, run: LabRun, replay: Replay) -> BearingPassage:
    where = run.where
    assert where is not None
    row = next((row for row in where.rows if _is_it(row, bearing)), None)
    fate = row.fate if row else where.fate
    whereabouts = FATES[fate.kind]
    if bearing.is_old:
        whereabouts = "old_version"
    elif bearing.is_disabled:
        whereabouts = "disabled"
    passage = _measured(bearing, run, row)
    source = (
        _source(replay.message, row, run) if whereabouts in ("result", "dropped", "not_fine", "not_found") else None
    )
    return replace(
        passage,
        whereabouts="source" if source is not None else whereabouts,
        stage=fate.stage,
        place=fate.place,
        is_cited=bool(source and source.cited),
    )


def _is_it(row: LabRow, bearing: Bearing) -> bool:
    return bearing.expected.ordinal is None or row.passage.ordinal == bearing.expected.ordinal


def _measured(bearing: Bearing, run: LabRun, row: LabRow | None) -> BearingPassage:
    """How well the words of the question and of the passage fit."""
    weights = {**run.weights, **dict.fromkeys(run.unknown, max(run.weights.values(), default=1.0))}
    matched = {term.text for term in row.terms} if row else set()
    coverage = _coverage(row, weights) if row else 0.0
    others = [_coverage(one, weights) for one in run.found if one.passage.document != bearing.expected.document.pk]
    ready = searchable(bearing.text)
    stands = {term for term in weights if contains_terms([needles(term)], ready)[0]}
    missing = sorted(weights.keys() - matched - stands, key=lambda term: -weights[term])
    return BearingPassage(
        text=bearing.text,
        tokens=row.passage.tokens if row else 0,
        places={name: place.rank for name, place in row.rankings.items() if place.rank} if row else {},
        coverage=coverage,
        rival=max(others, default=0.0),
        rivals=sum(other >= coverage for other in others),
        window_coverage=window_coverage(weights, bearing.text),
        literal=tuple(sorted(stands - matched, key=lambda term: -weights[term])) if row else (),
        missing=tuple(missing),
        is_split=bearing.is_split,
        certainty=bearing.certainty,
    )


def _coverage(row: LabRow, weights: Mapping[str, float]) -> float:
    """Share of the question's terms, by weight, that the entries of a passage have."""
    total, matched = sum(weights.values()), {term.text for term in row.terms}
    return sum(weights[term] for term in matched & weights.keys()) / total if total else 0.0


def _source(message: Message, row: LabRow | None, run: LabRun) -> MessageCitation | None:
    """The source of the answer that has the passage: as its own chunk, or read together with it."""
    if row is None:
        return None
    chunks = [row.chunk]
    place = row.fate.place
    if row.fate.kind == "merged" and place is not None and place <= len(run.found):
        chunks.append(run.found[place - 1].chunk)
    rows: Sequence[MessageCitation] = list(message.citations.filter(chunk__in=chunks).order_by("-cited", "number"))
    return rows[0] if rows else None


def _failed(message: Message, passage: BearingPassage | None, bearing: Bearing | None, wanted: Wanted) -> FailedAnswer:
    question = standalone_question(message)
    words = keywords(question, model_registry.tokenizer())
    rows = message.citations.filter(cited=True).select_related("chunk")
    cited = {row.document_id for row in rows}
    return FailedAnswer(
        question=question,
        answer=message.answer,
        status=message.status,
        passage=passage,
        golds=wanted.answers,
        points=wanted.points,
        cites_part=bool(bearing and bearing.others & cited),
        has_markers=bool(cited),
        expects_refusal=wanted.expects_refusal,
        offered=frozenset(figure for row in rows for figure in figures_offered(row.chunk.text)),
        unsupported=tuple(s["text"] for s in message.sentences if s.get("support") == "unsupported"),
        is_vague=len(words) <= VAGUE_WORDS,
        is_written_by_model=message.metadata.get("model", "") not in ("", "extractive"),
    )
