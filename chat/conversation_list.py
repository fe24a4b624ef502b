"""The list of the side bar: groups, folders, the archive, and what a search found (D16)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat import selectors
from chat.models import Conversation, Message
from ragcore.text.normalise import visible

RECENT = 200  # conversations outside of folders; older ones are found by searching
KEPT = 500  # pinned ones and those in folders
FOUND = 50  # turns that a search lists, the latest ones
PLACES = 3  # of them in one conversation
BEFORE, BEHIND = 30, 90  # characters around a found word
_MARKS = re.compile(r"(?:\[\d{1,3}\]|[*_`#>|~]|\s)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationGroup:
    """Conversations under one heading of the side bar."""

    name: str
    conversations: Sequence[Conversation]
    is_folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a turn says what was looked for: the words before it, it, and the words behind it."""

    message_id: uuid.UUID
    before: str
    words: str
    behind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationHit:
    """A conversation with the places that a search found in it; none where only its title fits."""

    conversation: Conversation
    places: Sequence[Place]


def conversation_groups(*, scope: Scope) -> list[ConversationGroup]:
    """Pinned ones, folders by name, today's, earlier ones; without the archive."""
    listed = _listed(scope).filter(archived=False)
    is_kept = Q(pinned=True) | ~Q(folder="")
    rows = [*listed.filter(is_kept)[:KEPT], *listed.exclude(is_kept)[:RECENT]]
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
    return [group for group in groups if group.conversations]


def conversation_archive(*, scope: Scope) -> list[ConversationGroup]:
    """The archived conversations, the latest first."""
    rows = list(_listed(scope).filter(archived=True)[:RECENT])
    return [ConversationGroup(name=_("Archived"), conversations=rows)] if rows else []


def archived_count(*, scope: Scope) -> int:
    """How many conversations the asker has archived."""
    return selectors.conversations_of(scope=scope, channel=Conversation.Channel.WEB).filter(archived=True).count()


def conversation_search(*, scope: Scope, words: str) -> list[ConversationHit]:
    """Conversations whose title, questions or answers contain the words, archived ones, too, the latest first."""
    mine = _listed(scope)
    turns = Message.objects.filter(conversation__in=mine.order_by().values("pk")).filter(
        Q(question__icontains=words) | Q(answer__icontains=words)
    )
    places: dict[uuid.UUID, list[Place]] = {}
    for row in turns.order_by("-created").only("conversation_id", "question", "answer")[:FOUND]:
        places.setdefault(row.conversation_id, []).append(_place(row, words))
    found = mine.filter(Q(pk__in=places) | Q(title__icontains=words))[:RECENT]
    return [ConversationHit(conversation=row, places=places.get(row.pk, ())[:PLACES]) for row in found]


def _listed(scope: Scope) -> QuerySet[Conversation]:
    """The asker's conversations of the chat page; `running`: whether one is being answered."""
    running = Message.objects.filter(conversation=OuterRef("pk"), state=Message.State.RUNNING)
    mine = selectors.conversations_of(scope=scope, channel=Conversation.Channel.WEB)
    return mine.annotate(running=Exists(running))


def _day(row: Conversation) -> date:
    return timezone.localdate(row.updated)


def _place(message: Message, words: str) -> Place:
    """The words in the answer, or else in the question, as people see them."""
    wanted = words.casefold()
    for text in (message.answer, message.question):
        shown = _MARKS.sub(" ", visible(text))
        at = shown.casefold().find(wanted)
        if at >= 0:
            end = at + len(words)
            before = f"…{shown[at - BEFORE : at]}" if at > BEFORE else shown[:at]
            behind = f"{shown[end : end + BEHIND]}…" if len(shown) > end + BEHIND else shown[end:]
            return Place(message_id=message.pk, before=before, words=shown[at:end], behind=behind)
    return Place(message_id=message.pk, before=message.question[:BEHIND], words="", behind="")
