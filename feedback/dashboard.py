"""Numbers for owners and administrators over a range of days: use, outcome, satisfaction, time, cost.

Who keeps sets sees questions that named one of them or were answered from one, as numbers only; what people ask is
shown to administrators and reviewers, as in `feedback.usage`. All figures of questions come from `chat.TurnFigures`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Avg, Count, Exists, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.scope import Scope
from chat.models import Message, MessageCitation, TurnFigures
from feedback.models import SetEstimate, Vote
from feedback.time_histogram import Histogram
from knowledge import model_registry
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import sets_listed, sets_managed
from knowledge.selectors.dashboard import documents_managed
from ragcore.text.matching import keywords

ANSWERED = ("answered", "degraded")
UNANSWERED = ("refused", "search_results")
MOST_DAYS = 366
DEFAULT_MINUTES = 5  # that an answer saves, where the owner has not said
SHOWN = 10  # questions, topics, documents
READ = 500  # unanswered questions whose topics are counted, the latest
_LATIN = re.compile(r"[a-z]{3,}")
LEAST_ASKED = 2  # times that a question was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Days of the site's time zone, both included."""

    first: date
    last: date

    @classmethod
    def of(cls, first: date | None, last: date | None, *, today: date | None = None) -> Range:
        """What was asked for, made sound: in order, not longer than MOST_DAYS; the last 30 days without a wish."""
        today = today or timezone.localdate()
        end = min(last or today, today)
        begin = min(first or end - timedelta(days=29), end)
        return cls(first=max(begin, end - timedelta(days=MOST_DAYS - 1)), last=end)

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """First moment, and the first one after it."""
        begin = timezone.make_aware(datetime.combine(self.first, datetime.min.time()))
        return begin, timezone.make_aware(datetime.combine(self.last + timedelta(days=1), datetime.min.time()))


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigures:
    """One day."""

    day: date
    questions: int = 0
    answered: int = 0
    refused: int = 0
    searched: int = 0  # search results in the place of an answer
    cached: int = 0
    median_seconds: float | None = None
    p95_seconds: float | None = None
    cost: float = 0.0
    unpriced: int = 0  # answers by models whose price is not known: the cost is at least so much
    tokens: int = 0
    up: int = 0  # votes
    down: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """Answers that one model wrote, with all that was asked of models for them: rewriting and grading, too."""

    model: str
    answers: int
    tokens: int
    cost: float
    unpriced: int
    mean_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopQuestion:
    """A question that was asked more than once."""

    message_id: Any
    text: str
    asked: int
    people: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The figures of a range; shares are 0 to 1, None where there is nothing to count."""

    range: Range
    days: Sequence[DayFigures]
    people: int
    percentiles: Mapping[int, float | None]  # 50, 90, 95, 99 -> seconds
    models: Sequence[ModelFigures]
    mean_rating: float | None
    saved_minutes: int
    top_questions: Sequence[TopQuestion] = ()
    topics: Sequence[tuple[str, int]] = ()  # a keyword of questions without an answer, and how many have it
    unused_sets: Sequence[KnowledgeSet] = ()
    unused_documents: Sequence[Document] = ()
    unused_document_count: int = 0
    shows_questions: bool = False
    totals: DayFigures = field(init=False)

    def __post_init__(self) -> None:
        names = ("questions", "answered", "refused", "searched", "cached", "cost", "unpriced", "tokens", "up", "down")
        sums = {name: sum(getattr(day, name) for day in self.days) for name in names}
        object.__setattr__(self, "totals", DayFigures(day=self.range.last, **sums))

    @property
    def satisfaction(self) -> float | None:
        """Share of votes up."""
        votes = self.totals.up + self.totals.down
        return self.totals.up / votes if votes else None

    @property
    def cached_share(self) -> float | None:
        return self.totals.cached / self.totals.questions if self.totals.questions else None


@dataclass(frozen=True)
class Viewer:
    """Whose numbers these are. `set_ids`: only questions about these; empty: everything that the person may count."""

    scope: Scope
    is_reviewer: bool
    set_ids: Sequence[int] = ()

    def votes(self, period: Range) -> QuerySet[Vote]:
        """The judgements of these questions that were asked in a range."""
        begin, end = period.bounds
        return Vote.objects.filter(message__figures__in=self.turns().filter(asked__gte=begin, asked__lt=end))

    @property
    def sees_questions(self) -> bool:
        """Whether the person may read what others ask."""
        return self.scope.administers != "nothing" or self.is_reviewer

    @cached_property
    def chosen(self) -> list[int]:
        """The chosen sets that the person may choose; a reviewer chooses among those of the tenant."""
        return list(self.choices.filter(pk__in=self.set_ids).values_list("pk", flat=True)) if self.set_ids else []

    @property
    def choices(self) -> QuerySet[KnowledgeSet]:
        """Sets that may be chosen."""
        if self.is_reviewer and self.scope.administers == "nothing":
            return sets_listed(scope=self.scope).order_by("code")
        return sets_managed(scope=self.scope).order_by("code")

    def turns(self) -> QuerySet[TurnFigures]:
        """The questions that are counted for this person."""
        rows = TurnFigures.objects.exclude(status="conversation")  # small talk
        if self.scope.administers != "everything":
            rows = rows.filter(tenant_id=self.scope.tenant_id)
        if self.set_ids:
            return rows.filter(sets__overlap=self.chosen)
        if self.sees_questions:
            return rows
        return rows.filter(sets__overlap=list(sets_managed(scope=self.scope).values_list("pk", flat=True)))


def dashboard(*, viewer: Viewer, period: Range) -> Dashboard:
    """All figures of a range; a dozen statements, whatever the number of days, of which two pass over all its rows."""
    begin, end = period.bounds
    turns = viewer.turns().filter(asked__gte=begin, asked__lt=end)
    votes = viewer.votes(period).order_by()
    voted = _votes_by_day(votes)
    groups, histogram = _groups(turns), Histogram.of(turns)
    sees = viewer.sees_questions
    unused = unused_documents(viewer=viewer, period=period)
    return Dashboard(
        range=period,
        days=[_day(day, groups, histogram, voted.get(day, {})) for day in period.days],
        people=turns.order_by().values("user_id").distinct().count(),
        percentiles={number: histogram.percentile(number / 100) for number in (50, 90, 95, 99)},
        models=_models(groups),
        mean_rating=votes.aggregate(mean=Avg("rating"))["mean"],
        saved_minutes=_saved_minutes(groups),
        top_questions=_top_questions(turns) if sees else (),
        topics=_topics(turns) if sees else (),
        unused_sets=_unused_sets(viewer, groups),
        unused_documents=list(unused[:SHOWN]),
        unused_document_count=unused.count(),
        shows_questions=sees,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions of one day that are alike; everything that is only counted or added up comes from these."""

    on: date
    status: str
    cache: str
    model: str
    sets: tuple[int, ...]
    questions: int
    cost: float
    unpriced: int
    tokens: int
    seconds: float


def _groups(turns: QuerySet[TurnFigures]) -> dict[date, list[Group]]:
    """In one pass over the rows: a few thousand groups for a month."""
    rows = turns.order_by().annotate(on=TruncDate("asked")).values("on", "status", "cache", "model", "sets")
    by_day: dict[date, list[Group]] = {}
    counted = rows.annotate(n=Count("pk"), money=Sum("cost"), used=Sum("tokens"), spent=Sum("seconds"))
    for row in counted.annotate(unpriced=Count("pk", filter=Q(cost=None, tokens__gt=0))):
        group = Group(
            on=row["on"],
            status=row["status"],
            cache=row["cache"],
            model=row["model"],
            sets=tuple(row["sets"]),
            questions=row["n"],
            cost=row["money"] or 0.0,
            unpriced=row["unpriced"],
            tokens=row["used"] or 0,
            seconds=row["spent"] or 0.0,
        )
        by_day.setdefault(group.on, []).append(group)
    return by_day


def _day(
    day: date, groups: Mapping[date, Sequence[Group]], histogram: Histogram, votes: Mapping[str, int]
) -> DayFigures:
    of_day = groups.get(day, ())

    def count(statuses: Sequence[str]) -> int:
        return sum(group.questions for group in of_day if group.status in statuses)

    return DayFigures(
        day=day,
        questions=sum(group.questions for group in of_day),
        answered=count(ANSWERED),
        refused=count(("refused",)),
        searched=count(("search_results",)),
        cached=sum(group.questions for group in of_day if group.cache != "none"),
        median_seconds=histogram.percentile(0.5, day=day),
        p95_seconds=histogram.percentile(0.95, day=day),
        cost=sum(group.cost for group in of_day),
        unpriced=sum(group.unpriced for group in of_day),
        tokens=sum(group.tokens for group in of_day),
        **votes,
    )


def _votes_by_day(votes: QuerySet[Vote]) -> dict[date, dict[str, int]]:
    up, down = (Count("pk", filter=Q(vote=direction)) for direction in Vote.Direction)
    rows = votes.annotate(on=TruncDate("message__created")).values("on").annotate(up=up, down=down)
    return {row["on"]: {"up": row["up"], "down": row["down"]} for row in rows}


def _models(groups: Mapping[date, Sequence[Group]]) -> list[ModelFigures]:
    """Of answers that were written, not taken from the cache; the most used model first."""
    by_model: dict[str, list[Group]] = {}
    for group in (group_of_day for day in groups.values() for group_of_day in day):
        if group.cache == "none" and group.model:
            by_model.setdefault(group.model, []).append(group)
    figures = [
        ModelFigures(
            model=model,
            answers=sum(item.questions for item in of_model),
            tokens=sum(item.tokens for item in of_model),
            cost=sum(item.cost for item in of_model),
            unpriced=sum(item.unpriced for item in of_model),
            mean_seconds=sum(item.seconds for item in of_model) / sum(item.questions for item in of_model),
        )
        for model, of_model in by_model.items()
    ]
    return sorted(figures, key=lambda row: (-row.answers, row.model))


def _saved_minutes(groups: Mapping[date, Sequence[Group]]) -> int:
    """Answered questions times the estimate of their sets; of several sets the lowest, of none the default."""
    estimates = dict(SetEstimate.objects.values_list("knowledge_set_id", "minutes"))
    return sum(
        group.questions
        * min((estimates.get(set_id, DEFAULT_MINUTES) for set_id in group.sets), default=DEFAULT_MINUTES)
        for day in groups.values()
        for group in day
        if group.status in ANSWERED
    )


def _top_questions(turns: QuerySet[TurnFigures]) -> list[TopQuestion]:
    rows = (
        turns.order_by()
        .values("question_key")
        .annotate(
            number=Count("pk"),
            people=Count("user_id", distinct=True),
            missed=Count("pk", filter=Q(status__in=UNANSWERED)),
            latest=Max("asked"),
        )
    )
    top = list(rows.filter(number__gte=LEAST_ASKED).order_by("-number", "-latest")[:SHOWN])
    keys = [row["question_key"] for row in top]
    texts = {
        row.question_key: row.message
        for row in turns.filter(question_key__in=keys, asked__in=[row["latest"] for row in top])
        .select_related("message")
        .only("question_key", "message__question")
    }
    return [
        TopQuestion(
            message_id=texts[row["question_key"]].pk,
            text=texts[row["question_key"]].question,
            asked=row["number"],
            people=row["people"],
            unanswered=row["missed"],
        )
        for row in top
        if row["question_key"] in texts
    ]


def _topics(turns: QuerySet[TurnFigures]) -> list[tuple[str, int]]:
    """Keywords that at least two different questions without an answer have in common, the most frequent first."""
    latest = turns.filter(status__in=UNANSWERED).order_by("-asked").values("message")[:READ]
    questions = Message.objects.filter(pk__in=list(latest.values_list("message_id", flat=True)))
    tokenizer, counted, spellings = model_registry.tokenizer(), Counter[str](), dict[str, Counter[str]]()
    for text in {" ".join(text.lower().split()) for text in questions.values_list("question", flat=True)}:
        counted.update(word for word in keywords(text, tokenizer) if len(word) > 1)
        for form in set(_LATIN.findall(text)):  # the tokenizer gives stems
            spellings.setdefault(next(iter(tokenizer.words(form)), form), Counter())[form] += 1
    return [
        (spellings[word].most_common(1)[0][0] if word in spellings else word, number)
        for word, number in counted.most_common(SHOWN)
        if number >= LEAST_ASKED
    ]


def _unused_sets(viewer: Viewer, groups: Mapping[date, Sequence[Group]]) -> list[KnowledgeSet]:
    """Sets that the person keeps and that no question of the range named or was answered from."""
    used = {set_id for day in groups.values() for group in day for set_id in group.sets}
    sets = sets_managed(scope=viewer.scope)
    if viewer.set_ids:
        sets = sets.filter(pk__in=viewer.chosen)
    return list(sets.exclude(pk__in=used).order_by("code"))


def unused_documents(*, viewer: Viewer, period: Range) -> QuerySet[Document]:
    """Live documents that the person curates and that no answer of the range cites."""
    begin, end = period.bounds
    cites = MessageCitation.objects.filter(
        document=OuterRef("pk"), cited=True, message__created__gte=begin, message__created__lt=end
    )
    rows = documents_managed(scope=viewer.scope).filter(state=Document.State.LIVE)
    if viewer.set_ids:
        through = Document.sets.through.objects.filter(knowledgeset__in=viewer.chosen)
        rows = rows.filter(pk__in=through.values("document"))
    return rows.filter(~Exists(cites)).order_by("created", "pk")


def estimates_of(*, scope: Scope) -> dict[int, int]:
    """Minutes that an answer saves, by set, of those that the person keeps."""
    sets = sets_managed(scope=scope).order_by().values("pk")
    return dict(SetEstimate.objects.filter(knowledge_set__in=sets).values_list("knowledge_set_id", "minutes"))
