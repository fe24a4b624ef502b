"""What of background work ends with the person who started it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.leaving import Ending, ends_with_person
from accounts.services import audit_record
from work.kinds import kinds
from work.models import OPEN, Job
from work.services import job_cancel_now


def _jobs(user: User) -> QuerySet[Job]:
    names = [kind.name for kind in kinds() if kind.ends_with_author]
    return Job.objects.filter(author=user, state__in=OPEN, kind__in=names)


def _end_jobs(user: User, actor: User) -> None:
    for job in _jobs(user):
        if job_cancel_now(job):
            audit_record(actor=actor, action="work.cancel", target=job.kind, tenant_id=job.tenant_id, run=job.pk)


ends_with_person(
    Ending(
        code="background_work",
        label=_("Background work that is waiting or running"),
        relations=("work.Job.author",),
        rows=_jobs,
        end=_end_jobs,
    )
)
