"""What of evaluations ends with a person: work that would go on with their rights."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.leaving import Ending, ends_with_person, stays_after_person
from accounts.services import audit_record
from evaluation.models import EvaluationRun


def _runs(user: User) -> QuerySet[EvaluationRun]:
    states = (EvaluationRun.State.RUNNING, EvaluationRun.State.PAUSED)
    return EvaluationRun.objects.filter(requested_by=user, state__in=states).select_related("golden_set")


def _end_runs(user: User, actor: User) -> None:
    for run in _runs(user):
        EvaluationRun.objects.filter(pk=run.pk).update(state=EvaluationRun.State.CANCELLED, finished=timezone.now())
        audit_record(actor=actor, action="run.cancel", target=run.golden_set.name, run=run.pk)


ends_with_person(
    Ending(
        code="evaluations",
        label=_("Evaluations that are running"),
        relations=("evaluation.EvaluationRun.requested_by",),
        rows=_runs,
        end=_end_runs,
    )
)
stays_after_person("waits for the decision of somebody else", "evaluation.GatedChange.requested_by")
stays_after_person(
    "tells who did something",
    *("evaluation.GoldenSet.created_by", "evaluation.GoldenVersion.created_by", "evaluation.GatedChange.decided_by"),
    *("evaluation.Diagnosis.created_by", "evaluation.ProposedCase.decided_by", "evaluation.WantedDocument.asked_by"),
    *("evaluation.WantedDocument.closed_by", "evaluation.RemedyApplication.applied_by"),
    "evaluation.RemedyApplication.undone_by",
)
