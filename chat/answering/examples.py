"""Questions that readable sets suggest, and which of them have an answer for whoever would ask them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice

from django.core.cache import cache
from django.utils import translation
from redis.exceptions import RedisError

from accounts.scope import Scope
from chat.answering.example_check import (
    KEPT_SECONDS,
    circumstances_digest,
    known_verdicts,
    questions_check,
    search_rights,
)
from knowledge.models import name_in_language
from knowledge.selectors import sets_readable
from ragcore.text.scripts import language_of

SHOWN = 6
CHECKED = 12  # suggestions of a language of which the first SHOWN with an answer are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question that a readable set suggests."""

    question: str
    set_name: str


def examples_known(*, scope: Scope) -> list[Example] | None:
    """The examples to show, where all verdicts that decide are kept; else None."""
    for offered in _by_language(examples_offered(scope=scope)):
        try:
            verdicts = known_verdicts(scope=scope, questions=[example.question for example in offered])
        except RedisError:
            return None
        answered = [example for example in offered if verdicts.get(example.question)][:SHOWN]
        last = offered.index(answered[-1]) + 1 if len(answered) == SHOWN else len(offered)
        if any(example.question not in verdicts for example in offered[:last]):
            return None
        if answered:
            return answered
    return []


def examples_last(*, scope: Scope) -> list[Example] | None:
    """What was shown last to people with these rights, when the corpus was another one; None where nothing is kept."""
    try:
        rows = cache.get(_last_key(scope))
    except RedisError:
        return None
    return None if rows is None else [Example(question=question, set_name=name) for question, name in rows]


def examples_checked(*, scope: Scope, sets: Sequence[int] = ()) -> list[Example]:
    """The examples to show, each searched for if there is no verdict on it. Raises what a search raises.

    Those in the active language alone, where any of them has an answer.
    """
    answered: list[Example] = []
    for offered in _by_language(examples_offered(scope=scope, sets=sets)):
        answered = list(islice(_answered(scope, offered), SHOWN))
        if answered:
            break
    if not sets:
        cache.set(_last_key(scope), [astuple(example) for example in answered], KEPT_SECONDS)
    return answered


def examples_offered(*, scope: Scope, sets: Sequence[int] = ()) -> list[Example]:
    """Suggestions of readable sets: those in the active language first, of each language from as many sets as possible.

    `sets`: of these alone; () for all.
    """
    readable = sets_readable(scope=scope).exclude(example_questions=[])
    rows = (readable.filter(pk__in=sets) if sets else readable).values_list(name_in_language(), "example_questions")
    ranked = sorted(
        (not _is_own(question), place, order, question, name)
        for order, (name, questions) in enumerate(rows)
        for place, question in enumerate(questions)
    )
    once = {question: Example(question=question, set_name=name) for *_rank, question, name in reversed(ranked)}
    spoken, foreign = _by_language(list(once.values())[::-1])
    return [*spoken[:CHECKED], *foreign[:CHECKED]]


def _by_language(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Those in the active language, and the others."""
    spoken = [example for example in examples if _is_own(example.question)]
    return spoken, [example for example in examples if not _is_own(example.question)]


def _is_own(question: str) -> bool:
    return language_of(question) == ("zh" if (translation.get_language() or "").startswith("zh") else "en")


def _answered(scope: Scope, offered: Sequence[Example]) -> Iterator[Example]:
    """One after another, so that nothing is searched for beyond what is shown."""
    for example in offered:
        if questions_check(scope=scope, questions=[example.question])[example.question]:
            yield example


def _last_key(scope: Scope) -> str:
    return f"examples-shown:{translation.get_language()}:{circumstances_digest(search_rights(scope=scope), '')}"
