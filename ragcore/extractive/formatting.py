"""The Markdown of an extractive answer in the language and script of the question; tables that compare (A2, A4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Literal

from ragcore.extractive.answer_patterns import TIME
from ragcore.extractive.sections import SectionAnswer
from ragcore.extractive.sentence_model import refers_back
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.markdown import tables
from ragcore.text.question_type import wanted
from ragcore.text.scripts import cjk_share, columns, is_traditional, language_of, language_tag
from ragcore.text.sentences import split_sentences
from ragcore.text.tokenise import stop_words
from ragcore.types import Language, Source

MAX_ROWS = 8
WHOLE_ROWS = 12  # of a table in a summary; of a longer one the first FIRST_ROWS
FIRST_ROWS = 5
MAX_SAID = 2  # sentences of each thing
CELL_COLUMNS = 260
MOST_HAN = 0.05  # share of the letters of a text that is English all the same: a name, the head of a table
NAME_COLUMNS = 24  # of a point's name that stands in front as a sentence of its own

MAX_COMPARED = 400  # characters of a question in which the two things are looked for
_THINGS = (
    re.compile(r"(?:differences?|comparison|contrast|distinction)s?\s+between\s+(.+?)\s+and\s+(.+)", re.IGNORECASE),
    re.compile(r"compare\s+(.+?)\s+(?:and|with|to|against)\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:is|are|does|do|did)\s+(.+?)\s+(?:differ(?:ent)?|distinguished)\s+from\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:do|does|did)\s+(.+?)\s+and\s+(.+?)\s+(?:differ|compare)\b", re.IGNORECASE),
    re.compile(r"(?:what is\s+)?(.+?)\s+(?:vs\.?|versus|compared (?:to|with))\s+(.+)", re.IGNORECASE),
    re.compile(
        r"(?:请问|請問|比较|比較|对比|對比)?(?:一下)?(.{1,80}?)\s*(?:和|与|與|跟|同|相比|相较|相較|对比|對比|[vV][sS]\.?)\s*(.{1,80}?)"
        r"(?:之间|之間|两者|兩者|相比|的|在|有|，|,)*(?:什么|什麼|何|哪些)?(?:的)?"
        r"(?:主要)?(?:区别|區別|差异|差異|不同|异同|異同|比较|比較|对比|對比|差别|差別|优劣|優劣).*"
    ),
    re.compile(r"^(?:比较|比較|对比|對比)(?:一下)?(.+?)(?:和|与|與|跟)(.+)"),
)
_TAIL = re.compile(r"\s*(?:\?|？|。|\.|,.*| in (?:terms|general).*|for .*)\s*$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_LABELLED = re.compile(r"([^:：]{2,24})[:：]\s*(\S.*)")
_LABEL = re.compile(r"([^:：.。]{2,60})[:：.]\s*\S")


@dataclass(frozen=True, slots=True)
class Thing:
    """One of two compared things."""

    name: str
    words: frozenset[str]


def find_compared(question: str, tokenizer: Tokenizer) -> tuple[Thing, Thing] | None:
    """The two things that a question compares; None if it names none."""
    asked = " ".join(question.split())[:MAX_COMPARED]
    for pattern in _THINGS:
        if match := pattern.search(asked):
            names = [_ARTICLE.sub("", _TAIL.sub("", group).strip()) for group in match.groups()]
            things = [Thing(name, frozenset(tokenizer.words(name)) - stop_words()) for name in names]
            if all(t.words for t in things) and things[0].words != things[1].words and max(map(len, names)) <= 60:
                return things[0], things[1]
    return None


def compare_in_table(
    things: tuple[Thing, Thing],
    found: Sequence[Statement],
    probabilities: FloatArray,
    tokenizer: Tokenizer,
    words: Wording,
) -> str | None:
    """A table with one column for each thing; None unless the sources describe both."""
    sources = list({s.source.number: s.source for s in found}.values())
    given = next(filter(None, (_given_table(source, things, tokenizer, words) for source in sources)), None)
    if given is not None:
        return given
    order = sorted(range(len(found)), key=lambda at: -probabilities[at])
    ranked = [found[at] for at in order if not found[at].is_row and columns(found[at].text) <= CELL_COLUMNS]
    sides = [[s for s in ranked if _is_about(s, thing, other)] for thing, other in (things, things[::-1])]
    if not all(sides):
        return None
    rows = [*_aspects(sides, words), *_said(sides, things, found, words)]
    if not all(all(row) for row in rows):
        return None  # the sources say something of one thing alone
    joint = (s for s in ranked if all(t.words <= set(s.terms) for t in things))
    both = [s for s in joint if not (s.is_item and _LABEL.match(s.text))][:1]  # the point of a third thing
    lead = f"{join_cited(both, words)}\n\n" if both else ""
    return lead + table([words.aspect, things[0].name, things[1].name], rows[:MAX_ROWS])


def _is_about(statement: Statement, thing: Thing, other: Thing) -> bool:
    """The sentence names the thing, or stands under its name, and does not name the other one.

    Below the name of one thing every sentence is about it, whatever it compares it with.
    """
    if refers_back(statement.text):
        return False  # nothing says which of the two "it" is
    own, others = (t.name.lower() in statement.heading.lower() for t in (thing, other))
    if own != others:
        return own
    named = thing.words - other.words or thing.words
    foreign = other.words - thing.words
    terms = frozenset(statement.terms)
    if foreign and foreign <= terms:
        return False
    head = statement.heading or " ".join((statement.source.passage.title, *statement.source.passage.heading_path))
    return named <= terms or thing.name.lower() in head.lower()


def _aspects(sides: Sequence[Sequence[Statement]], words: Wording) -> Iterator[list[str]]:
    """Rows of what both sides give a value for, such as "Bandwidth: 20 MHz"."""
    values: list[dict[str, str]] = []
    for side in sides:
        labelled = ((_LABELLED.fullmatch(s.text), s.source.number) for s in side)
        values.append({m[1].strip(): cite(m[2], number, words) for m, number in labelled if m})
    for label in values[0].keys() & values[1].keys():
        yield [label, values[0][label], values[1][label]]


def _said(
    sides: Sequence[Sequence[Statement]], things: Sequence[Thing], found: Sequence[Statement], words: Wording
) -> Iterator[list[str]]:
    """One row with what is said of each thing: the point of a list under its name, otherwise its best sentences."""
    cells = []
    for side, thing in zip(sides, things, strict=True):
        defining = next((s for s in side if _is_under_name(s, thing)), None)
        if defining is not None:
            cells.append(join_cited(_point_of(defining, found), words))
            continue
        plain = [s for s in side if not _LABELLED.fullmatch(s.text)][:MAX_SAID]
        cells.append(join_cited(sorted(plain, key=lambda s: (s.source.number, s.position)), words))
    if any(cells):
        yield [words.said, *cells]


def _is_under_name(statement: Statement, thing: Thing) -> bool:
    """Whether it is a point of a list whose label is the thing: "**Primary cell:** ..."."""
    label = _LABEL.match(statement.text) if statement.is_item else None
    return label is not None and label[1].lower().startswith(thing.name.lower())


def _point_of(first: Statement, found: Sequence[Statement]) -> list[Statement]:
    """The sentences of a point of a list that begins with this one, as far as they fit into a cell."""
    point, room = [first], CELL_COLUMNS - columns(first.text)
    behind = [s for s in found if s.source is first.source and s.position > first.position]
    for statement in takewhile(lambda s: s.heading == first.heading and not (s.is_item or s.is_row), behind):
        room -= columns(statement.text)
        if room < 0:
            break
        point.append(statement)
    return point


def _given_table(source: Source, things: tuple[Thing, Thing], tokenizer: Tokenizer, words: Wording) -> str | None:
    """What a table of the source itself says of both things, which are two of its columns or two of its rows."""
    for given in tables(source.text.splitlines()):
        places = [_place(given.head, thing, tokenizer) for thing in things]
        if None not in places and places[0] != places[1] and 0 not in places:
            wanted = [p for p in places if p is not None]
            rows = [[cells[0], *(cite(cells[p], source.number, words) for p in wanted)] for cells in given.rows]
            return table([given.head[0] or words.aspect, *(given.head[p] for p in wanted)], rows[:MAX_ROWS])
        names = [cells[0] for cells in given.rows]
        places = [_place_of_row(names, thing, other, tokenizer) for thing, other in (things, things[::-1])]
        if None not in places and places[0] != places[1]:
            said = [given.rows[p] for p in places if p is not None]
            cells = [[cite(row[at], source.number, words) for row in said] for at in range(1, len(given.head))]
            rows = [[name, *row] for name, row in zip(given.head[1:], cells, strict=True)]
            return table([given.head[0] or words.aspect, *(row[0] for row in said)], rows[:MAX_ROWS])
    return None


def _place(head: Sequence[str], thing: Thing, tokenizer: Tokenizer) -> int | None:
    return next((at for at, cell in enumerate(head) if thing.words <= set(tokenizer.words(cell))), None)


def _place_of_row(names: Sequence[str], thing: Thing, other: Thing, tokenizer: Tokenizer) -> int | None:
    """The row that is named after this thing and not the other one; None where several are, or none is.

    A word that both have, such as "access", may be missing from the names of the rows: it is what the table is about.
    """
    own, foreign = thing.words - other.words, other.words - thing.words
    places = []
    for at, name in enumerate(names):
        said = set(tokenizer.words(name))
        is_named = own <= said if own else bool(thing.words & said) and not foreign & said
        if is_named and not (foreign and foreign <= said):
            places.append(at)
    return places[0] if len(places) == 1 else None


Script = Literal["zh", "zht", "en"]
_MARKER = re.compile(r"\[(\d{1,3})\]")
_DIGITS = re.compile(r"\d+")
_OWN_LINES = re.compile(r"^\*\*[^*\n]+\*\*$", re.MULTILINE)  # what is not quoted stands in lines of its own
_ENGLISH_WORD = re.compile(r"(?<![A-Za-z])[a-z]{3,}(?![A-Za-z])")  # a question of nothing but codes has no language
_FIGURE = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,:]\d+)*%?(?![A-Za-z])")
_JOINED_BEFORE = re.compile(r"[A-Za-z0-9][-./:,_]?\Z")
_JOINED_AFTER = re.compile(r"[-./:,_]?[A-Za-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Everything in an answer that is not a quotation."""

    supplement: str
    aspect: str
    said: str
    closest: str  # above a passage of which it is not sure that it answers
    more_rows: str  # below the first rows of a long table, with `{number}`
    source_language: str  # above a quotation in the other one of the two languages
    gap: str  # between a sentence and its marker, and between sentences


_WORDS: dict[Script, Wording] = {
    "zh": Wording(
        supplement="补充要点",
        aspect="方面",
        said="资料所述",
        closest="最相关的段落",
        more_rows="另有 {number} 行",
        source_language="原文为英文",
        gap="",
    ),
    "zht": Wording(
        supplement="補充要點",
        aspect="方面",
        said="資料所述",
        closest="最相關的段落",
        more_rows="另有 {number} 列",
        source_language="原文為英文",
        gap="",
    ),
    "en": Wording(
        supplement="Also relevant",
        aspect="Aspect",
        said="What the sources say",
        closest="The passage that fits best",
        more_rows="{number} more rows",
        source_language="The source is in Chinese",
        gap=" ",
    ),
}


def wording_for(question: str, language: Language) -> Wording:
    """The words for a question; traditional Chinese is recognised by its characters."""
    if (language if language != "other" else language_of(question)) != "zh":
        return _WORDS["en"]
    return _WORDS["zht" if is_traditional(question) else "zh"]


def with_source_language(question: str, blocks: list[str], words: Wording) -> list[str]:
    """The blocks of an answer below a line with their language, where it is not that of the question."""
    quoted = _OWN_LINES.sub("", "".join(blocks))
    if words.gap:
        is_other = language_of(quoted) == "zh" and _ENGLISH_WORD.search(question) is not None
    else:
        is_other = language_tag(quoted) == "en" and cjk_share(quoted) <= MOST_HAN
    return [f"**{words.source_language}**\n\n", *blocks] if is_other else blocks


def document_line(blocks: Sequence[str], sources: Sequence[Source]) -> str:
    """The title of the document that the blocks cite first, on a line of its own; "" where they cite none."""
    first = first_cited("".join(blocks), sources)
    return f"**{first.passage.title.replace('*', '')}**\n\n" if first is not None and first.passage.title else ""


def first_cited(text: str, sources: Sequence[Source]) -> Source | None:
    """The source of the first marker in an answer; None where it cites none."""
    match = _MARKER.search(text)
    return next((source for source in sources if match and source.number == int(match[1])), None)


def cite(text: str, number: int, words: Wording) -> str:
    """A sentence with the marker of its source."""
    return f"{text}{words.gap}[{number}]"


def cite_sentences(text: str, number: int, words: Wording) -> str:
    """Every sentence of a text with the marker of its source; a short name in front, "Detection.", shares the next."""
    told: list[str] = []
    for sentence in map(str.strip, split_sentences(text)):
        if told and columns(told[-1]) <= NAME_COLUMNS:
            told[-1] += f"{words.gap}{sentence}"
        elif sentence:
            told.append(sentence)
    return words.gap.join(cite(sentence, number, words) for sentence in told)


def join_cited(group: Iterable[Statement], words: Wording) -> str:
    """Sentences, each with its marker."""
    return words.gap.join(cite(s.text, s.source.number, words) for s in group)


def supplement(points: Sequence[Sequence[Statement]], words: Wording) -> str:
    """The block of further points under its heading; "" without any."""
    lines = "\n".join(f"- {join_cited(point, words)}" for point in points)
    return f"\n\n**{words.supplement}**\n\n{lines}" if lines else ""


def listing(items: Sequence[tuple[str, int]], words: Wording, *, numbered: bool) -> str:
    """Points (text, number of the source), each with its marker; numbered where their order matters."""
    marks = (f"{n}. " if numbered else "- " for n in range(1, len(items) + 1))
    lines = (cite_sentences(text, number, words) for text, number in items)
    return "\n".join(f"{mark}{line}" for mark, line in zip(marks, lines, strict=True))


def section_blocks(answer: SectionAnswer, words: Wording) -> list[str]:
    """A section as blocks of Markdown: its sentences, and the points of its list or its table."""
    number = answer.source.number
    blocks = [words.gap.join(cite(text, number, words) for text in answer.sentences)]
    if answer.items:
        items = [(text, source.number) for text, source in answer.items]
        blocks.append(listing(items, words, numbered=answer.is_ordered))
    if answer.table is not None:
        blocks.append(rows_table(answer.table.head, answer.table.rows, number, words))
    return _apart([block for block in blocks if block])


def passage_block(statements: Sequence[Statement], words: Wording) -> str:
    """Sentences, each with its marker; rows of one table that stand together as a table."""
    blocks = []
    for (head, number), group in groupby(statements, key=lambda s: (s.head, s.source.number)):
        members = list(group)
        blocks.append(
            rows_table(head, [s.cells for s in members], number, words) if head else join_cited(members, words)
        )
    return "".join(_apart(blocks))


def point_blocks(runs: Sequence[Sequence[Statement]], words: Wording) -> list[str]:
    """Runs as points, one run as plain sentences; rows of tables stand as a table behind the points."""
    plain = [run for run in runs if not run[0].head]
    tables_ = [passage_block(run, words) for run in runs if run[0].head]
    lines = [join_cited(run, words) for run in plain]
    block = "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)
    return _apart([text for text in (block, *tables_) if text])


def summary_blocks(runs: Sequence[Sequence[Statement]], words: Wording) -> list[str]:
    """Points in their order, each table where it stands: a small one whole, of a long one the first rows."""
    blocks = []
    for is_table, group in groupby(runs, key=lambda run: bool(run[0].head)):
        members = list(group)
        blocks += [_whole_table(run, words) for run in members] if is_table else point_blocks(members, words)
    return _apart([block.strip() for block in blocks])


def _whole_table(rows: Sequence[Statement], words: Wording) -> str:
    """Rows of one table, each with the marker of its own passage; the number of those that are left out is said."""
    shown = rows if len(rows) <= WHOLE_ROWS else rows[:FIRST_ROWS]
    lines = table(shown[0].head, [row_marked(row.cells, row.source.number, words) for row in shown])
    left = len(rows) - len(shown)
    return f"{lines}\n\n**{words.more_rows.format(number=left)}**" if left else lines


def _apart(blocks: Sequence[str]) -> list[str]:
    return [block if at == 0 else f"\n\n{block}" for at, block in enumerate(blocks)]


def rows_table(head: Sequence[str], rows: Sequence[Sequence[str]], number: int, words: Wording) -> str:
    """Rows of a source's table below its head, each with the marker in its last filled cell."""
    return table(head, [row_marked(row, number, words) for row in rows])


def row_marked(row: Sequence[str], number: int, words: Wording) -> list[str]:
    """The cells of a row with the marker in the last filled one."""
    last = max((at for at, cell in enumerate(row) if cell), default=0)
    return [cite(cell, number, words) if at == last else cell for at, cell in enumerate(row)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a | inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def with_figure(question: str, text: str) -> str:
    """The sentence with the figure that was asked for in bold, if it holds exactly one that the question does not.

    Nothing is bold where that would cut a clock time, a number or a code in two: "Tuesday 01:00", "123ms", "LTE-14".
    """
    kind = wanted(question)
    if kind not in ("number", "time"):
        return text
    pattern = TIME if kind == "time" else _FIGURE
    known = set(_DIGITS.findall(question))
    found = [m for m in pattern.finditer(text) if (digits := set(_DIGITS.findall(m.group()))) and not digits <= known]
    if len(found) != 1:
        return text
    start, end = found[0].span()
    if _JOINED_BEFORE.search(text, max(0, start - 2), start) or _JOINED_AFTER.match(text, end):
        return text
    return f"{text[:start]}**{text[start:end]}**{text[end:]}"
