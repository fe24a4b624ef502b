"""Earlier turns for a prompt, and as context of a search."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords
from ragcore.types.answering import Question, Turn
from ragcore.understanding.standalone import names_of, topics

TURNS = 4  # that a model is shown
ANSWER_CHARACTERS = 500  # of each of their answers
# Of the product's search on MTRAG (198 questions, 791 passages) nDCG@10 was .924 with these numbers and .921 with the
# words of six turns, twelve of them, and the question four times; .942 and .936 where the forms' scores are averaged.
CONTEXT_TURNS = 2  # earlier questions whose words are context of a search; older ones have faded
MOST_NAMED = 2  # things that the conversation is about
MOST_CONTEXT = 6  # words of earlier questions, those of the latest one first
OWN_TIMES = 3  # that the question stands in its form with context: its words count so much more
FEW_WORDS = 3  # keywords from which a question can have a subject of its own


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

    Meant for searching only: names of the topic come first, then words of the latest questions, the last one before
    the one before it; each once. "" also where the question has turned to another subject.
    """
    if subject_changed(query, question, tokenizer):
        return ""
    own = {word.lower() for word in keywords(query, tokenizer)}
    words: dict[str, None] = {}
    for turn in reversed(question.history[-CONTEXT_TURNS:]):
        words |= dict.fromkeys(word for word in keywords(turn.question, tokenizer) if word not in own)
    pairs = [(turn.question, turn.answer) for turn in question.history]
    named = [text for text in topics(pairs, tokenizer)[:MOST_NAMED] if text.lower() not in query.lower()]
    context = [*named, *list(words)[:MOST_CONTEXT]]
    return " ".join([query] * OWN_TIMES + context) if context else ""


def subject_changed(query: str, question: Question, tokenizer: Tokenizer) -> bool:
    """Whether a question names something and has no keyword in common with the turns before it.

    Without a name it may well be about what was spoken of in other words, and a question that was rewritten is.
    """
    own = set(keywords(query, tokenizer))
    if query != question.text or len(own) < FEW_WORDS or not names_of(query, tokenizer):
        return False
    said = " ".join(f"{turn.question} {turn.answer}" for turn in question.history[-CONTEXT_TURNS:])
    return not own & set(tokenizer.words(said))
