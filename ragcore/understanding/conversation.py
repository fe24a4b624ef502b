"""Earlier turns for a prompt, and as context of a search."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.answering.types import Question, Turn
from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords
from ragcore.understanding.standalone import topics

TURNS = 4  # that a model is shown
ANSWER_CHARACTERS = 500  # of each of their answers
CONTEXT_TURNS = 6  # earlier questions whose words are context of a search
MOST_NAMED = 3  # things that the conversation is about
MOST_CONTEXT = 12  # words of earlier questions
# Of BM25 alone on MTRAG (198 questions, 791 passages) nDCG@10 was .855 for the standalone question, .853 with twice as
# many words and the question two times, .878 with three times, .888 with these numbers.
OWN_TIMES = 4  # that the question stands in its form with context: its words count so much more


def rendered(history: Sequence[Turn]) -> str:
    """The latest turns as lines, oldest first; "-" without any."""
    lines = []
    for turn in history[-TURNS:]:
        lines.append(f"User: {turn.question}")
        if turn.answer:
            lines.append(f"Assistant: {turn.answer[:ANSWER_CHARACTERS]}")
    return "\n".join(lines) or "-"


def with_context(query: str, question: Question, tokenizer: Tokenizer) -> str:
    """The question, its own words first and foremost, with what the conversation is about; "" where that adds nothing.

    Meant for searching only: words of the latest questions come first, then names of the topic; each once.
    """
    own = {word.lower() for word in keywords(query, tokenizer)}
    words: dict[str, None] = {}
    for turn in reversed(question.history[-CONTEXT_TURNS:]):
        words |= dict.fromkeys(word for word in keywords(turn.question, tokenizer) if word not in own)
    pairs = [(turn.question, turn.answer) for turn in question.history]
    named = [text for text in topics(pairs, tokenizer)[:MOST_NAMED] if text.lower() not in query.lower()]
    context = [*named, *list(words)[:MOST_CONTEXT]]
    return " ".join([query] * OWN_TIMES + context) if context else ""
