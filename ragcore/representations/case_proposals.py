"""Questions with their expected answers, made of a passage: candidates for golden cases that people decide on.

By rules from what a text defines, from rows of its tables and from headings that ask something; by a language model
where there is one. Every expectation is a quotation of the passage, so that a reviewer can check it at a glance.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragcore.extractive.sentences import plain_sentences
from ragcore.llm.client import LlmClient
from ragcore.ports import Tokenizer
from ragcore.representations.questions import definitions, heading_question, select_questions
from ragcore.text.matching import keywords
from ragcore.text.normalise import squeeze
from ragcore.text.question_pairs import question_fault
from ragcore.text.scripts import CJK, language_of
from ragcore.text.tokenise import stop_words

Origin = Literal["definition", "table", "heading", "model"]
PROMPT = "golden_case"
MAX_TOKENS = 700
LONGEST_CELL = 60  # characters
LONGEST_SENTENCE = 300
SHORTEST_SENTENCE = 12
MOST_OF_TABLE = 2  # cases of one passage
MOST_WORDS = 6  # of a short intent
_LANGUAGES = {"zh": "Chinese", "en": "English"}
_CELL_QUESTION = {"zh": "{key}的{head}是什么？", "en": "What is the {head} of {key}?"}
_SEPARATOR = re.compile(r"[ \t]*+(?:\|[ \t]*+)?:?-{2}")
_NAME = re.compile(rf"[A-Za-z{CJK}]{{2}}")
_LATIN = re.compile(r"[A-Za-z]{5,}")
_WORD = re.compile(r"\w[\w/-]*")
_HAN = re.compile(rf"[{CJK}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedQuestion:
    """A question, what a right answer contains (one of `answers`, all of `key_points`), and where that stands."""

    question: str
    quotation: str  # of the passage
    origin: Origin
    answers: tuple[str, ...] = ()
    key_points: tuple[str, ...] = ()


def propose_by_rules(text: str, heading_path: Sequence[str], tokenizer: Tokenizer) -> list[ProposedQuestion]:
    """What rules make of a passage (Markdown), each question once; none where nothing is sure enough.

    Chinese and English only.
    """
    language = language_of(text)
    if language not in _CELL_QUESTION:
        return []
    proposals = [*_defined(text), *_table_rows(text, language), *_headed(text, heading_path)]
    selected = set(
        select_questions([proposal.question for proposal in proposals], "\n".join([*heading_path, text]), tokenizer)
    )
    by_question = {
        proposal.question: proposal
        for proposal in reversed(proposals)
        if proposal.question in selected and not question_fault(proposal.question)
    }
    return list(by_question.values())[::-1]


def _defined(text: str) -> Iterator[ProposedQuestion]:
    for question, sentence in definitions(text):
        if SHORTEST_SENTENCE <= len(sentence) <= LONGEST_SENTENCE:
            yield ProposedQuestion(question=question, quotation=sentence, origin="definition", key_points=(sentence,))


def _headed(text: str, heading_path: Sequence[str]) -> Iterator[ProposedQuestion]:
    """A heading that asks something or names a procedure; its answer is whatever stands below it."""
    question = heading_question(heading_path[-1]) if heading_path else ""
    first = next(
        (sentence for sentence in plain_sentences(text) if SHORTEST_SENTENCE <= len(sentence) <= LONGEST_SENTENCE), ""
    )
    if question and first:
        yield ProposedQuestion(question=question, quotation=first, origin="heading")


def _table_rows(text: str, language: str) -> Iterator[ProposedQuestion]:
    """Cells of Markdown tables whose row and column have names."""
    count = 0
    for head, rows in _tables(text):
        for row in rows:
            if count == MOST_OF_TABLE:
                return
            for at in range(1, min(len(head), len(row))):
                if not (_is_name(row[0]) and _is_name(head[at]) and _is_value(row[at])):
                    continue
                yield ProposedQuestion(
                    question=_CELL_QUESTION[language].format(key=row[0], head=_within(head[at])),
                    quotation=" | ".join(row),
                    origin="table",
                    answers=(row[at],),
                )
                count += 1
                break


def _tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    lines = text.splitlines()
    for at, line in enumerate(lines[:-1]):
        if "|" in line and _SEPARATOR.match(lines[at + 1]) and "|" in lines[at + 1]:
            rows = []
            for row in lines[at + 2 :]:
                if "|" not in row:
                    break
                rows.append(_cells(row))
            yield _cells(line), rows


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("*`").strip() for cell in line.strip().strip("|").split("|")]


def _within(head: str) -> str:
    """A column's name in the middle of a sentence: "start value" of "Start value"; "RTT" stays."""
    return head[0].lower() + head[1:] if head[1:2].islower() else head


def _is_name(cell: str) -> bool:
    return len(cell) <= LONGEST_CELL and _NAME.search(cell) is not None


def _is_value(cell: str) -> bool:
    return 0 < len(cell) <= LONGEST_CELL and any(char.isalnum() for char in cell)


# ── by a model ──────────────────────────────────────────────────────────────────────────────────


class WrittenCase(BaseModel):
    """What the model has to write; anything else is thrown away."""

    model_config = ConfigDict(extra="ignore")

    question: str = Field(min_length=4, max_length=300)
    answer: str = Field(min_length=1, max_length=300)
    key_points: list[str] = Field(default_factory=list, max_length=6)
    quotation: str = Field(min_length=4, max_length=600)


async def propose_by_model(
    text: str, heading_path: Sequence[str], tokenizer: Tokenizer, llm: LlmClient
) -> list[ProposedQuestion]:
    """One case that the model writes of a passage, if it passes: the quotation stands in the passage word for word, the
    question has its words and means something without it. Never raises for the model.
    """
    proposal = await llm.json(
        PROMPT,
        WrittenCase,
        max_tokens=MAX_TOKENS,
        language=_LANGUAGES.get(language_of(text), "the language of the text"),
        heading=" > ".join(heading_path) or "-",
        text=text,
    )
    if proposal is None or squeeze(proposal.quotation) not in squeeze(text):
        return []
    question = " ".join(proposal.question.split())
    selected = select_questions([question], "\n".join([*heading_path, text]), tokenizer)
    if not selected or question_fault(question):
        return []
    points = tuple(point.strip() for point in proposal.key_points if point.strip())
    # a short answer that stands in the passage is looked for in answers; any other one is a key point
    is_short = squeeze(proposal.answer) in squeeze(text) and len(proposal.answer) <= LONGEST_CELL
    return [
        ProposedQuestion(
            question=question,
            quotation=proposal.quotation.strip(),
            origin="model",
            answers=(proposal.answer.strip(),) if is_short else (),
            key_points=points or (() if is_short else (proposal.answer.strip(),)),
        )
    ]


# ── other phrasings ─────────────────────────────────────────────────────────────────────────────


def short_intent(question: str, tokenizer: Tokenizer) -> str:
    """The question as people type it into a search field: its key words; "" where that would be the same."""
    is_spaced = language_of(question) != "zh"
    words = _WORD.findall(question) if is_spaced else keywords(question, tokenizer)
    words = [word for word in dict.fromkeys(words) if word.lower() not in stop_words()][:MOST_WORDS]
    short = " ".join(words)
    return short if len(words) > 1 and short.casefold() != question.casefold() else ""


def with_typo(question: str) -> str:
    """The question with one slip of the hand, always the same one: neighbouring letters of its longest word changed
    places, or a Han character is missing; "" where there is nothing to slip on.
    """
    chance = random.Random(question)  # noqa: S311 - no secret
    if latin := sorted(_LATIN.finditer(question), key=lambda match: -len(match.group())):
        word = latin[0]
        places = [
            at for at in range(word.start() + 1, word.end() - 2) if question[at].lower() != question[at + 1].lower()
        ]
        if places:
            at = chance.choice(places)
            return question[:at] + question[at + 1] + question[at] + question[at + 2 :]
    han = [match.start() for match in _HAN.finditer(question)][:-2]
    if len(han) < 4:
        return ""
    at = chance.choice(han[1:])
    return question[:at] + question[at + 1 :]
