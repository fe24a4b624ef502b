"""Passages whose summaries or questions rules wrote because the language model did not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q, QuerySet

from accounts.scope import Scope
from knowledge.models import Document, RepresentationRetry
from knowledge.selectors.dashboard import documents_managed

Reason = RepresentationRetry.Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryCounts:
    """Passages by what becomes of them, and times of the tries."""

    unreached: int  # the model did not answer; it is asked again
    unusable: int  # its answers were of no use; it is asked again
    given_up: int  # they were of no use too often: nobody asks again, unless an owner wants it
    summaries: int  # passages that lack a summary of the model
    questions: int  # passages that lack questions of the model
    tried: datetime | None  # when the model was last asked
    next_try: datetime | None  # None: as soon as there is time
    is_requested: bool  # an owner wants some at once

    @property
    def total(self) -> int:
        return self.unreached + self.unusable + self.given_up


def retries_of_set(*, scope: Scope, set_id: int) -> RetryCounts:
    """Of the documents of a set that the person manages and may see."""
    return _counted(RepresentationRetry.objects.filter(version__live_for__in=_managed(scope).filter(sets=set_id)))


def retries_of_document(*, scope: Scope, document: Document) -> RetryCounts:
    """Of the live version of a document."""
    return _counted(RepresentationRetry.objects.filter(version__live_for__in=_managed(scope).filter(pk=document.pk)))


def _managed(scope: Scope) -> QuerySet[Document]:
    return documents_managed(scope=scope).order_by()


def _counted(rows: QuerySet[RepresentationRetry]) -> RetryCounts:
    waiting = Q(given_up=None)
    counts = rows.filter(chunk__retired=None).aggregate(  # not one by the name of a column that another one reads
        unreached=Count("pk", filter=waiting & Q(reason=Reason.UNAVAILABLE)),
        unusable=Count("pk", filter=waiting & ~Q(reason=Reason.UNAVAILABLE)),
        over=Count("pk", filter=~waiting),
        summaries=Count("pk", filter=Q(lacks_summary=True)),
        questions=Count("pk", filter=Q(lacks_questions=True)),
        last=Max("tried"),
        due=Count("pk", filter=waiting & Q(not_before=None)),
        following=Min("not_before", filter=waiting),
        wanted=Count("pk", filter=waiting & Q(requested__isnull=False)),
    )
    return RetryCounts(
        unreached=counts["unreached"],
        unusable=counts["unusable"],
        given_up=counts["over"],
        summaries=counts["summaries"],
        questions=counts["questions"],
        tried=counts["last"],
        next_try=None if counts["due"] else counts["following"],
        is_requested=bool(counts["wanted"]),
    )
