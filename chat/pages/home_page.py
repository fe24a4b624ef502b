"""Content of the start page: answerable example questions, sets, recent documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.scope import Scope
from chat.answering.examples import SHOWN, Example, examples_known, examples_last, examples_offered
from chat.pages.view_models import AxisChoices, SetChoice
from knowledge.models import Document, name_in_language
from knowledge.selectors import documents_askable, sets_readable
from knowledge.selectors.keeping import documents_openable

SETS = 8
RECENT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentDocument:
    """A document that has become searchable lately and that the asker may open."""

    id: int
    title: str
    sets: str
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """Everything below the title. `examples` None: not all of them were checked yet; the page fetches them.

    `is_earlier`: they are those of an earlier state of the documents; the page has them checked for the next visit.
    """

    examples: Sequence[Example] | None
    is_earlier: bool
    awaited: range  # a row to keep free for each example that is being checked
    sets: Sequence[SetChoice]
    more_sets: int
    locked: int  # sets that the asker may ask access to
    recent: Sequence[RecentDocument]


def home_page(*, scope: Scope, axes: Sequence[AxisChoices]) -> HomePage:
    """With the sets of the chooser, those with documents first."""
    every = [choice for axis in axes for choice in axis.sets]
    open_sets = sorted((choice for choice in every if choice.documents), key=lambda choice: -(choice.documents or 0))
    current = examples_known(scope=scope)
    examples = examples_last(scope=scope) if current is None else current
    waits = range(min(len(examples_offered(scope=scope)), SHOWN)) if examples is None else range(0)
    return HomePage(
        examples=examples,
        is_earlier=current is None and examples is not None,
        awaited=waits,
        sets=open_sets[:SETS],
        more_sets=max(0, len(open_sets) - SETS),
        locked=sum(choice.documents is None for choice in every),
        recent=recent_documents(scope=scope),
    )


def recent_documents(*, scope: Scope) -> list[RecentDocument]:
    """The newest searchable documents that the asker may ask about and open."""
    names = dict(sets_readable(scope=scope).values_list("pk", name_in_language()))
    opened = documents_openable(scope=scope).order_by().values("pk")
    rows = documents_askable(scope=scope).filter(state=Document.State.LIVE, pk__in=opened)
    newest = rows.select_related("live_version").defer("live_version__markdown").order_by("-live_version_id")[:RECENT]
    return [
        RecentDocument(
            id=row.pk,
            title=row.title,
            sets=" · ".join(names[knowledge_set.pk] for knowledge_set in row.sets.all() if knowledge_set.pk in names),
            since=row.live_version.live_since if row.live_version else None,
        )
        for row in newest.prefetch_related("sets")
    ]
