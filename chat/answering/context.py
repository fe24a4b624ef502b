"""What one answer is made with: the question, the profile of its user, the time limit (V6, V13, D4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils import timezone

from accounts.models import User
from chat.models import Conversation
from chat.types import AnswerRequest, Exchange
from knowledge import engines
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types import Profile
from ragcore.types.answering import Question, Turn
from ragcore.understanding.standalone import standalone_by_rules

ANSWER_SECONDS = 55.0  # from the request to the written text; with checking and storing 60 are not passed (V6)
RESERVE_SECONDS = 10.0  # of them for the last search and the text, whatever comes before
SILENT_SECONDS = 10.0  # without a word; a model that takes longer is not waited for again


@dataclass(slots=True, kw_only=True)
class Patience:
    """The time of one answer, shared by everything that waits for a model.

    `unreachable`: models by name that did not answer one who wrote. Whoever reads along waits so long for the first
    word; a text that has begun may grow.
    """

    seconds: float = ANSWER_SECONDS
    clock: Callable[[], float] = time.monotonic
    unreachable: set[str] = field(default_factory=set)
    _until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._until = self.clock() + self.seconds

    def left(self) -> float:
        """Seconds until the text must be there, never below 0."""
        return max(0.0, self._until - self.clock())

    def left_before_writing(self) -> float:
        """Seconds for all that helps an answer and is not its text, never below 0."""
        return max(0.0, self.left() - RESERVE_SECONDS)


def question_of(
    request: AnswerRequest, *, history: Sequence[Exchange], profile: Profile | None, user: User
) -> Question:
    """The question with its conversation, today's date and, where they let it take part, the asker's profile."""
    text = normalise_query(request.query)
    return Question(
        text=text,
        language=language_of(text),
        history=tuple(Turn(question=turn.question, answer=turn.answer) for turn in history),
        today=timezone.localdate(),
        profile=profile,
        name=user.get_full_name() or user.get_username(),
    )


def standalone_by_rules_of(question: Question) -> str:
    """The question without its conversation, as rules see it: quick, and the same every time."""
    return standalone_by_rules(question, engines.tokenizer()).text


CONVERSATIONS = 10  # the last ones, whose knowledge sets count as recent
RECENT_SETS = 3


def profile_of(user: User, *, sets: Sequence[int] = ()) -> Profile | None:
    """The work profile and the RECENT_SETS knowledge sets that were asked last; None if it is empty or switched off.

    Who names the `sets` of a question has said where to look, so recent ones have no say then.
    """
    if not user.use_profile:
        return None
    profile = Profile(
        department=user.department,
        product=user.product,
        role=user.role,
        interests=tuple(user.interests),
        recent_sets=() if sets else _recent_sets(user),
    )
    return profile if profile != Profile() else None


def profile_key(profile: Profile | None) -> dict[str, Any] | None:
    """What of a profile tells answers apart. The order of recent sets does not matter to the ranking.

    Three sets at most, in no order: so the key of a person stays the same while they ask in the same sets.
    """
    return None if profile is None else {**asdict(profile), "recent_sets": sorted(profile.recent_sets)}


def _recent_sets(user: User) -> tuple[int, ...]:
    """The latest first, each once."""
    through = Conversation.sets.through
    last = Conversation.objects.filter(user_id=user.pk, tenant_id=user.tenant_id).order_by("-updated", "-pk")
    rows = through.objects.filter(conversation__in=last.values("pk")[:CONVERSATIONS])
    asked = rows.order_by("-conversation__updated", "knowledgeset_id").values_list("knowledgeset_id", flat=True)
    return tuple(dict.fromkeys(asked))[:RECENT_SETS]
