"""Resolving cases on the triage desk: with a golden case where no answer is the right one, one case or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.answers.approval import approved_in_force, question_key
from evaluation.errors import RemedyNotOfferedError
from evaluation.models import Diagnosis, GoldenSet, RemedyApplication
from evaluation.selectors import diagnosis_shown, golden_sets_kept
from evaluation.services.bearing import Wanted
from evaluation.services.case_remedies import remedy_apply, remedy_undo
from evaluation.services.diagnosis import answer_diagnose, diagnosis_store
from evaluation.services.remedies.base import REMEDIES, About
from feedback.models import BadCase, CaseBatch
from feedback.resolutions import BatchResult, batch_undo, case_resolve, cases_resolve, not_found_claimed
from feedback.services import is_reviewing
from ragcore.errors import RagError

GOLDEN_CASE = "golden_case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What came of an act. `saved`: golden cases made; `left`: resolved cases that made none, with the reason."""

    result: BatchResult
    saved: int
    left: Sequence[tuple[BadCase, RagError]]


def refusal_sets(*, scope: Scope, actor: User) -> list[GoldenSet]:
    """Golden sets of the tenant that the actor may add cases to, by name."""
    return list(golden_sets_kept(scope=scope, actor=actor).filter(tenant=scope.tenant_id).order_by("name"))


def case_conclude(
    *, scope: Scope, actor: User, case: BadCase, resolution: str, note: str, close: bool, golden_set_id: int | None
) -> BadCase:
    """Resolve a case and, where a refusal is expected and a golden set is named, save it as a golden case.

    An answer that should have been refused is diagnosed as such, which remedies, reports and recommendations go by.
    The case stays resolved where no golden case can be made; then RemedyNotOfferedError is raised. Raises also what
    `case_resolve` raises.
    """
    resolved = case_resolve(actor=actor, case=case, resolution=resolution, note=note, close=close)
    if resolved.resolution == BadCase.Resolution.SHOULD_REFUSE:
        _diagnose(scope, actor, resolved)
    if golden_set_id is not None and resolved.expects_refusal:
        _save(scope, actor, resolved, golden_set_id)
    return resolved


def cases_conclude(
    *, scope: Scope, actor: User, cases: Sequence[BadCase], resolution: str, note: str, golden_set_id: int | None
) -> Resolved:
    """Close many cases at once; see `case_conclude`. Raises what `cases_resolve` raises."""
    doubtful = cases_doubtful(scope=scope, cases=cases)
    result = cases_resolve(actor=actor, cases=cases, resolution=resolution, note=note, doubtful=doubtful)
    saved, left = 0, []
    for case in result.resolved if golden_set_id is not None else ():
        if not case.expects_refusal:
            continue
        try:
            _save(scope, actor, case, golden_set_id or 0)
            saved += 1
        except RagError as error:
            left.append((case, error))
    return Resolved(result=result, saved=saved, left=left)


def cases_doubtful(*, scope: Scope, cases: Sequence[BadCase]) -> set[int]:
    """Of cases that the caller may review those whose refusal may have been wrong, so that each is decided alone.

    A reader said that the answer is in the documents, the latest diagnosis says that it was refused by mistake, or an
    approved answer is in use for the question.
    """
    latest = Diagnosis.objects.filter(diagnosis_shown(scope=scope), message=OuterRef("message_id")).order_by(
        "-created", "-pk"
    )
    diagnosed = BadCase.objects.filter(pk__in=[case.pk for case in cases]).annotate(
        subcause=Subquery(latest.values("subcause")[:1]), detail=Subquery(latest.values("detail")[:1])
    )
    mistaken = diagnosed.filter(subcause="abstention failure").exclude(detail="answered").order_by()
    keys = {case.pk: question_key(case.message.question) for case in cases}
    in_use = approved_in_force().filter(tenant_id=scope.tenant_id, keys__overlap=list(keys.values()))
    approved = {key for of_row in in_use.values_list("keys", flat=True) for key in of_row}
    doubtful = {pk for pk, key in keys.items() if key in approved}
    return not_found_claimed(cases=cases) | set(mistaken.values_list("pk", flat=True)) | doubtful


def cases_reopen(*, actor: User, batch_id: int) -> tuple[CaseBatch, int]:
    """Undo an act on many cases, with the golden cases that it made; the number of cases that are as before.

    Raises NotFoundError.
    """
    batch, restored = batch_undo(actor=actor, batch_id=batch_id)
    scope = scope_for(actor)
    applications = RemedyApplication.objects.filter(
        case__in=restored, kind=GOLDEN_CASE, applied_by=actor, applied__gte=batch.at, undone=None
    )
    for application in applications.select_related("case"):
        remedy_undo(scope=scope, actor=actor, case=application.case, application_id=application.pk)
    return batch, len(restored)


def _diagnose(scope: Scope, actor: User, case: BadCase) -> None:
    wanted = Wanted(expects_refusal=True)
    diagnosed = answer_diagnose(
        scope=scope,
        viewer=actor,
        message_id=str(case.message_id),
        wanted=wanted,
        is_reviewer=is_reviewing(actor),
    )
    diagnosis_store(actor=actor, diagnosed=diagnosed, wanted=wanted)


def _save(scope: Scope, actor: User, case: BadCase, golden_set_id: int) -> None:
    offer = REMEDIES[GOLDEN_CASE].offer(About(scope=scope, actor=actor, case=case))
    choices = {value for field in (offer.fields if offer else ()) for value, _label in field.choices}
    if str(golden_set_id) not in choices:
        raise RemedyNotOfferedError("golden_set")
    remedy_apply(scope=scope, actor=actor, case=case, kind=GOLDEN_CASE, values={"golden_set": str(golden_set_id)})
