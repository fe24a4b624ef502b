"""What the composer offers while somebody types: own questions, titles, terms of the lexicon.

Everything is looked up within the asker's rights and within a time limit: typing never waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from django.db import OperationalError
from django.db.models import Max

from accounts.scope import Scope
from chat.models import Conversation, Message
from knowledge.selectors.lexicon import lexicon_of_person
from knowledge.services.suggestions import titles_suggested, typing_limit
from ragcore.text.lexicon import TermLexicon
from ragcore.text.normalise import visible
from ragcore.text.scripts import cjk_share
from ragcore.text.sorted_names import SortedNames
from ragcore.understanding.lexicon import lexicon_names

LEAST_LATIN, LEAST_CJK = 3, 2  # characters from which something is offered
MOST_TYPED = 200  # characters that are looked at
QUESTIONS, TITLES, TERMS = 4, 4, 3
OTHER_NAMES = 2  # shown beside a term
MOST_WORDS, MOST_CHARACTERS = 5, 10  # of the end of the text that a title or a term may continue
_BREAK = re.compile(r"[\s，。？！、,.?!;；:：()（）]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A text that may stand in the place of the typed one from the character `start` on."""

    kind: Literal["question", "document", "term"]
    text: str
    start: int
    detail: str = ""  # other names of a term


def suggestions(*, scope: Scope, typed: str) -> list[Suggestion]:
    """Own questions first, then titles of documents that the asker may ask about, then terms."""
    typed = typed[:MOST_TYPED]
    text = typed.strip()
    if len(text) < (LEAST_CJK if cjk_share(text) > 0 else LEAST_LATIN):
        return []
    ends = list(_ends(typed))
    matches = [*_questions(scope, text), *_titles(scope, typed, ends), *_terms(scope, typed, ends)]
    return list({suggestion.text.casefold(): suggestion for suggestion in reversed(matches)}.values())[::-1]


def _questions(scope: Scope, text: str) -> Iterator[Suggestion]:
    """Earlier questions of the asker that contain the text, the latest first."""
    messages = Message.objects.filter(
        conversation__user_id=scope.user_id,
        conversation__tenant_id=scope.tenant_id,
        conversation__channel=Conversation.Channel.WEB,
        question__icontains=text,
    ).exclude(question__iexact=text)
    latest = messages.order_by().values("question").annotate(last=Max("created")).order_by("-last")
    try:
        with typing_limit():
            questions = list(latest.values_list("question", flat=True)[:QUESTIONS])
    except OperationalError:  # over the time limit: the reader types on
        return
    for question in questions:
        yield Suggestion(kind="question", text=question, start=0)


def _titles(scope: Scope, typed: str, ends: Sequence[int]) -> Iterator[Suggestion]:
    if not ends:
        return
    try:
        titles = titles_suggested(scope=scope, parts=[typed[end:].strip() for end in ends], limit=TITLES)
    except OperationalError:  # over the time limit: the reader types on
        return
    for title in titles:
        visible_title = visible(title)
        end = next((end for end in ends if typed[end:].strip().casefold() in visible_title.casefold()), None)
        if end is not None and visible_title.casefold() != typed[end:].strip().casefold():
            yield Suggestion(kind="document", text=visible_title, start=end)


def _terms(scope: Scope, typed: str, ends: Sequence[int]) -> Iterator[Suggestion]:
    """Names of the published lexicons that the asker may use, then those of general language."""
    published = lexicon_of_person(scope=scope) if ends else None
    names = published.sorted_names if published else None
    remaining = TERMS
    for end in ends:
        part = typed[end:]
        for table in (names, _known_terms()):
            for name in table.beginning_with(part, most=remaining) if table is not None else ():
                remaining -= 1
                yield Suggestion(kind="term", text=name, start=end, detail=_other_names(published, name))


def _other_names(lexicon: TermLexicon | None, name: str) -> str:
    """What a published term is called, too: its long form, its translations."""
    return " · ".join(lexicon.alternatives(name)[:OTHER_NAMES]) if lexicon else ""


@cache
def _known_terms() -> SortedNames:
    return SortedNames.of(lexicon_names())


def _ends(typed: str) -> Iterable[int]:
    """Where the end of the text may begin that something continues: the longest first."""
    words = [0, *(match.end() for match in _BREAK.finditer(typed))]
    places = set(words[-MOST_WORDS:])
    last = words[-1]
    if cjk_share(typed[last:]) > 0:  # no spaces between words
        places |= set(range(max(last, len(typed) - MOST_CHARACTERS), len(typed) - LEAST_CJK + 1))
    for place in sorted(places):
        part = typed[place:].strip()
        if len(part) >= (LEAST_CJK if cjk_share(part) > 0 else LEAST_LATIN):
            yield place
