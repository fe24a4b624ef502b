"""Summaries of earlier turns that no longer fit the prompt, made in the background.

A language model writes it in the background; without one the questions stand with the first sentence of their answers.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Sequence
from datetime import datetime

from chat.branches import branches_of
from chat.conversations.memory import history_window
from chat.models import Conversation, Message
from chat.queue import QUEUES, SUMMARISE
from knowledge import model_registry
from knowledge.model_counters import writing_counter
from knowledge.model_setup import setup_refresh
from knowledge.queue import enqueue_on_commit
from ragcore.llm.client import LlmClient
from ragcore.text.normalise import visible
from ragcore.text.sentences import split_sentences
from ragcore.types.answering import Turn

MOST_TURNS = 50  # that one summary takes in at a time
MOST_LINES = 24  # of a summary without a model: the latest
LINE_CHARACTERS = 160
SUMMARY_CHARACTERS = 4000
MODEL_SECONDS = 60.0  # to its first token
_MARKS = re.compile(r"(?<!\s)\s*\[\d{1,3}\]|[*_`#>|~]+")
_OVER = (Message.State.DONE, Message.State.STOPPED)


def summary_request(*, message: Message, budget_tokens: int) -> None:
    """Have the conversation summarised if its turns may no longer fit the budget; a task counts exactly.

    A text has fewer tokens than characters.
    """
    turns = _turns(message.conversation, message.pk)
    if sum(len(turn.question) + len(turn.answer) for _created, turn in turns) > budget_tokens:
        enqueue_on_commit(
            SUMMARISE,
            queue=QUEUES[SUMMARISE],
            conversation_id=str(message.conversation_id),
            budget_tokens=budget_tokens,
        )


def summary_refresh(*, conversation_id: uuid.UUID, budget_tokens: int) -> None:
    """Take the turns that no longer fit into the summary. Safe to run twice: each turn is taken in once."""
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    turns = _turns(conversation, conversation.leaf_id) if conversation else []
    unsummarised = _left_out(turns, budget_tokens)
    if conversation is None or not unsummarised:
        return
    until = unsummarised[-1][0]
    text = _summary(conversation.summary, [turn for _created, turn in unsummarised])
    Conversation.objects.filter(  # unless another task was first, or another branch is shown
        pk=conversation_id, summarised_until=conversation.summarised_until, leaf=conversation.leaf_id
    ).update(summary=text[:SUMMARY_CHARACTERS], summarised_until=until)


def _turns(conversation: Conversation, leaf: uuid.UUID | None) -> list[tuple[datetime, Turn]]:
    """The turns of a branch behind those that stand in the summary, oldest first."""
    branches = branches_of(conversation)
    path = branches.path_to(leaf) if leaf else branches.shown
    rows = Message.objects.filter(pk__in=path, state__in=_OVER)
    if conversation.summarised_until:
        rows = rows.filter(created__gt=conversation.summarised_until)
    values = rows.order_by("-created").values_list("created", "question", "answer")[:MOST_TURNS]
    return [(created, Turn(question=question, answer=answer)) for created, question, answer in reversed(values)]


def _left_out(turns: Sequence[tuple[datetime, Turn]], budget_tokens: int) -> list[tuple[datetime, Turn]]:
    """The oldest turns, for which a prompt of this budget has no room."""
    every = [turn for _created, turn in turns]
    window = history_window(every, fixed="", counter=writing_counter(), budget_tokens=budget_tokens)
    return list(turns[: len(turns) - len(window)])


def _summary(before: str, turns: Sequence[Turn]) -> str:
    setup_refresh()
    if (model := model_registry.light_model()) is not None:
        turn_texts = [f"用户 / user: {turn.question}\nAI: {_plain(turn.answer)}" for turn in turns]
        conversation = "\n\n".join([before, *turn_texts] if before else turn_texts)
        client = LlmClient(model, seconds=MODEL_SECONDS, is_patient=True)
        summary = asyncio.run(client.text("conversation_summary", conversation=conversation))
        if summary and summary.strip():
            return summary.strip()
    lines = [line for line in before.splitlines() if line]
    lines += [_line(turn) for turn in turns]
    return "\n".join(lines[-MOST_LINES:])


def _line(turn: Turn) -> str:
    """A question and the first sentence of its answer."""
    sentences = [text for sentence in split_sentences(_plain(turn.answer)) if (text := str(sentence).strip())]
    first = next((text for text in sentences if len(text) > 12), sentences[0] if sentences else "")
    question = " ".join(visible(turn.question).split())
    return f"- {_cut(question)}" + (f" → {_cut(first)}" if first else "")


def _cut(text: str) -> str:
    return text if len(text) <= LINE_CHARACTERS else f"{text[: LINE_CHARACTERS - 1]}…"


def _plain(answer: str) -> str:
    """The answer without markers and marks, as one line per paragraph."""
    return "\n".join(" ".join(line.split()) for line in _MARKS.sub("", visible(answer)).splitlines() if line.strip())
