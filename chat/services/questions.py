"""A request as the core understands questions."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from accounts.models import User
from chat.types import AnswerRequest, Exchange
from knowledge import engines
from ragcore.answering.types import Question, Turn
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types import Profile
from ragcore.understanding.standalone import standalone_by_rules


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
