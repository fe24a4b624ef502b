"""One step of a procedure by its number: "what is step 5 of replacing the filter", 第三步之后做什么.

The procedure is the section of numbered steps whose heading and title say most of what else the question says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from ragcore.extractive.row_question import plain
from ragcore.extractive.sections import statement_units
from ragcore.extractive.sentences import Statement
from ragcore.extractive.steps import NUMBERED_CHARACTERS, is_numbered
from ragcore.ports import Tokenizer
from ragcore.text.across_words import covered_across
from ragcore.text.markdown import plain_text
from ragcore.text.scripts import beginning_language, is_across, language_of
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import cue_pattern, read_sections
from ragcore.types import Source

LEAST_STEPS = 2
LEAST_SAID = 0.5  # share of what a question says besides the step that heading, title and steps have
HEADING = 2.0  # how much more that share in heading and title counts than in the steps
MOST_BETWEEN = 8  # characters between a step and "after" or "before"
_ENGLISH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ENGLISH_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_HAN = "一二三四五六七八九十"
_NUMBERED = re.compile(
    rf"\bstep (?:no\.? ?|number |#)?(?P<digits>\d{{1,2}}|{'|'.join(_ENGLISH_NUMBERS)})\b"
    rf"|\b(?P<ordinal>{'|'.join(_ENGLISH)}|\d{{1,2}}(?:st|nd|rd|th)) step\b"
    rf"|第(?P<han>\d{{1,2}}|[{_HAN}]{{1,3}})(?:个)?步(?:骤)?|步骤(?P<label>\d{{1,2}}|[{_HAN}]{{1,3}})",
)
_IN_SOURCE = re.compile(r"^[ \t]{0,3}[(（]?(\d{1,3})[.)、．）]\s*(?=[^\s\d])(.+)$", re.MULTILINE)
_OWN_NUMBER = re.compile(
    rf"step\s+(\d{{1,2}})|第(\d{{1,2}}|[{_HAN}]{{1,3}})步|步[骤驟]\s*(\d{{1,2}})|(\d{{1,2}})[.)、．]"
)
_EMPTY = frozenset({"step", "steps", "步", "步骤", "做", "干", "操作", "go", "come", "happen", "do", "does"})
Place = Literal["number", "last", "count"]


@dataclass(frozen=True, slots=True)
class StepWish:
    """Which step of a procedure a question wants."""

    place: Place
    number: int = 0  # of the step; counted from the end where `place` is "last": 0 the last one
    subject: str = ""  # the question without the words for the step


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """A step of the procedure that a question is about, or that it has no such step."""

    title: str  # of the procedure
    total: int  # steps that it has
    number: int = 0  # of the step; 0: how many there are is asked for
    steps: tuple[tuple[Statement, ...], ...] = ()  # the sentences of the step; of all where they are counted
    is_beyond: bool = False  # the procedure has no step with this number


def step_wish(question: str) -> StepWish | None:
    """The step that a question asks for; None where it asks for none by its place."""
    text = plain(question)
    sections = _words()
    if match := sections["count"].search(text):
        return StepWish("count", subject=_without(text, match))
    for name, back in (("last but one", 1), ("last", 0)):
        if match := sections[name].search(text):
            return StepWish("last", back, _without(text, match))
    matches = list(_NUMBERED.finditer(text))
    if len(matches) != 1:
        return None
    match = matches[0]
    number = _number(next(part for part in match.groups() if part))
    before, behind = text[: match.start()], text[match.end() :]
    if _stands(sections["behind"], before, behind, is_chinese=_is_han(match[0])):
        number += 1
    elif _stands(sections["before"], before, behind, is_chinese=_is_han(match[0])):
        number -= 1
    subject = _without(text, match)
    for name in ("behind", "before"):
        subject = sections[name].sub(" ", subject)
    return StepWish("number", number, subject) if number >= 0 else None


def find_step(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> StepAnswer | None:
    """The step that is asked for, of the procedure that the question is about; None where it asks for none.

    Also None where no numbered procedure is about it.
    """
    wish = step_wish(question)
    steps = _procedure(question, wish.subject, statements, tokenizer) if wish is not None else []
    return _answer(wish, steps) if wish is not None and steps else None


def source_of_procedure(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> Source | None:
    """A source with the procedure of which a question asks for a step; None where it asks for none, or none is there.

    Other passages of its document may hold more of its steps.
    """
    wish = step_wish(question)
    steps = _procedure(question, wish.subject, statements, tokenizer) if wish is not None else []
    return steps[0][0].source if steps else None


def _procedure(
    question: str, subject: str, statements: Sequence[Statement], tokenizer: Tokenizer
) -> Sequence[tuple[Statement, ...]]:
    """The steps of the procedure that says most of the subject, in the question's language if there is one; or []."""
    procedures = [steps for steps in _procedures(statements) if len(steps) >= LEAST_STEPS]
    rated = [(_said(subject, steps, tokenizer), steps) for steps in procedures]
    rated = [(share, steps) for share, steps in rated if share >= LEAST_SAID]
    rated = [(share, steps) for share, steps in rated if not _is_foreign(question, steps)] or rated
    return max(rated, key=lambda pair: pair[0])[1] if rated else []


def without_number(text: str) -> str:
    """The text of a step without the number that it is written with: "Step 5: Close the valve"."""
    match = _OWN_NUMBER.match(text.lower())
    return text[match.end() :].lstrip(" \t.:：、,，)）") if match else text


def _answer(wish: StepWish, steps: Sequence[tuple[Statement, ...]]) -> StepAnswer | None:
    first = steps[0][0]
    title, total = first.heading or first.source.passage.title, len(steps)
    if wish.place == "count":
        return StepAnswer(title, total, steps=tuple(steps))
    number = wish.number if wish.place == "number" else total - wish.number
    by_number = {_own_number(step[0]) or at: step for at, step in enumerate(steps, start=1)}
    if number not in by_number:
        is_whole = sorted(by_number) == list(range(1, total + 1))
        return StepAnswer(title, total, number, is_beyond=True) if is_whole else None
    return StepAnswer(title, total, number, steps=(by_number[number],))


def _procedures(statements: Sequence[Statement]) -> list[list[tuple[Statement, ...]]]:
    """The numbered steps of each section, those of all its passages; a list that begins anew is another one."""
    sections: dict[tuple[int, str], list[Statement]] = {}
    headings: dict[int, str] = {}  # version -> the last heading: passages behind it may go on with its section
    for statement in sorted(statements, key=lambda s: (s.source.passage.ordinal, s.position)):
        passage = statement.source.passage
        nearest = statement.heading or (passage.heading_path[-1] if passage.heading_path else "")
        heading = headings[passage.version] = nearest or headings.get(passage.version, "")
        sections.setdefault((passage.version, heading), []).append(statement)
    procedures: list[list[tuple[Statement, ...]]] = []
    for members in sections.values():
        procedures.append([])
        texts: set[str] = set()
        for unit in statement_units([s for s in members if not s.is_row and not s.is_code]):
            if not is_numbered(unit[0]) or unit[0].text in texts:  # passages may overlap
                continue
            if _own_number(unit[0]) == 1 and procedures[-1]:
                procedures.append([])
            texts.add(unit[0].text)
            procedures[-1].append(tuple(unit))
    return procedures


def _is_foreign(question: str, steps: Sequence[tuple[Statement, ...]]) -> bool:
    return is_across(language_of(question), beginning_language(steps[0][0].text))


def _said(subject: str, steps: Sequence[tuple[Statement, ...]], tokenizer: Tokenizer) -> float:
    """How much of what a question says besides the step a procedure says, 0 to 1, names counting more than steps."""
    first = steps[0][0]
    names = " ".join((first.heading, first.source.passage.title, *first.source.passage.heading_path, first.announced))
    text = " ".join((names, *(sentence.text for step in steps for sentence in step)))
    if is_across(language_of(subject), beginning_language(text)):
        by_names, by_text = (float(share) for share in covered_across(subject, [names, text], tokenizer))
    else:
        words = [w for w in dict.fromkeys(tokenizer.words(subject)) if w not in stop_words() | _EMPTY]
        words = [w for w in words if any(map(str.isalnum, w))]
        if not words:
            return 0.0
        by_names, by_text = (_share(words, part, tokenizer) for part in (names, text))
    return (HEADING * by_names + by_text) / (HEADING + 1)


def _share(words: Sequence[str], text: str, tokenizer: Tokenizer) -> float:
    """The share of the words that a text has; a Chinese one by its characters, 换 of 更换."""
    text_words, lower = set(tokenizer.words(text)), text.lower()
    return sum(w in text_words or (not w.isascii() and w in lower) for w in words) / len(words)


def _own_number(step: Statement) -> int:
    """The number that a step is written with; 0 without one."""
    if match := _OWN_NUMBER.match(step.text.lower()):
        return _number(next(part for part in match.groups() if part))
    text = step.text.removeprefix(step.announced).strip()
    return _numbers_in(step.source.text).get(text[:NUMBERED_CHARACTERS], 0)


@lru_cache(maxsize=256)
def _numbers_in(text: str) -> dict[str, int]:
    """How the numbered points of a text begin -> their numbers; 0 for beginnings that stand twice."""
    numbers: dict[str, int] = {}
    for match in _IN_SOURCE.finditer(text):
        beginning = plain_text(match[2])[:NUMBERED_CHARACTERS]
        numbers[beginning] = 0 if beginning in numbers else int(match[1])
    return numbers


def _stands(words: re.Pattern[str], before: str, behind: str, *, is_chinese: bool) -> bool:
    """Whether one of the words stands at a step: Chinese ones behind it, English ones before."""
    if is_chinese:
        match = words.search(behind)
        return match is not None and match.start() <= MOST_BETWEEN // 2
    return any(len(before) - match.end() <= MOST_BETWEEN for match in words.finditer(before))


def _is_han(text: str) -> bool:
    return not text.isascii()


def _without(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


def _number(word: str) -> int:
    """The number that a word tells: "5", "five", "fifth", "5th", 五, 十二."""
    if digits := re.match(r"\d+", word):
        return int(digits[0])
    for words in (_ENGLISH, _ENGLISH_NUMBERS):
        if word in words:
            return words.index(word) + 1
    tens, ten, ones = word.rpartition("十")
    if not ten:
        return _HAN.index(word[0]) + 1
    return (_HAN.index(tens[0]) + 1 if tens else 1) * 10 + (_HAN.index(ones[0]) + 1 if ones else 0)


@cache
def _words() -> dict[str, re.Pattern[str]]:
    """Section of step_words.txt -> a pattern of its words."""
    return {name: cue_pattern(words) for name, words in read_sections("ragcore.extractive", "step_words.txt").items()}
