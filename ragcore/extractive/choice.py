"""Which sentences an extractive answer is made of: as many as the question needs, within a budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from ragcore.extractive.sentence_model import SentenceFeatures, chances_of, refers_back
from ragcore.extractive.sentences import Statement, is_mail_head_text, is_question
from ragcore.ports import FloatArray
from ragcore.text.codes import codes_in
from ragcore.text.matching import jaccard
from ragcore.text.question_type import wanted
from ragcore.text.scripts import columns

TITLE_COLUMNS = 40
LEANING_COLUMNS = 30  # of a sentence that says little alone
PROSE = 4  # sentences of a paragraph of continuous text
TABLE_AWAY = 2  # sentences between the one that announces a table and the table
MAX_ROWS = 9
TABLE_COLUMNS = 1000
_FULL_STOP = re.compile(r"[。！.!;；…][」』”\")）]*\Z")
_DOCUMENT = re.compile(
    r"本文|本书|本書|本指南|本手册|本手冊|本标准|本標準|本规范|本規範|本报告|本報告|[文][档檔件章]|[这這此该該][本份篇部]"
    r"|\b(?:this|the) (?:document|guide|specification|overview|paper|article|book|manual|report|standard|chapter)\b",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"本(?:文|书|書|章|节|節|指南|手册|手冊|标准|標準|规范|規範|报告|報告|文件|文档|文檔)"
    r"(?:主要|将|將|用.{1,12}形式|以.{1,12}形式)?"
    r"(?:介绍|介紹|说明|說明|描述|适用于|適用於|规定|規定|阐述|闡述|解释|解釋|讨论|討論|概述)"
    r"|(?:this|the present) (?:document|guide|specification|overview|paper|article|book|manual|report|standard|chapter"
    r"|section|clause) (?:says|describes|explains|gives|introduces|presents|specifies|covers|discusses|provides"
    r"|outlines|deals|contains|defines)\b",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"下表|下列|如下|以下|[:：]\Z|\b(?:following|below)\b|\btable\s+(?:\d|shows|gives|lists)", re.IGNORECASE
)
_THAT = re.compile(
    r"\b(?:that|this) (?:reason|case|way|point)\b|\b(?:that|this) (?:is|means)\b|因此|为此|為此", re.IGNORECASE
)
_FIGURE = re.compile(r"\d")
_FIELD = re.compile(r"(?:[^:：]{1,60}[:：]\s*){0,2}?([^:：]{1,40})[:：]\s*\S[^:：]*\Z")
_ASKED_THING = re.compile(r"\A(.{3,30}?)[的是有在由]{0,2}(?:哪|多少|多久|什么|什麼|谁|誰|何时|何時|几|幾)")
_IS_SAID = re.compile(r"\s*(?:(?:[是为為在由有:：]|[位设設放存][于於在放])\s*\S|\d)")
_LONG_WORD = re.compile(r"[a-z]{4,}")
LEAST_COMMON = 2  # long English words of a question that a short line with a figure has
_ASKED_AMOUNT = re.compile(r"(?:几|幾|多少)\s?[个個]?([\u4e00-\u9fff])")
_HAN_NUMBER = "[\\d一二三四五六七八九十百千两兩半]"
THING_CHARACTERS = 2  # of a Chinese question, which begins with what it is about
STEM_LETTERS = 5  # of a word in which its forms agree
BESIDE_DEFINITION = 1.9  # log-odds below the best sentence from which another one is left out beside a definition
CLAUSE_COLUMNS = 240  # of what follows the best sentence in its paragraph, with it
OTHER_THING = 15.0  # log-odds below the best sentence, which only sentences about another code or name are
FAR = 10.0  # log-odds below the best one: told of another thing, see `named`
WHOLE = 0.999  # coverage
NEARLY_BEST = 1.4  # log-odds below the best sentence
REDUNDANT = 0.7  # Jaccard of the terms from which two sentences say the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long an answer gets. Columns: a CJK character takes two."""

    most_columns: int = 900  # the whole answer, unless its first sentence alone is longer
    most_sentences: int = 5
    least_odds: float = 6.0  # log-odds below the best sentence from which another one is left out

    def more(self, *, sentences: int, columns: int) -> Limits:
        """Room for more."""
        return replace(self, most_columns=self.most_columns + columns, most_sentences=self.most_sentences + sentences)


@dataclass(frozen=True, slots=True)
class SentenceChoice:
    """What an answer is made of: what stands with the best sentence, and what is said elsewhere."""

    best: Statement
    core: tuple[Statement, ...]  # the best sentence with its neighbours, or with the rows of its table
    points: tuple[tuple[Statement, ...], ...]  # the others, each with its neighbours; the best one first


def choose_sentences(
    statements: Sequence[Statement], scores: FloatArray, limits: Limits, question: str = ""
) -> SentenceChoice:
    """The likeliest sentences, wherever they stand. `statements` holds at least one; `scores`: float32[n], log-odds.

    Several, since the best one by words and meaning answers an everyday question only in half of the cases, and one of
    the first five in three quarters. What a document says of itself ("This guide describes ...") is chosen only where
    the question asks for that.
    """
    ranked = [int(at) for at in np.argsort(-scores, kind="stable")]
    order = [at for at in ranked if is_of_use(statements[at], question)] or ranked[:1]
    chosen: list[Statement] = []
    used = 0
    for at in order:
        statement = statements[at]
        if len(chosen) == limits.most_sentences or scores[at] < scores[order[0]] - limits.least_odds:
            break
        length = columns(statement.text)
        is_new = all(jaccard(set(statement.terms), set(s.terms)) < REDUNDANT for s in chosen)
        if not chosen or (is_new and used + length <= limits.most_columns):
            chosen.append(statement)
            used += length
    far = float(scores.max()) - OTHER_THING
    same = [statement for statement, score in zip(statements, scores, strict=True) if score > far]
    core, *points = _together(_with_leads(chosen, same, question))
    return SentenceChoice(statements[order[0]], core, tuple(points))


def _with_leads(chosen: Sequence[Statement], statements: Sequence[Statement], question: str) -> list[Statement]:
    """The same sentences, and before each that leans on the one before it ("Rejected for that reason.") that one.

    `statements`: those that may stand there, none about another thing.
    """
    before = {(s.source.number, s.position + 1): s for s in statements}
    leads = {id(s): before.get((s.source.number, s.position)) for s in chosen if leans_back(s)}
    chosen_ids = {id(s) for s in chosen}
    added = [
        lead for lead in leads.values() if lead is not None and id(lead) not in chosen_ids and _may_lead(lead, question)
    ]
    return [*chosen, *added]


def _may_lead(lead: Statement, question: str) -> bool:
    return not (lead.is_row or lead.is_item) and is_of_use(lead, question)


def leans_back(statement: Statement) -> bool:
    """Whether a sentence says little without the one before it: it refers to that one, or is hardly a sentence."""
    if statement.is_row or statement.is_item:
        return False
    if statement.is_code:
        return not statement.announced
    is_short = columns(statement.text) < LEANING_COLUMNS and not codes_in(statement.text)
    return is_short or refers_back(statement.text) or _THAT.search(statement.text) is not None


def _together(chosen: Sequence[Statement]) -> list[tuple[Statement, ...]]:
    """Neighbours, and rows of one table, as groups in the order of their source; the group of the first one first."""
    groups: list[list[Statement]] = []
    for statement in sorted(chosen, key=lambda s: (s.source.number, s.position)):
        before = groups[-1][-1] if groups else None
        if before is not None and _belong_together(before, statement):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    rank = {id(statement): place for place, statement in enumerate(chosen)}
    return sorted(map(tuple, groups), key=lambda group: min(rank[id(s)] for s in group))


def _belong_together(statement: Statement, other: Statement) -> bool:
    if statement.source.number != other.source.number or statement.heading != other.heading:
        return False
    return statement.head == other.head if statement.head or other.head else statement.position + 1 == other.position


def with_rest_of_clause(
    choice: SentenceChoice, statements: Sequence[Statement], scores: FloatArray, question: str
) -> SentenceChoice:
    """The same choice with what follows the best sentence in its paragraph, where that is short.

    "8.1 Gifts are declined. What cannot be sent back is registered within three days." Left out where something in
    it is of no use, or told of another thing: `scores`, float32[n], are far lower there.
    """
    best = choice.best
    behind = [
        at
        for at, s in enumerate(statements)
        if s.source is best.source and s.paragraph == best.paragraph and s.position > best.position
    ]
    rest = list(takewhile(lambda at: statements[at].continues, behind))  # a line below says something of its own
    clause = [best, *(statements[at] for at in rest)]
    is_short = sum(columns(s.text) for s in clause) <= CLAUSE_COLUMNS and not any(s.is_row or s.is_item for s in clause)
    far = float(scores.max()) - FAR
    if not (rest and is_short and all(is_of_use(statements[at], question) and scores[at] > far for at in rest)):
        return choice
    core = sorted({id(s): s for s in (*choice.core, *clause)}.values(), key=lambda s: (s.source.number, s.position))
    points = tuple(group for group in choice.points if not any(s in clause for s in group))
    return SentenceChoice(best, tuple(core), points)


def stands_in_prose(best: Statement, statements: Sequence[Statement]) -> bool:
    """Whether a sentence stands in continuous text: a paragraph of several, without points and rows."""
    paragraph = [s for s in statements if s.source is best.source and s.paragraph == best.paragraph]
    return len(paragraph) >= PROSE and not any(s.is_row or s.is_item for s in paragraph)


def with_tables(core: Sequence[Statement], statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """The sentences, and behind each that announces a table ("the table below") the rows of that table."""
    expanded: list[Statement] = []
    for statement in core:
        rows = _rows_behind(statement, statements) if announces_table(statement) else []
        expanded += [s for s in (statement, *rows) if s not in expanded]
    return tuple(expanded)


def announces_table(statement: Statement) -> bool:
    """Whether a sentence sends the reader to the table behind it."""
    return not (statement.is_row or statement.is_code) and bool(_ANNOUNCES.search(statement.text))


def _rows_behind(statement: Statement, statements: Sequence[Statement]) -> list[Statement]:
    """The rows of the next table in the same section; none where it is too far away or too long."""
    same = [s for s in statements if s.source is statement.source and s.heading == statement.heading]
    behind = [s for s in same if s.position > statement.position]
    first = next((at for at, s in enumerate(behind[: TABLE_AWAY + 1]) if s.head), None)
    if first is None:
        return []
    rows = list(takewhile(lambda s: s.head == behind[first].head, behind[first:]))
    fits = len(rows) <= MAX_ROWS and sum(columns(s.text) for s in rows) <= TABLE_COLUMNS
    return rows if fits else []


def is_mail_head(statement: Statement) -> bool:
    """Whether it is a line of the head of a message, which its citation tells."""
    return is_mail_head_text(statement.text)


def is_of_use(statement: Statement, question: str) -> bool:
    """Whether a sentence may stand in an answer: no filler, and what a document says of itself only where it is asked.

    Neither is the head of a message. A filler is a question, or a short piece without a full stop such as a title;
    "Occupation: clerk" is none where the question asks for an occupation, nor is 停车位在东门 where it asks for 停车位.
    """
    is_about = _DOCUMENT.search(question) is not None
    if is_mail_head(statement):
        return False
    is_filler = _is_filler(statement) and not (
        _is_asked_field(statement.text, question.lower()) or _says_what_is_asked(statement.text, question)
    )
    return not is_filler and (is_about or not _INTRODUCES.match(statement.text))


def _is_asked_field(text: str, question: str) -> bool:
    """Whether a text is a field and its value that a question, in lower case, asks for.

    The question has every word of the field's name, or wants a figure or time, and the value has one.
    """
    field = _FIELD.match(text)
    if field is None:
        return False
    is_named = all(word[:STEM_LETTERS] in question for word in field[1].lower().split())
    return is_named or (wanted(question) in ("number", "time") and _FIGURE.search(text, field.end(1)) is not None)


def _says_what_is_asked(text: str, question: str) -> bool:
    """Whether a short text says where, who or how much the thing is that a question asks about; a title does not."""
    match, amount = _ASKED_THING.match(question), _ASKED_AMOUNT.search(question)
    if match is not None and match[1] in text and _IS_SAID.match(text.partition(match[1])[2]):
        return True
    if amount is not None and question[:THING_CHARACTERS] in text:
        return re.search(rf"{_HAN_NUMBER}\s?{amount[1]}", text) is not None
    common = {*_LONG_WORD.findall(question.lower())} & {*_LONG_WORD.findall(text.lower())}
    return len(common) >= LEAST_COMMON and wanted(question) == "number" and _FIGURE.search(text) is not None


def _is_filler(statement: Statement) -> bool:
    """A question, or a short piece without a full stop such as a title: of no use in an answer."""
    if statement.is_code:
        return False
    if is_question(statement.text):
        return True
    is_short = columns(statement.text) <= TITLE_COLUMNS and not _FULL_STOP.search(statement.text)
    return is_short and not statement.is_item and not statement.is_row


def defined_first(choice: SentenceChoice, features: SentenceFeatures, scores: FloatArray) -> SentenceChoice:
    """The same choice; a definition leads with the sentence that goes on with it, and little else stands beside it."""
    order = sorted(range(len(features.statements)), key=lambda at: -float(scores[at]))
    chosen_ids = {id(s) for group in (choice.core, *choice.points) for s in group}
    defining = features.column("definition")
    first = next(
        (features.statements[at] for at in order if defining[at] and id(features.statements[at]) in chosen_ids), None
    )
    if first is None:
        return choice
    lead = (first, *_going_on(first, features.statements))
    near = {id(features.statements[at]) for at in order if scores[at] >= scores.max() - BESIDE_DEFINITION}
    rest = (
        tuple(s for s in group if s not in lead and (s.source is not first.source or id(s) in near))
        for group in (choice.core, *choice.points)
    )
    return SentenceChoice(choice.best, lead, tuple(group for group in rest if group))


def share_shown(choice: SentenceChoice, statements: Sequence[Statement], scores: FloatArray) -> float:
    """How likely it is that a sentence of the choice is the one that answers, given that one does."""
    chances = {id(s): float(chance) for s, chance in zip(statements, chances_of(scores), strict=True)}
    return sum(chances[id(s)] for group in (choice.core, *choice.points) for s in group)


def _going_on(statement: Statement, statements: Sequence[Statement]) -> list[Statement]:
    """The sentence behind a definition where it goes on with it: "It is a ..."."""
    at = statements.index(statement) + 1
    is_next = at < len(statements) and statements[at].source is statement.source and not statements[at].is_row
    return [statements[at]] if is_next and refers_back(statements[at].text) else []


def prefer_full_coverage(scores: FloatArray, features: SentenceFeatures) -> FloatArray:
    """float32[n]: the same log-odds, but a sentence with every term of the question changes places with the best.

    Only where it is not much less likely. Short questions: "they founded Traf-O-Data" says less of who founded
    Microsoft than a sentence that names it.
    """
    whole = (features.column("coverage") >= WHOLE) & (scores >= scores.max(initial=-np.inf) - NEARLY_BEST)
    if not whole.any():
        return scores
    best, better = int(scores.argmax()), int(np.where(whole, scores, -np.inf).argmax())
    changed = scores.copy()
    changed[[best, better]] = changed[[better, best]]
    return changed
