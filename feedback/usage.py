"""How much is asked, what found no answer, and what people thought of answers: numbers of the first page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.scope import Scope
from chat.models import Message
from feedback.models import Vote
from feedback.selectors import about_sets_of

DAYS = 14
UNANSWERED = ("refused", "search_results")
SHOWN = 5  # unanswered questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day of the site's time zone."""

    day: date
    questions: int = 0
    unanswered: int = 0
    up: int = 0  # votes
    down: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The last days, the oldest first, with the people who asked in them."""

    days: Sequence[Day]
    people: int

    @property
    def questions(self) -> int:
        return sum(day.questions for day in self.days)

    @property
    def unanswered(self) -> int:
        return sum(day.unanswered for day in self.days)

    @property
    def up(self) -> int:
        return sum(day.up for day in self.days)

    @property
    def down(self) -> int:
        return sum(day.down for day in self.days)


def usage(*, scope: Scope, is_reviewer: bool, days: int = DAYS, now: datetime | None = None) -> Usage:
    """Questions, those without an answer, and votes by day, about what the asker keeps.

    Platform administrators: all tenants; administrators and reviewers: their tenant; others: questions that were
    put to, or answered from, a set that they own. Three statements over the rows of the period.
    """
    last = timezone.localdate(now)
    first = last - timedelta(days=days - 1)
    since = timezone.make_aware(datetime.combine(first, datetime.min.time()))
    messages = _messages(scope=scope, is_reviewer=is_reviewer).filter(created__gte=since)
    refused = Count("pk", filter=Q(status__in=UNANSWERED))
    by_day = _by_day(messages, "created", questions=Count("pk"), unanswered=refused)
    votes = Vote.objects.filter(updated__gte=since).order_by()
    if scope.administers != "everything":
        of_messages = _messages(scope=scope, is_reviewer=is_reviewer).filter(pk=OuterRef("message_id"))
        votes = votes.filter(Exists(of_messages))
    up, down = (Count("pk", filter=Q(vote=direction)) for direction in Vote.Direction)
    voted = _by_day(votes, "updated", up=up, down=down)
    people = messages.aggregate(n=Count("conversation__user", distinct=True))["n"]
    every = [first + timedelta(days=number) for number in range(days)]
    return Usage(days=[Day(day=day, **by_day.get(day, {}), **voted.get(day, {})) for day in every], people=people)


def unanswered_questions(*, scope: Scope, is_reviewer: bool, since: datetime) -> QuerySet[Message]:
    """The latest questions without an answer, for administrators and reviewers, who see what people ask."""
    if scope.administers == "nothing" and not is_reviewer:
        return Message.objects.none()
    rows = _messages(scope=scope, is_reviewer=is_reviewer).filter(created__gte=since, status__in=UNANSWERED)
    return rows.only("pk", "question", "created").order_by("-created")[:SHOWN]


def _messages(*, scope: Scope, is_reviewer: bool) -> QuerySet[Message]:
    rows = Message.objects.order_by()
    if scope.administers == "everything":
        return rows
    rows = rows.filter(conversation__tenant_id=scope.tenant_id)
    if scope.administers == "tenant" or is_reviewer:
        return rows
    return rows.filter(about_sets_of(scope=scope, message="pk"))


def _by_day(rows: QuerySet[Any], field: str, **counts: Any) -> dict[date, dict[str, int]]:
    days = rows.annotate(on=TruncDate(field)).values("on").annotate(**counts)
    return {row.pop("on"): row for row in days}
