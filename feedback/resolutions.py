"""What a reviewer finds about cases: one at a time, or many at once, which can be undone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import audit_record
from feedback.errors import ResolutionError
from feedback.models import BadCase, CaseBatch, CaseMove, Vote
from feedback.selectors import case_get
from feedback.services import case_move, is_reviewing
from ragcore.errors import RagError

REFUSED = ("refused", "search_results")  # states of answers that give none
FIELDS = ("state", "assignee_id", "note", "resolution", "closed")  # of a case, that an act changes and undoing restores
MOST_AT_ONCE = 500  # cases of one act; more are refused, by number


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What became of the cases of an act. `refused`: cases that stay as they were, with the reason."""

    batch: CaseBatch
    resolved: Sequence[BadCase]
    refused: Sequence[tuple[BadCase, RagError]]


def resolutions_for(case: BadCase) -> list[BadCase.Resolution]:
    """Resolutions that fit the answer: a refusal was right, or an answer should have been one."""
    odd = BadCase.Resolution.SHOULD_REFUSE if is_refusal(case) else BadCase.Resolution.RIGHTLY_REFUSED
    return [resolution for resolution in BadCase.Resolution if resolution != odd]


def is_refusal(case: BadCase) -> bool:
    """Whether the question got no answer."""
    return case.message.status in REFUSED


@transaction.atomic
def case_resolve(*, actor: User, case: BadCase, resolution: str, note: str = "", close: bool = True) -> BadCase:
    """Say what a case turned out to be, and close it or keep it in progress; the move is kept with the resolution.

    Raises NotFoundError without the right to review the case, ResolutionError for one that does not fit its answer.
    """
    current = case_get(scope=scope_for(actor), case_id=case.pk, is_reviewer=is_reviewing(actor))
    if resolution not in resolutions_for(current):
        raise ResolutionError("refused" if is_refusal(current) else "answered")
    state = BadCase.State.CLOSED if close else BadCase.State.IN_WORK
    moved = case_move(actor=actor, case=current, state=state, note=note, resolution=resolution)
    audit_record(actor=actor, action="case.resolve", target=f"#{case.pk}", case=case.pk, resolution=resolution)
    return moved


def not_found_claimed(*, cases: Sequence[BadCase]) -> set[int]:
    """Of these cases those whose readers said that the answer is in the documents."""
    condition = {
        "message__votes__vote": Vote.Direction.DOWN,
        "message__votes__reasons__contains": [Vote.Reason.NOT_FOUND],
    }
    rows = BadCase.objects.filter(pk__in=[case.pk for case in cases], **condition)
    return set(rows.order_by().values_list("pk", flat=True))


def cases_resolve(
    *, actor: User, cases: Sequence[BadCase], resolution: str, note: str = "", doubtful: Collection[int] = ()
) -> BatchResult:
    """Close many cases with one resolution and note; those that it does not fit stay as they are.

    So do those that are closed already and, where they would be called rightly refused, those in `doubtful`.

    Raises ResolutionError for an unknown resolution and for more than MOST_AT_ONCE cases.
    """
    if resolution not in BadCase.Resolution.values:
        raise ResolutionError
    if len(cases) > MOST_AT_ONCE:
        raise ResolutionError("many", limit=MOST_AT_ONCE, given=len(cases))
    resolved: list[BadCase] = []
    refused: list[tuple[BadCase, RagError]] = []
    earlier: list[dict[str, Any]] = []
    with transaction.atomic():
        for case in cases:
            now = BadCase.objects.select_for_update().get(pk=case.pk)
            before = _fields_of(now)
            try:
                if now.state == BadCase.State.CLOSED:
                    raise ResolutionError("closed")
                if resolution == BadCase.Resolution.RIGHTLY_REFUSED and case.pk in doubtful:
                    raise ResolutionError("alone")
                resolved.append(case_resolve(actor=actor, case=case, resolution=resolution, note=note))
            except (NotFoundError, ResolutionError) as error:
                refused.append((case, error))
            else:
                earlier.append({"case": case.pk, **before})
        batch = CaseBatch.objects.create(tenant_id=actor.tenant_id, actor=actor, resolution=resolution, cases=earlier)
    return BatchResult(batch=batch, resolved=resolved, refused=refused)


def batches_of(*, actor: User) -> QuerySet[CaseBatch]:
    """Acts of the person that can still be undone, the latest first."""
    return CaseBatch.objects.filter(actor=actor, undone=None).exclude(cases=[])


@transaction.atomic
def batch_undo(*, actor: User, batch_id: int) -> tuple[CaseBatch, list[int]]:
    """Make the cases of an act what they were before it, and say which.

    A case stays that somebody has worked on since, or that the actor may not review any more. Raises NotFoundError for
    an act of somebody else and one that is undone already.
    """
    batch = batches_of(actor=actor).select_for_update().filter(pk=batch_id).first()
    if batch is None:
        raise NotFoundError("case_batch")
    restored = [pk for entry in batch.cases if (pk := _restored(actor, batch, entry)) is not None]
    batch.undone = timezone.now()
    batch.save(update_fields=["undone"])
    audit_record(actor=actor, action="case.undo", target=f"{len(restored)}", cases=restored)
    return batch, restored


def _restored(actor: User, batch: CaseBatch, entry: Mapping[str, Any]) -> int | None:
    try:
        case_get(scope=scope_for(actor), case_id=entry["case"], is_reviewer=is_reviewing(actor))
    except NotFoundError:
        return None
    case = BadCase.objects.select_for_update().get(pk=entry["case"])
    touched = CaseMove.objects.filter(case=case, at__gt=batch.at).exists()
    if touched or case.state != BadCase.State.CLOSED or case.resolution != batch.resolution:
        return None
    now = case.state
    for name in FIELDS:
        setattr(case, name, entry[name])
    case.closed = parse_datetime(entry["closed"]) if entry["closed"] else None
    case.save(update_fields=[name.removesuffix("_id") for name in FIELDS])
    CaseMove.objects.create(case=case, actor=actor, before=now, after=case.state, resolution=case.resolution)
    return case.pk


def _fields_of(case: BadCase) -> dict[str, Any]:
    values = {name: getattr(case, name) for name in FIELDS}
    return {**values, "closed": case.closed and case.closed.isoformat()}
