"""Questions that readable sets suggest, and which of them have an answer for whoever would ask them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils import translation
from redis.exceptions import RedisError

from accounts.scope import Scope
from chat.answering.example_check import known_verdicts, questions_check
from knowledge.models import name_in_language
from knowledge.selectors import sets_readable
from ragcore.text.scripts import language_of

SHOWN = 6
CHECKED = 12  # suggestions of which the first SHOWN with an answer are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question that a readable set suggests."""

    question: str
    set_name: str


def examples_known(*, scope: Scope) -> list[Example] | None:
    """The examples to show, where all verdicts are kept; else None."""
    offered = examples_offered(scope=scope)
    try:
        verdicts = known_verdicts(scope=scope, questions=[example.question for example in offered])
    except RedisError:
        return None
    return _shown(offered, verdicts) if len(verdicts) == len(offered) else None


def examples_checked(*, scope: Scope, sets: Sequence[int] = ()) -> list[Example]:
    """The examples to show, each searched for if there is no verdict on it. Raises what a search raises."""
    offered = examples_offered(scope=scope, sets=sets)
    return _shown(offered, questions_check(scope=scope, questions=[example.question for example in offered]))


def examples_offered(*, scope: Scope, sets: Sequence[int] = ()) -> list[Example]:
    """Suggestions of readable sets: those in the active language first, from as many sets as possible.

    `sets`: of these alone; () for all.
    """
    language = "zh" if (translation.get_language() or "").startswith("zh") else "en"
    readable = sets_readable(scope=scope).exclude(example_questions=[])
    rows = (readable.filter(pk__in=sets) if sets else readable).values_list(name_in_language(), "example_questions")
    ranked = sorted(
        (language_of(question) != language, place, order, question, name)
        for order, (name, questions) in enumerate(rows)
        for place, question in enumerate(questions)
    )
    once = {question: Example(question=question, set_name=name) for *_rank, question, name in reversed(ranked)}
    return list(once.values())[::-1][:CHECKED]


def _shown(offered: Sequence[Example], verdicts: Mapping[str, bool]) -> list[Example]:
    return [example for example in offered if verdicts.get(example.question)][:SHOWN]
