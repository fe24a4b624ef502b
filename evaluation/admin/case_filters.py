"""Filters of the queue of feedback cases: by state, cause, set, age, owner, reviewer and what opened them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.admin.base import StateListFilter, admin_scope
from accounts.models import User
from accounts.scope import Scope
from evaluation.models import Diagnosis
from evaluation.selectors import diagnosis_shown
from feedback.models import BadCase
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_listed

NOT_CLOSED = "to-do"
NOT_YET = "-"  # without a diagnosis
AGES = {"1": _("Last 24 hours"), "7": _("Last 7 days"), "30": _("Last 30 days"), "older": _("Older")}

CLOSED_LAST = F("closed").desc(nulls_first=True)


def with_cause(rows: QuerySet[BadCase], *, scope: Scope) -> QuerySet[BadCase]:
    """Cases with `cause`, `subcause`, `cause_detail` and `sureness` of the latest diagnosis that the viewer may see."""
    diagnoses = Diagnosis.objects.filter(diagnosis_shown(scope=scope), message=OuterRef("message_id"))
    latest = diagnoses.order_by("-created", "-pk")
    names = {"cause": "cause", "subcause": "subcause", "cause_detail": "detail", "sureness": "confidence"}
    return rows.annotate(**{name: Subquery(latest.values(column)[:1]) for name, column in names.items()})


class StateFilter(StateListFilter):
    """By state, and one's own cases; without a choice those that are not closed."""

    title = _("state")
    parameter_name = "case"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(NOT_CLOSED, _("Not closed")), *BadCase.State.choices, ("mine", _("Mine, in progress"))]

    @property
    def choice(self) -> str:
        return self.value() or NOT_CLOSED

    def queryset(self, request: Any, queryset: Any) -> Any:
        if self.choice == NOT_CLOSED:
            return queryset.exclude(state=BadCase.State.CLOSED)
        if self.choice == "mine":
            return queryset.filter(assignee=request.user, state=BadCase.State.IN_WORK)
        return super().queryset(request, queryset)

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        return rows.filter(state=choice)


class CauseFilter(StateListFilter):
    """By the class of the latest diagnosis that the viewer may see."""

    title = pgettext_lazy("feedback case", "cause")
    parameter_name = "cause"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Diagnosis.Cause.choices, (NOT_YET, _("Not diagnosed yet"))]

    def narrowed(self, rows: Any, choice: str) -> Any:
        return rows.filter(cause=None) if choice == NOT_YET else rows.filter(cause=choice)


class SetFilter(StateListFilter):
    """By a set that the question was asked in, or that the answer cites from."""

    title = _("knowledge set")
    parameter_name = "set"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        sets = sets_listed(scope=admin_scope(request)).order_by("name")
        return [(str(one.pk), one.shown_name) for one in sets]

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        return rows.filter(_about(Q(pk=choice)))


class OwnerFilter(StateListFilter):
    """By an owner of such a set."""

    title = _("owner")
    parameter_name = "owner"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        sets = sets_listed(scope=admin_scope(request)).order_by().values("pk")
        people = User.objects.filter(owned_sets__in=sets).distinct().order_by("username")
        return [(str(one.pk), one.username) for one in people]

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        return rows.filter(_about(Q(owners=choice)))


class ReviewerFilter(StateListFilter):
    """By the person who works on it."""

    title = _("reviewer")
    parameter_name = "reviewer"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        given = model_admin.get_queryset(request).exclude(assignee=None).order_by("assignee__username")
        people = given.values_list("assignee_id", "assignee__username").distinct()
        return [*((str(pk), name) for pk, name in people), (NOT_YET, _("Nobody"))]

    def narrowed(self, rows: Any, choice: str) -> Any:
        return rows.filter(assignee=None) if choice == NOT_YET else rows.filter(assignee_id=choice)


class AgeFilter(StateListFilter):
    """By the time since it was opened."""

    title = _("age")
    parameter_name = "age"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return list(AGES.items())

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        days = 30 if choice == "older" else int(choice)
        since = timezone.now() - timedelta(days=days)
        return rows.filter(created__lt=since) if choice == "older" else rows.filter(created__gte=since)


class OriginFilter(StateListFilter):
    """By what opened it."""

    title = _("opened by")
    parameter_name = "origin"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return list(BadCase.Origin.choices)

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        return rows.filter(origin=choice)


CASE_FILTERS: tuple[type[admin.SimpleListFilter], ...] = (
    *(StateFilter, CauseFilter, SetFilter, AgeFilter, ReviewerFilter, OwnerFilter, OriginFilter),
)


def _about(sets: Q) -> Q:
    """Condition on cases: asked in, or citing from, one of these sets."""
    set_ids = KnowledgeSet.objects.filter(sets).values("pk")
    about = Q(message__conversation__sets__in=set_ids)
    cited = Q(message__citations__document__sets__in=set_ids)
    return Q(pk__in=BadCase.objects.filter(about | cited).order_by().values("pk"))
