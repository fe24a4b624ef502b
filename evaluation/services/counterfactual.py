"""Where a failed answer recovers: the passage that bears the answer is put in at one place after the other.

The question is asked again as it is; without any cut-off of the ranking; with its document alone in the search; and
with the passage itself among the sources. The first of these that gives the right answer says which part had lost it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from chat.turns.replay import Intervention, answer_again
from evaluation.errors import NoRightAnswerKnownError
from evaluation.models import Diagnosis
from evaluation.selectors import diagnosis_latest
from evaluation.services.lab.replay import replay_get
from feedback.models import BadCase
from knowledge.models import Chunk
from knowledge.selectors import documents_readable
from ragcore.metrics.quality import contains_gold
from ragcore.types import Passage

PLACES = ("as_it_is", "cutoff", "search", "context")  # in the order in which they are tried
NOWHERE = "nowhere"  # not even with the passage among the sources: the text is to blame


def case_recover(*, scope: Scope, viewer: User, case: BadCase, is_reviewer: bool) -> Diagnosis:
    """Find where the answer of a case recovers and keep it as evidence of its latest diagnosis.

    Raises NotFoundError for a question that the viewer may not see, NoRightAnswerKnownError without a diagnosis that
    names a passage and accepted answers or key points, and what answering raises.
    """
    message = replay_get(scope=scope, message_id=str(case.message_id), is_reviewer=is_reviewer).message
    diagnosis = diagnosis_latest(scope=scope, message=message)
    passage = _passage(scope, diagnosis) if diagnosis else None
    answers = [*case.accepted, *(diagnosis.answers if diagnosis else ())]
    points = list(diagnosis.points) if diagnosis else []
    if diagnosis is None or passage is None or not (answers or points):
        raise NoRightAnswerKnownError
    recovered: dict[str, bool] = {}
    for place in PLACES:
        record = async_to_sync(answer_again)(message=message, viewer=scope, intervention=_intervention(place, passage))
        recovered[place] = is_right(record.text, answers=answers, points=points)
        if recovered[place]:
            break
    with transaction.atomic():
        evidence: dict[str, Any] = {**diagnosis.evidence, "tried": recovered, "recovers": _first(recovered)}
        Diagnosis.objects.filter(pk=diagnosis.pk).update(evidence=evidence)
        audit_record(
            actor=viewer, action="case.recover", target=f"#{case.pk}", case=case.pk, recovers=_first(recovered)
        )
    diagnosis.evidence = evidence
    return diagnosis


def is_right(text: str, *, answers: Sequence[str], points: Sequence[str]) -> bool:
    """Whether a text has one of the accepted answers, where there are any, and every key point."""
    return (not answers or contains_gold(text, answers)) and all(contains_gold(text, [point]) for point in points)


def _first(recovered: dict[str, bool]) -> str:
    return next((place for place, is_right in recovered.items() if is_right), NOWHERE)


def _intervention(place: str, passage: Passage) -> Intervention:
    values = {
        "as_it_is": Intervention(),
        "cutoff": Intervention(keeps_all=True),
        "search": Intervention(document=passage.document),
        "context": Intervention(passage=replace(passage, chunk=-passage.chunk)),
    }
    return values[place]


def _passage(scope: Scope, diagnosis: Diagnosis) -> Passage | None:
    """The passage of the diagnosis in the live version, also one that was taken out of searches."""
    if diagnosis.document_id is None or diagnosis.ordinal is None:
        return None
    readable = documents_readable(scope=scope).filter(pk=diagnosis.document_id).first()
    if readable is None:
        return None
    rows = Chunk.objects.filter(version=readable.live_version_id, ordinal=diagnosis.ordinal)
    chunk = rows.filter(retired=None).first() or rows.order_by("-pk").first()
    if chunk is None:
        return None
    return Passage(
        chunk=chunk.pk,
        document=readable.pk,
        version=chunk.version_id,
        text=chunk.text,
        title=readable.title,
        external_id=readable.external_id,
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        tokens=chunk.tokens,
        ordinal=chunk.ordinal,
    )
