"""What the chat shows before the first question: questions that have an answer, sets, recent documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import get_language
from redis.exceptions import RedisError

from accounts.scope import Scope
from chat.answering.example_check import known_verdicts, questions_check
from chat.view_models import AxisChoices, SetChoice, text_lang
from knowledge.models import Document, name_in_language
from knowledge.selectors import documents_askable, sets_readable
from knowledge.selectors.keeping import documents_openable

EXAMPLES = 6
CHECKED = 12  # suggestions of which the first EXAMPLES with an answer are shown
SETS = 8
RECENT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question that a readable set suggests."""

    question: str
    set_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentDocument:
    """A document that has become searchable lately and that the asker may open."""

    id: int
    title: str
    sets: str
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    """Everything below the title. `examples` None: not all of them were checked yet; the page fetches them."""

    examples: Sequence[Example] | None
    awaited: range  # a row to keep free for each example that is being checked
    sets: Sequence[SetChoice]
    more_sets: int
    locked: int  # sets that the asker may ask access to
    recent: Sequence[RecentDocument]


def home_page(*, scope: Scope, axes: Sequence[AxisChoices]) -> HomePage:
    """With the sets of the chooser, those with documents first."""
    every = [one for axis in axes for one in axis.sets]
    open_sets = sorted((one for one in every if one.documents), key=lambda one: -(one.documents or 0))
    examples = examples_known(scope=scope)
    return HomePage(
        examples=examples,
        awaited=range(min(len(_offered(scope)), EXAMPLES) if examples is None else 0),
        sets=open_sets[:SETS],
        more_sets=max(0, len(open_sets) - SETS),
        locked=sum(one.documents is None for one in every),
        recent=recent_documents(scope=scope),
    )


def examples_known(*, scope: Scope) -> list[Example] | None:
    """The examples to show, where all verdicts are kept; else None."""
    offered = _offered(scope)
    try:
        verdicts = known_verdicts(scope=scope, questions=[one.question for one in offered])
    except RedisError:
        return None
    return _shown(offered, verdicts) if len(verdicts) == len(offered) else None


def examples_checked(*, scope: Scope) -> list[Example]:
    """The examples to show, each searched for if there is no verdict on it. Raises what a search raises."""
    offered = _offered(scope)
    return _shown(offered, questions_check(scope=scope, questions=[one.question for one in offered]))


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
            sets=" · ".join(names[one.pk] for one in row.sets.all() if one.pk in names),
            since=row.live_version.live_since if row.live_version else None,
        )
        for row in newest.prefetch_related("sets")
    ]


def _offered(scope: Scope) -> list[Example]:
    """Suggestions of readable sets: those in the reader's language first, from as many sets as possible."""
    language = "zh-Hans" if (get_language() or "").startswith("zh") else "en"
    rows = sets_readable(scope=scope).exclude(example_questions=[]).values_list(name_in_language(), "example_questions")
    ranked = sorted(
        (text_lang(question) != language, place, order, question, name)
        for order, (name, questions) in enumerate(rows)
        for place, question in enumerate(questions)
    )
    once = {question: Example(question=question, set_name=name) for *_rank, question, name in reversed(ranked)}
    return list(once.values())[::-1][:CHECKED]


def _shown(offered: Sequence[Example], verdicts: dict[str, bool]) -> list[Example]:
    return [one for one in offered if verdicts.get(one.question)][:EXAMPLES]
