"""Answers that a document already gives in one piece: a list, or the section whose heading is the question.

"What triggers X?" under the heading "Triggers of X" is answered by its list, "The four steps of X?" by its
subsections, "Q: How far does X reach?" by what stands below it. A sentence that announces a list or a table ("There
are three types of X:") counts as the heading of that list. Only sections whose heading, with the title of the
document and the heads of its table, holds every content word of the question count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ragcore.extractive.answer_patterns import cue_kind
from ragcore.extractive.sentences import (
    STEP,
    Statement,
    is_mail_head_text,
    is_question,
    plain_sentences,
    strip_question_mark,
)
from ragcore.ports import Tokenizer
from ragcore.text.code_blocks import CodeBlock, is_block, joined_texts, text_parts
from ragcore.text.markdown import Table, is_row, plain_text, tables
from ragcore.text.named_dates import definite_dates
from ragcore.text.question_sides import question_sides
from ragcore.text.scripts import columns
from ragcore.text.sentences import split_sentences
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

MAX_ITEMS = 9
MIN_ITEMS = 2
MIN_STEPS = 3
MAX_SENTENCES = 3  # of a section's text
MAX_COLUMNS = 1100  # of an answer by a section
MAX_LIST_COLUMNS = 900  # of an answer by a list
MIN_PRECISION = 0.5  # share of the heading's own content words that the question asks for
MAX_ANNOUNCING = 120  # columns of a sentence that announces a list or a table
DERIVED_LETTERS = 4  # that a word has at least from which another one is derived

_HEADING = re.compile(r"(#{1,6})\s+(.*\S)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,3}[.)])\s+(.*\S)")
_OPAQUE = ("`", "$", "~", "![", ">")  # code, formulas, pictures and quotations
_DERIVED = re.compile(r"(?:ure?|ments?|at|ation|ion|er|or|ance?|ence?|iti|ity|ive?|ing|ed)")  # endings of stems
_STEPS = re.compile(r"\bsteps\b|\bprocedure\b|步骤|步驟|流程|哪几步|哪幾步", re.IGNORECASE)
_COUNT = re.compile(r"[一二两兩三四五六七八九十]+[种種类類个個项項]|two|three|four|five|six")
_STOPS = (".", "。", "；", ";", "!", "！")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[一二三四五六七八九十]+、)\s*")


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """The sentence that announces a list ("" if none does), and its points, in the order of the source."""

    intro: str
    number: int  # of the source
    items: tuple[str, ...]


def find_list_around(best: Statement, statements: Sequence[Statement]) -> ListAnswer | None:
    """The whole list that the best sentence is a point of; None if it is none, or if the list is too long to show."""
    units = statement_units(
        [s for s in statements if s.source.number == best.source.number and s.heading == best.heading]
    )
    first = last = next(at for at, unit in enumerate(units) if best in unit)
    if not units[first][0].is_item:
        return None
    while first and units[first - 1][0].is_item and not units[first][0].announced:
        first -= 1
    while last + 1 < len(units) and units[last + 1][0].is_item and not units[last + 1][0].announced:
        last += 1
    if first < last and best not in units[first] and _is_title(units[first], units[last]):
        first += 1
    points = units[first : last + 1]
    intro = points[0][0].announced
    items = [joined_texts(s.text.removeprefix(s.announced).strip() for s in point) for point in points]
    if not MIN_ITEMS <= len(items) <= MAX_ITEMS or sum(map(columns, (intro, *items))) > MAX_LIST_COLUMNS:
        return None
    return ListAnswer(intro, best.source.number, tuple(items))


def statement_units(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The sentences of one section, those of one line or point together."""
    units: list[list[Statement]] = []
    for statement in statements:
        if units and statement.continues and statement.position == units[-1][-1].position + 1:
            units[-1].append(statement)
        else:
            units.append([statement])
    return units


def _is_title(first: Sequence[Statement], last: Sequence[Statement]) -> bool:
    """Whether the first point of a list is its title: one without a full stop before others with one."""
    return len(first) == 1 and not first[0].text.endswith(_STOPS) and last[-1].text.endswith(_STOPS)


def find_steps(question: str, best: Statement, statements: Sequence[Statement]) -> list[Statement]:
    """The steps ("Step 2. Look for ...") of the best sentence's document, in order, where steps are asked for.

    [] without such, or too many.
    """
    if not _STEPS.search(question):
        return []
    document = best.source.passage.document
    steps = [s for s in statements if s.source.passage.document == document and STEP.match(s.text)]
    fits = MIN_STEPS <= len(steps) <= MAX_ITEMS and sum(columns(s.text) for s in steps) <= MAX_COLUMNS
    return sorted(steps, key=lambda s: (s.source.passage.ordinal, s.position)) if fits else []


@dataclass(slots=True)
class Section:
    """A heading of a source with what stands below it, until the next heading."""

    source: Source
    level: int
    title: str
    lines: list[str] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)
    is_document: bool = False  # the heading is that of the whole document
    is_announced: bool = False  # the title is a sentence of the text that ends in a colon

    def prose(self) -> list[str]:
        """Its sentences before any list or table."""
        before = []
        for line in self.lines:
            if _ITEM.match(line) or is_row(line) or line.lstrip().startswith(_OPAQUE):
                break
            before.append(line)
        text = "\n".join(before)
        marked = f"# {self.title}\n{text}" if is_question(self.title) else text  # so that "A:" is taken off
        return list(plain_sentences(marked))

    def code(self) -> tuple[str, ...]:
        """The block of code that stands directly behind its sentences, in a fence; () without one."""
        for line in self.lines:
            if is_block(line):
                return (line,)
            if _ITEM.match(line) or is_row(line):
                break
        return ()

    def points(self) -> list[str]:
        """The points of its first list, each with the lines that it is wrapped over and its code."""
        points: list[str] = []
        is_open = False
        for line in self.lines:
            if is_block(line):
                if points and not is_open:
                    break
                points = [*points[:-1], joined_texts([points[-1], line])] if points else points
            elif match := _ITEM.match(line):
                points.append(match[1])
                is_open = True
            elif is_open and line.strip() and not is_row(line):
                points[-1] += f" {line.strip()}"
            elif not line.strip():
                is_open = False
            elif points:
                break
        return [joined_texts(map(_plain_part, text_parts(point))) for point in points]

    def is_numbered(self) -> bool:
        """Whether its list counts its points."""
        return any(_ITEM.match(line) and line.lstrip()[0].isdigit() for line in self.lines)

    def parts(self) -> list[tuple[str, Source]]:
        """Its subsections, each with its first sentence; those without a sentence are left out."""
        if self.is_document:
            return []  # its chapters are no answer
        lead_sentences = ((child, next(iter(child.prose()), "")) for child in self.children)
        return [(f"**{_unnumbered(child.title)}** {first}", child.source) for child, first in lead_sentences if first]


@dataclass(frozen=True, slots=True)
class SectionAnswer:
    """What a section says: sentences, and then the points of a list, each with its source, or a table."""

    source: Source
    sentences: tuple[str, ...]
    items: tuple[tuple[str, Source], ...] = ()
    is_ordered: bool = False  # the source numbers the points
    table: Table | None = None
    code: tuple[str, ...] = ()  # the block behind the sentences, in its fence


def find_section_answer(
    question: str, sources: Sequence[Source], tokenizer: Tokenizer, *, with_parts: bool = True
) -> SectionAnswer | None:
    """What the best section says whose heading asks the question; None in most cases.

    `with_parts`: whether its subsections may stand for a list, also where it asks for more or less than the heading
    says. The text alone answers only under a question or a
    heading that says nothing else; to why and how also where it is short.
    """
    wish = _heading_traits(_without_dates(question), tokenizer)
    if not wish.things:
        return None
    best: tuple[float, bool, Section] | None = None
    read = list(_sections(sources))  # all lines must be read before a table is looked for
    for section in [*read, *chain.from_iterable(map(_announced_lists, read))]:
        precision, is_part = _precision(section, wish, tokenizer), not section.is_document
        if precision >= MIN_PRECISION and (best is None or (precision, is_part) > best[:2]):
            best = (precision, is_part, section)
    if best is None:
        return None
    explains = wish.cue in ("reason", "manner")
    with_parts = with_parts or (best[0] == 1 and best[1])
    return _answer_of(best[2], with_parts=with_parts, says_nothing_else=best[0] == 1, explains=explains)


@dataclass(frozen=True, slots=True)
class _HeadingTraits:
    """Content words of a question or a heading: which thing, and which side of it ("why", "steps")."""

    things: frozenset[str]
    sides: frozenset[str]
    cue: str  # answer_patterns.cue_kind


def _precision(section: Section, wish: _HeadingTraits, tokenizer: Tokenizer) -> float:
    """Share of the heading's words that are asked for; 0 where heading, title and table lack a word of the question.

    A side that both name ("Why do we need X?", "Why X") counts as one more word of both. A table whose first column is
    named in the question ("Which types of X are there?") counts as a heading that says twice as much.
    """
    heading = _heading_traits(section.title, tokenizer)
    if {heading.cue, wish.cue} == {"reason", "manner"}:
        return 0.0  # "How X works" does not say why
    about = _heading_traits(section.source.passage.title, tokenizer).things
    common = _shared(heading.things, wish.things)
    source_table = next(tables(section.lines), None)
    heads = _heading_traits(" ".join(source_table.head), tokenizer).things if source_table is not None else frozenset()
    if common and _shared(wish.things, heading.things | about | heads) == wish.things:
        sides = len(heading.sides & wish.sides)
        return (len(common) + sides) / (len(heading.things) + sides)
    corner_words = _heading_traits(source_table.head[0], tokenizer).things if source_table is not None else frozenset()
    asked_for = corner_words & wish.things
    return MIN_PRECISION if asked_for and wish.things <= corner_words | heading.things | about else 0.0


def _shared(words: frozenset[str], heading_words: frozenset[str]) -> frozenset[str]:
    """The words that are among the others, themselves or as a derivation: "fail" and "failur"."""
    return frozenset(w for w in words if w in heading_words or any(_is_derived(w, other) for other in heading_words))


def _is_derived(one: str, other: str) -> bool:
    """Whether one stem is the other one with an ending, or with its last letter changed as in "decide", "decision"."""
    short, long = sorted((one, other), key=len)
    if len(short) == len(long) > DERIVED_LETTERS and short[:-1] == long[:-1]:
        return {short[-1], long[-1]} == {"d", "s"}
    is_stem = len(short) >= DERIVED_LETTERS and short.isascii() and short.isalpha() and long.startswith(short)
    return is_stem and _DERIVED.fullmatch(long[len(short) :]) is not None


def _answer_of(section: Section, *, with_parts: bool, says_nothing_else: bool, explains: bool) -> SectionAnswer | None:
    prose = [section.title] if section.is_announced else section.prose()
    announcing = -MAX_SENTENCES if is_question(section.title) else -1  # what answers may stand before the list
    intro = tuple(prose[announcing:] if prose and prose[-1].endswith((":", "：")) else prose[:1])
    points = [(text, section.source) for text in section.points()]
    for items in (points, section.parts() if with_parts else []):
        if MIN_ITEMS <= len(items) <= MAX_ITEMS and (fitting := _fitting(items, intro)):
            is_ordered = items is not points or section.is_numbered()
            return SectionAnswer(section.source, intro, fitting, is_ordered)
    sentences = tuple(prose[:MAX_SENTENCES])
    source_table = next(tables(section.lines), None)
    if (
        source_table is not None
        and len(source_table.rows) <= MAX_ITEMS
        and _width(*sentences, *chain(source_table.head, *source_table.rows)) <= MAX_COLUMNS
    ):
        return SectionAnswer(section.source, sentences, table=source_table)
    is_short = len(prose) <= MAX_SENTENCES and not section.is_document
    is_asked = says_nothing_else or (explains and is_short) or is_question(section.title)
    code = section.code() if is_short else ()
    return SectionAnswer(section.source, sentences, code=code) if (sentences or code) and is_asked else None


def _fitting(items: Sequence[tuple[str, Source]], intro: Sequence[str]) -> tuple[tuple[str, Source], ...]:
    """The points, cut to their first sentences where they are too long together; () if they still are."""
    for shortest in (items, [(next(iter(plain_sentences(text)), text), source) for text, source in items]):
        if _width(*intro, *(text for text, _ in shortest)) <= MAX_COLUMNS:
            return tuple(shortest)
    return ()


def _width(*texts: str) -> int:
    return sum(map(columns, texts))


def _sections(sources: Sequence[Source]) -> Iterator[Section]:
    """Sections of the sources, chunks of one document read on where they are neighbours."""
    open_sections: list[Section] = []
    last: Source | None = None
    for source in sorted(sources, key=lambda s: (s.passage.document, s.passage.ordinal)):
        if last is None or not _follows(last, source):
            open_sections = []
        last = source
        for line in _lines(source.text):
            if (item := _ITEM.match(line)) and is_mail_head_text(plain_text(item[1])):
                continue
            heading = _HEADING.fullmatch(line.strip())
            if heading is None:
                if open_sections:
                    open_sections[-1].lines.append(line)
                continue
            section = Section(source, len(heading[1]), heading[2])
            is_first = source.passage.ordinal == 0 and source.text.lstrip().startswith(line.strip())
            is_named = section.title == source.passage.title or (
                section.level == 1 and section.title in source.passage.title
            )
            section.is_document = is_first or is_named
            while open_sections and open_sections[-1].level >= section.level:
                open_sections.pop()
            if open_sections:
                open_sections[-1].children.append(section)
            open_sections.append(section)
            yield section


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, each block of code in its fence as one of them: a comment in it is no heading."""
    for part in text_parts(text):
        if isinstance(part, CodeBlock):
            yield part.markdown
        else:
            yield from part.splitlines()


def _plain_part(part: str | CodeBlock) -> str:
    return part.markdown if isinstance(part, CodeBlock) else plain_text(part)


def _follows(before: Source, after: Source) -> bool:
    same = before.passage.version == after.passage.version
    return same and after.passage.ordinal == before.passage.ordinal + 1


def _announced_lists(section: Section) -> Iterator[Section]:
    """The lists and tables of a section that a sentence with a colon announces, each below that sentence."""
    paragraph: list[str] = []
    announced: Section | None = None
    for line in section.lines:
        is_listed = _ITEM.match(line) is not None or is_row(line)
        if is_listed and announced is None and (title := _announcing(paragraph)):
            announced = Section(section.source, section.level + 1, title, is_announced=True)
        if announced is not None and (is_listed or not line.strip() or announced.lines[-1].strip()):
            announced.lines.append(line)
            continue
        if announced is not None:
            yield announced
            announced = None
        paragraph = [*paragraph, line] if line.strip() and not is_listed else paragraph if not line.strip() else []
    if announced is not None:
        yield announced


def _announcing(paragraph: Sequence[str]) -> str:
    """The sentence with a colon that a paragraph ends with; "" for any other end."""
    last = plain_text(next(reversed(split_sentences("\n".join(paragraph))), ""))
    return last if last.endswith((":", "：")) and columns(last) <= MAX_ANNOUNCING else ""


def _heading_traits(text: str, tokenizer: Tokenizer) -> _HeadingTraits:
    words = frozenset(w for w in tokenizer.words(_unnumbered(text)) if not (w.isdigit() or _COUNT.fullmatch(w)))
    return _HeadingTraits(words - stop_words() - question_sides(), words & question_sides(), cue_kind(text))


def _without_dates(question: str) -> str:
    """A question without the days and months that it names: they say which document, not which of its sections."""
    for date in reversed(definite_dates(question)):
        question = f"{question[: date.start]} {question[date.end :]}"
    return question


def _unnumbered(title: str) -> str:
    return strip_question_mark(_NUMBER.sub("", title))
