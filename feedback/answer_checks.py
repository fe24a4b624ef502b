"""Cases without a complaint: rewordings, stopped answers, unsupported sentences, refusals with a title near.

An answer is looked at once, when the time in which a next question counts as its rewording is over; those that were
missed are looked at at night. A case that a reviewer has closed stays closed until somebody complains.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.utils import timezone

from accounts.selectors import scope_for
from chat.models import Conversation, Message
from feedback.features import answer_features
from feedback.models import AnswerCheck, BadCase, Signal
from feedback.services import case_ensure, is_stop_complaint
from knowledge import model_registry
from knowledge.services.suggestions import titles_suggested
from ragcore.errors import ModelUnavailableError, RagError
from ragcore.text.matching import cosine, keywords
from ragcore.understanding.rewording import is_repeated, is_rewording

logger = logging.getLogger(__name__)

REWORDED_WITHIN = timedelta(minutes=2)
LEAST_UNSUPPORTED = 2  # sentences
LOOKED_BACK = timedelta(minutes=10)  # every minute; more than a worker that is restarted misses
LOOKED_BACK_AT_NIGHT = timedelta(days=2)
LONGEST_ANSWER = timedelta(hours=1)  # from question to end, also of one that a sweeper ended; others are seen at night
MOST_ANSWERS = 5000  # of one look, the latest
TITLES = 40
NEAR_TITLE = 0.7  # of a title's keywords that stand in the question


def answers_check(*, since: datetime | None = None) -> int:
    """Look at answers that ended since then and were not looked at yet; returns how many cases are new.

    Answers of the last two minutes wait: the next question may still come. One that cannot be looked at, such as while
    the embedding model is down, is tried again at the next look. Safe to run twice, also at once.
    """
    now = timezone.now()
    since = since or now - LOOKED_BACK
    ended = {"finished__gte": since, "finished__lt": now - REWORDED_WITHIN, "created__gte": since - LONGEST_ANSWER}
    rows = Message.objects.filter(**ended, conversation__user__record_use=True, bad_case=None, answer_check=None)
    ids = list(rows.order_by("-finished").values_list("pk", flat=True)[:MOST_ANSWERS])
    opened, is_down = 0, False
    for pk in ids:
        message = Message.objects.select_related("conversation__user").filter(pk=pk).first()
        if message is None:
            continue  # deleted meanwhile
        try:
            opened += _check(message, is_down=is_down)
        except OperationalError:
            logger.exception("an answer was not looked at")
        except RagError as error:
            if not is_down:
                logger.exception("an answer was not looked at")
            is_down = is_down or isinstance(error, ModelUnavailableError)  # it is asked once a look: each would wait
    return opened


@transaction.atomic
def _check(message: Message, *, is_down: bool) -> bool:
    if not AnswerCheck.objects.get_or_create(message=message)[1]:
        return False
    origin = next(_origins(message, is_down=is_down), None)
    return origin is not None and case_ensure(message=message, origin=origin)


def _origins(message: Message, *, is_down: bool) -> Iterator[str]:
    """Why a case is opened, what says most first. `is_down`: the embedding model did not answer a moment ago."""
    if message.state == Message.State.STOPPED and is_stop_complaint(message):
        yield BadCase.Origin.STOP
    if (again := _reworded(message, is_down=is_down)) is not None:
        user = message.conversation.user
        Signal.objects.get_or_create(
            message=message,
            user=user,
            kind=Signal.Kind.REWORD,
            defaults={"value": str(again.pk), "features": answer_features(message)},
        )
        yield BadCase.Origin.REWORD
    if sum(sentence.get("support") == "unsupported" for sentence in message.sentences) >= LEAST_UNSUPPORTED:
        yield BadCase.Origin.UNSUPPORTED
    if message.status in ("refused", "search_results") and _is_title_near(message):
        yield BadCase.Origin.REFUSAL


def _reworded(message: Message, *, is_down: bool) -> Message | None:
    """The next question of the same person, if it asks the same in other words within two minutes."""
    ended = message.finished or message.created
    conversation = message.conversation
    later = Message.objects.filter(
        conversation__user=conversation.user_id, created__gt=message.created, created__lte=ended + REWORDED_WITHIN
    )
    if conversation.channel != Conversation.Channel.WEB:  # programs ask similar questions one after the other
        later = later.filter(conversation=conversation)
    again = later.order_by("created").only("question").first()
    if again is None or is_repeated(message.question, again.question):
        return None
    if is_down:
        raise ModelUnavailableError
    first, other = model_registry.embedder().embed_queries([message.question, again.question])
    same = is_rewording(
        message.question, again.question, cosine=cosine(first, other), tokenizer=model_registry.tokenizer()
    )
    return again if same else None


def _is_title_near(message: Message) -> bool:
    """Whether the question names the title of a document that the asker may ask about."""
    tokenizer = model_registry.tokenizer()
    question_words = keywords(message.question, tokenizer)
    parts = sorted((word for word in question_words if len(word) > 1), key=len, reverse=True)[:6]
    if not parts:
        return False
    titles = titles_suggested(scope=scope_for(message.conversation.user), parts=parts, limit=TITLES)
    return any(_is_named(keywords(title, tokenizer), set(question_words)) for title in titles)


def _is_named(title: list[str], question_words: set[str]) -> bool:
    common = [word for word in title if word in question_words]
    return len(common) / max(len(title), 1) >= NEAR_TITLE and (len(common) > 1 or len("".join(common)) > 3)
