"""Background work that somebody may see."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from work.models import Job


def jobs_visible(*, scope: Scope) -> QuerySet[Job]:
    """Jobs that the asker started or administers, the latest first."""
    rows = Job.objects.select_related("author", "tenant")
    if scope.administers == "everything":
        return rows
    of_tenant = rows.filter(tenant_id=scope.tenant_id)
    return of_tenant if scope.administers == "tenant" else of_tenant.filter(author_id=scope.user_id)


def work_get(*, scope: Scope, job_id: int) -> Job:
    """A job of the asker. Raises NotFoundError."""
    job = jobs_visible(scope=scope).filter(pk=job_id).first()
    if job is None:
        raise NotFoundError("job", job=job_id)
    return job


def jobs_of(*, scope: Scope, kind: str, subject: str) -> QuerySet[Job]:
    """Jobs of a kind and subject in the asker's tenant, the latest first. Whether the asker may see the subject is
    checked by the app that knows it.
    """
    return Job.objects.filter(tenant_id=scope.tenant_id, kind=kind, subject=subject).select_related("author")
