"""The question without its conversation, its day and its asker, by rules (D2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords
from ragcore.text.scripts import language_of
from ragcore.types.answering import Question
from ragcore.understanding import chinese, english
from ragcore.understanding.asker import personal
from ragcore.understanding.chinese_mentions import question_mentions as chinese_question_mentions
from ragcore.understanding.dates import dated
from ragcore.understanding.english_mentions import names
from ragcore.understanding.english_mentions import question_mentions as english_question_mentions
from ragcore.understanding.mentions import Attention, Mention
from ragcore.understanding.resolved import Resolved

Dependence = Literal["history", "date", "profile"]

TURNS = 8  # earlier questions that are read; what came before has faded
MOST_TERMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """A question that can be searched with as it stands."""

    text: str
    changed: bool
    signs: tuple[str, ...] = ()  # the words or gaps that showed that it depends on something
    terms: tuple[str, ...] = ()  # its own keywords, then what the conversation is about, by relevance
    depends_on: frozenset[Dependence] = frozenset()  # whether or not it could be resolved


def standalone_by_rules(question: Question, tokenizer: Tokenizer) -> Standalone:
    """What is left open by the words of a question is filled in from its conversation, its day and its asker.

    A question without a sign of dependence stays as it is. "history" is in `depends_on` only with earlier turns.
    """
    turns = [(turn.question, turn.answer) for turn in question.history[-TURNS:]]
    whose = personal(question.text, question.profile)
    when = dated(whose.text, question.today)
    found = _resolved(when.text, turns, tokenizer) if turns else Resolved(when.text)
    depends: dict[Dependence, bool] = {
        "history": bool(found.signs),
        "date": bool(when.signs),
        "profile": bool(whose.signs),
    }
    return Standalone(
        text=found.text,
        changed=found.text != question.text,
        signs=(*whose.signs, *when.signs, *found.signs),
        terms=_terms(found, turns, tokenizer),
        depends_on=frozenset(name for name, yes in depends.items() if yes),
    )


def topics(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> list[str]:
    """What the conversation is about, by attention."""
    return [mention.text for mention in _remembered(turns, tokenizer).ranked()]


def names_of(text: str, tokenizer: Tokenizer) -> list[str]:
    """Names in a question: capitalised or with digits in English, titles, persons and Latin words in Chinese."""
    if language_of(text) != "zh":
        return [mention.text for mention in names(text)]
    found = _mentions(text, tokenizer)
    return [
        m.text for m in found if m.is_name or m.kind == "person" or any(c.isascii() and c.isalnum() for c in m.text)
    ]


def _resolved(text: str, turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Resolved:
    language = language_of(text)
    if language == "zh" or (language == "other" and language_of(turns[-1][0]) == "zh"):
        return chinese.resolved(text, turns, tokenizer)
    return english.resolved(text, turns)


def _remembered(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Attention:
    if turns and language_of(turns[-1][0]) == "zh":
        return chinese.remembered(turns, tokenizer)[0]
    return english.remembered(turns)[0]


def _terms(found: Resolved, turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> tuple[str, ...]:
    own = [mention.text for mention in _mentions(found.text, tokenizer)] or keywords(found.text, tokenizer)
    context = topics(turns, tokenizer) if found.signs and turns else []
    return tuple({term.lower(): term for term in reversed([*own, *context])}.values())[::-1][:MOST_TERMS]


def _mentions(text: str, tokenizer: Tokenizer) -> list[Mention]:
    if language_of(text) == "zh":
        return chinese_question_mentions(text, tokenizer)
    return english_question_mentions(text)
