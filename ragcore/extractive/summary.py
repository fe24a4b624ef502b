"""What a text says in a few of its own sentences: those that stand for most of it, in its order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np

from ragcore.extractive.choice import is_mail_head
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.extractive.spans import needs_before
from ragcore.extractive.summary_wish import BRIEF_POINTS, MOST_POINTS, is_same_text, names_document, wants_summary
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import idf_in
from ragcore.text.markdown import plain_text
from ragcore.text.scripts import columns
from ragcore.types import Passage, Source

MOST_COLUMNS = 1400
TABLE_COLUMNS = 400  # of these, that one table takes at most: it is shown whole or cut by rows
SHORT_COLUMNS = 12  # a sentence below says nothing by itself
LONG_COLUMNS = 320
FIRST_OF_SECTION = 1.35  # factor of a sentence that opens a section
FIRST_OF_TEXT = 1.6
ALIKE = 0.6  # share of its weight that another point already says
OFTEN = 5  # uses of a word from which more of them add no weight
READ_OF_PASSAGE = 12  # sentences of one passage that are weighed at least
READ_TOGETHER = 240  # of all passages, if they have no more than the least each
ABSTRACT = 3.0  # factor of a sentence of the abstract, in which authors sum up themselves
OUTCOME = 1.5  # factor of a sentence that says what was found or decided
FIGURES = 1.15  # of one with figures
OF_HEAD = 0.4  # of one that tells who wrote, when and where
UNFINISHED = 0.6  # of one without an end, such as a title or a line that was cut
WANTED_SECTION = 3.0  # of one in a section that the wish names: "the conclusions of the review"
_OUTCOME = re.compile(
    r"结[论果]|結[論果]|决[定议]|決[定議]|同意|批准|原因|建议|建議"
    r"|\b(?:results?|conclu\w+|deci(?:ded|sions?)|agreed|approved|found|cause|propose[ds]?|recommend\w*"
    r"|chosen|rejected|offered|solved|changed|rose|fell|increased|decreased|reduced|improved)\b",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(
    r"(?:executive summary|abstract|summary|tl;?dr|in short|at a glance|short version"
    r"|摘要|概要|内容提要|(?:事件|事故|项目|情况)?(?:概述|概况|简述))\b[.:：]?",
    re.IGNORECASE,
)
_HEAD_FIELD = re.compile(
    r"(?:时间|時間|日期|地点|地點|主持人?|参会|參會|出席|缺席|请假|記錄|记录人?|作者|编制|審核|审核|版本|状态"
    r"|\b(?:authors?|reviewers?|chair|present|attendees|absent|minutes|status|version|owner|date|time|place))\s?[:：]",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?。！？；;:：…)）”\"」』]\s*\Z")
LEAST_HEADING = 4  # columns of one that a wish may name
_MARKS_OF_HEADING = " \t.、:：()（）0123456789一二三四五六七八九十"


def summary_runs(
    sources: Sequence[Source], tokenizer: Tokenizer, *, most: int = MOST_POINTS, wish: str = ""
) -> list[list[Statement]]:
    """At most `most` points in the order of the text; [] without any sentence. `wish`: how the summary was asked for.

    A point is a sentence, two that stand together, or a table with all its rows: half of them would say something
    else. A sentence counts by the mean weight of its words, where a word weighs by how many sentences use it; one that
    opens a section counts more, and so does one with figures, of an outcome, or in a section that the wish names. What
    a better point says already is passed over.
    """
    every = read_statements(sources, tokenizer)
    messages = _messages(every)
    statements = _once([s for s in every if not is_mail_head(s)])
    read = max(READ_OF_PASSAGE, READ_TOGETHER // max(len(sources), 1))
    usable = [s for s in statements if s.position < read and SHORT_COLUMNS <= columns(s.text) <= LONG_COLUMNS]
    usable = [s for s in usable if s.terms and not s.is_code]
    if not usable:
        return [statements[:1]] if statements else []
    worths = {
        id(s): float(worth)
        for s, worth in zip(usable, _worths(usable, messages, _abstract(statements), wish), strict=True)
    }
    runs = [run for run in _runs(statements) if any(id(s) in worths for s in run)]
    if most <= BRIEF_POINTS:  # a table is no sentence
        runs = [run for run in runs if not run[0].head] or runs
    chosen: list[int] = []
    covered_terms: set[str] = set()
    used = 0
    for at in sorted(range(len(runs)), key=lambda at: -max(worths.get(id(s), 0.0) for s in runs[at])):
        terms = {term for s in runs[at] for term in s.terms}
        wide = sum(columns(s.text) for s in runs[at])
        wide = min(wide, TABLE_COLUMNS) if runs[at][0].head else wide
        if used + wide > MOST_COLUMNS or len(terms & covered_terms) > ALIKE * len(terms):
            continue
        chosen.append(at)
        covered_terms |= terms
        used += wide
        if len(chosen) == most:
            break
    return [runs[at] for at in sorted(chosen)]


def summarised_sources(question: str, sources: Sequence[Source], tokenizer: Tokenizer) -> list[Source]:
    """The sources of the document that a question wants summed up, in its order; [] where it asks for something else.

    It is the best source's document, if the question names it; of a message, the others with its subject, too.
    """
    if not sources or not wants_summary(question):
        return []
    best = min(sources, key=lambda source: source.number)
    same = sorted((s for s in sources if is_same_text(s.passage, best.passage)), key=lambda source: source.number)
    places = list(dict.fromkeys(source.passage.document for source in same))
    same.sort(key=lambda source: (places.index(source.passage.document), source.passage.ordinal))
    return same if names_document(question, [source.passage for source in same], tokenizer) else []


def summary_passages(
    passages: Sequence[Passage], tokenizer: Tokenizer, *, most: int = MOST_POINTS, wish: str = ""
) -> list[Passage]:
    """The passages in which a summary of all of them stands, in their order."""
    sources = [
        Source(number=at, passage=passage, text=passage.text, score=0.0) for at, passage in enumerate(passages, start=1)
    ]
    numbers = {
        statement.source.number for run in summary_runs(sources, tokenizer, most=most, wish=wish) for statement in run
    }
    return [source.passage for source in sources if source.number in numbers]


def _once(statements: Sequence[Statement]) -> list[Statement]:
    """The sentences without those that the end of one passage and the beginning of the next both have."""
    first: dict[str, Statement] = {}
    return [s for s in statements if s.is_row or first.setdefault(s.text, s).source is s.source]


def _runs(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The sentences in order: rows of one table together, also over two passages, and pairs of sentences."""
    runs: list[list[Statement]] = []
    for statement in statements:
        last = runs[-1] if runs else []
        if last and (_is_same_table(last[-1], statement) if statement.head else _is_pair(last, statement)):
            last.append(statement)
        else:
            runs.append([statement])
    return runs


def _abstract(statements: Sequence[Statement]) -> set[int]:
    """The identities of the sentences of an abstract: from the word that opens it to the next heading."""
    inside: set[int] = set()
    section: tuple[int, str] | None = None
    for statement in statements:
        here = (statement.source.number, statement.heading)
        if _ABSTRACT.match(statement.text) or _ABSTRACT.fullmatch(statement.heading.strip(_MARKS_OF_HEADING)):
            section = here
        if section == here:
            inside.add(id(statement))
    return inside


def _is_wanted(statement: Statement, wish: str) -> bool:
    """Whether the wish names the section of a sentence by its heading."""
    heading = statement.heading.strip(_MARKS_OF_HEADING).casefold()
    title = statement.source.passage.title.casefold()
    return columns(heading) >= LEAST_HEADING and heading not in title and heading in wish.casefold()


def _is_same_table(before: Statement, row: Statement) -> bool:
    places = [(s.heading if before.source is row.source else "", s.source.passage.heading_path) for s in (before, row)]
    return before.head == row.head and places[0] == places[1]


def _is_pair(run: Sequence[Statement], statement: Statement) -> bool:
    """Whether a sentence stays with the one before it: it goes on with it, or both are all that a paragraph says."""
    if len(run) > 1 or run[0].is_row or run[0].is_code or statement.is_row or statement.is_item or statement.is_code:
        return False
    if run[0].source is not statement.source or run[0].heading != statement.heading:
        return False
    together = {f"{run[0].text}{gap}{statement.text}" for gap in ("", " ")}
    if columns(min(together, key=len)) > LONG_COLUMNS:
        return False
    paragraphs = map(plain_text, statement.source.text.splitlines())
    return needs_before(statement.text) or any(paragraph in together for paragraph in paragraphs)


def _messages(every: Sequence[Statement]) -> dict[int, int]:
    """The place of the message that each sentence stands in, by identity; a message opens with a head."""
    places: dict[int, int] = {}
    message, in_head = 0, False
    for statement in every:
        message += is_mail_head(statement) and not in_head
        in_head = is_mail_head(statement)
        places[id(statement)] = message
    return places


def _worths(usable: Sequence[Statement], messages: Mapping[int, int], abstract: Set[int], wish: str) -> FloatArray:
    """One figure for each sentence, higher says more of the whole, or of the sections that the wish names.

    `messages` and `abstract`: see the functions of these names.
    """
    texts = [set(statement.terms) for statement in usable]
    frequency = Counter(term for text in texts for term in text)
    rarity = idf_in(frequency, texts)
    worths = np.zeros(len(usable), np.float32)
    opened_sections: set[tuple[int, int, str]] = set()
    for at, statement in enumerate(usable):
        terms = texts[at]
        shared = sum(min(frequency[term], OFTEN) * rarity[term] for term in terms)
        message = messages[id(statement)]
        section = (statement.source.number, message, statement.heading)
        worths[at] = shared / (len(terms) + 4) * _weight(statement, wish)
        if at == 0 and not message:
            worths[at] *= FIRST_OF_TEXT
        elif section not in opened_sections:
            worths[at] *= FIRST_OF_SECTION
        worths[at] *= ABSTRACT if id(statement) in abstract else 1.0
        opened_sections.add(section)
    return worths


def _weight(statement: Statement, wish: str) -> float:
    """The factor of a sentence by what it is, whatever stands beside it."""
    text = statement.text
    weight = OUTCOME if _OUTCOME.search(f"{statement.heading} {text}") else 1.0
    weight *= FIGURES if any(char.isdigit() for char in text) else 1.0
    weight *= OF_HEAD if _HEAD_FIELD.search(text) else 1.0
    weight *= 1.0 if statement.is_row or statement.is_item or _END.search(text) else UNFINISHED
    return weight * (WANTED_SECTION if _is_wanted(statement, wish) else 1.0)
