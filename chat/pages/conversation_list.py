"""The list of the side bar: groups, folders, the archive, and what a search found."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

from django.db.models import Exists, Func, OuterRef, Q, QuerySet, TextField, Value
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat import selectors
from chat.models import Conversation, Message
from ragcore.text.markdown import is_rule
from ragcore.text.normalise import visible

RECENT = 200  # conversations outside of folders; older ones are found by searching
KEPT = 500  # pinned ones and those in folders
FOUND = 50  # turns that a search lists, the latest ones
PLACES = 3  # of them in one conversation
MOST_WORDS = 10  # that one search looks for
BEFORE, BEHIND = 30, 90  # characters around a found word
TRIED = 100  # places in one text, of which that with the most words is shown
# citation markers and marks of Markdown within a line; PostgreSQL reads the expression, too
_MARKS = re.compile(r"[ \t]?\[\d{1,3}\]|\*+|`+|~~")
_GAPS = re.compile(r"(?:^[ \t]*(?:#{1,6}[ \t]|>)|[|\s])+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationGroup:
    """Conversations under one heading of the side bar."""

    name: str
    conversations: Sequence[Conversation]
    is_folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList:
    """The groups in the order of the side bar."""

    groups: Sequence[ConversationGroup]
    has_more: bool  # older conversations are not listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some text of a place; `is_found`: it was looked for."""

    text: str
    is_found: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a turn says what was looked for."""

    message_id: uuid.UUID
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationHit:
    """A conversation with the places that a search found in it; none where only its title fits."""

    conversation: Conversation
    places: Sequence[Place]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSearch:
    """What a search found, the latest first."""

    hits: Sequence[ConversationHit]
    has_more: bool  # older turns or conversations fit, too


def conversation_groups(*, scope: Scope) -> ConversationList:
    """Pinned ones, folders by name, today's, earlier ones; without the archive."""
    listed = _listed(scope).filter(archived=False)
    is_kept = Q(pinned=True) | ~Q(folder="")
    pinned_rows, recent = list(listed.filter(is_kept)[: KEPT + 1]), list(listed.exclude(is_kept)[: RECENT + 1])
    rows = [*pinned_rows[:KEPT], *recent[:RECENT]]
    today = timezone.localdate()
    pinned = [row for row in rows if row.pinned]
    loose = [row for row in rows if not row.pinned and not row.folder]
    folders = sorted({row.folder for row in rows if row.folder and not row.pinned}, key=str.casefold)
    groups = [
        ConversationGroup(name=_("Pinned"), conversations=pinned),
        *(
            ConversationGroup(
                name=folder,
                conversations=[row for row in rows if row.folder == folder and not row.pinned],
                is_folder=True,
            )
            for folder in folders
        ),
        ConversationGroup(name=_("Today"), conversations=[row for row in loose if _day(row) == today]),
        ConversationGroup(name=_("Earlier"), conversations=[row for row in loose if _day(row) != today]),
    ]
    has_more = len(pinned_rows) > KEPT or len(recent) > RECENT
    return ConversationList(groups=[group for group in groups if group.conversations], has_more=has_more)


def conversation_archive(*, scope: Scope) -> ConversationList:
    """The archived conversations, the latest first."""
    rows = list(_listed(scope).filter(archived=True)[: RECENT + 1])
    groups = [ConversationGroup(name=_("Archived"), conversations=rows[:RECENT])] if rows else []
    return ConversationList(groups=groups, has_more=len(rows) > RECENT)


def archived_count(*, scope: Scope) -> int:
    """How many conversations the asker has archived."""
    return selectors.conversations_of(scope=scope, channel=Conversation.Channel.WEB).filter(archived=True).count()


def conversation_search(*, scope: Scope, words: str) -> ConversationSearch:
    """Conversations with a turn or a title that contains every one of the words, archived ones, too.

    Each word may stand anywhere in the question or in the answer, as stored or without Markdown and citation markers.
    """
    conversations, words_wanted = _listed(scope), list(dict.fromkeys(words.split()))[:MOST_WORDS]
    visible_answer = Func(
        "answer", Value(_MARKS.pattern), Value(""), Value("g"), function="regexp_replace", output_field=TextField()
    )
    turns, titled = (
        Message.objects.filter(conversation__in=conversations.order_by().values("pk")).alias(shown=visible_answer),
        Q(),
    )
    for word in words_wanted:  # the expensive comparison comes last: it is made only where the others fail
        contains = Q(question__icontains=word) | Q(answer__icontains=word) | Q(shown__icontains=word)
        turns, titled = turns.filter(contains), titled & Q(title__icontains=word)
    rows = list(turns.order_by("-created").only("conversation_id", "question", "answer")[: FOUND + 1])
    places: dict[uuid.UUID, list[Place]] = {}
    for row in rows[:FOUND]:
        places.setdefault(row.conversation_id, []).append(_place(row, words_wanted))
    titled_or_placed = list(conversations.filter(Q(pk__in=places) | titled)[: RECENT + 1])
    hits = [
        ConversationHit(conversation=row, places=places.get(row.pk, ())[:PLACES]) for row in titled_or_placed[:RECENT]
    ]
    return ConversationSearch(hits=hits, has_more=len(rows) > FOUND or len(titled_or_placed) > RECENT)


def _listed(scope: Scope) -> QuerySet[Conversation]:
    """The asker's conversations of the chat page; `running`: whether one is being answered."""
    running = Message.objects.filter(conversation=OuterRef("pk"), state=Message.State.RUNNING)
    conversations = selectors.conversations_of(scope=scope, channel=Conversation.Channel.WEB)
    return conversations.select_related("embed").annotate(running=Exists(running))


def _day(row: Conversation) -> date:
    return timezone.localdate(row.updated)


def _place(message: Message, words: Sequence[str]) -> Place:
    """The words in the answer, or else in the question, as people see them."""
    alternatives = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"(?:{alternatives})(?:\s+(?:{alternatives}))*", re.IGNORECASE)
    for text in (_MARKS.sub("", message.answer), message.question, message.answer):
        lines = (line for line in visible(text).splitlines() if not is_rule(line))
        visible_text = _GAPS.sub(" ", "\n".join(lines)).strip()
        if spans := [match.span() for match in islice(pattern.finditer(visible_text), TRIED)]:
            return Place(message_id=message.pk, pieces=list(_pieces(visible_text, spans, words)))
    return Place(message_id=message.pk, pieces=[Piece(text=message.question[:BEHIND])])


def _pieces(visible_text: str, spans: Sequence[tuple[int, int]], words: Sequence[str]) -> Iterator[Piece]:
    """A text around that of its places around which most of the words stand, with all of them marked."""

    def said(span: tuple[int, int]) -> int:
        near = visible_text[span[0] : span[1] + BEHIND].casefold()
        return sum(word.casefold() in near for word in words)

    start, end = max(spans, key=said)
    at, last = max(start - BEFORE, 0), min(end + BEHIND, len(visible_text))
    lead, trail = "…" if at else "", "…" if last < len(visible_text) else ""
    for begin, stop in spans:
        if begin >= at and stop <= last:
            yield Piece(text=lead + visible_text[at:begin])
            yield Piece(text=visible_text[begin:stop], is_found=True)
            at, lead = stop, ""
    yield Piece(text=visible_text[at:last] + trail)
