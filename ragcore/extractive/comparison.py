"""Tables that compare two things which a question names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ragcore.extractive.choice import prefer_full_coverage
from ragcore.extractive.column_groups import is_asked_by_group
from ragcore.extractive.formatting import Wording, cite, join_cited, supplement, table
from ragcore.extractive.sentence_model import SentenceFeatures, chances_of, refers_back
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.markdown import tables
from ragcore.text.scripts import columns
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

Scored = Callable[[str, Sequence[Statement]], tuple[SentenceFeatures, FloatArray]]

MAX_ROWS = 8
MOST_JOINED_ROWS = 12  # of several tables
MAX_SAID = 2  # sentences of each thing
CELL_COLUMNS = 260
MAX_COMPARED = 400  # characters of a question in which the two things are looked for
_THINGS = (
    re.compile(r"(?:differences?|comparison|contrast|distinction)s?\s+between\s+(.+?)\s+and\s+(.+)", re.IGNORECASE),
    re.compile(r"compare\s+(.+?)\s+(?:and|with|to|against)\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:is|are|does|do|did)\s+(.+?)\s+(?:differ(?:ent)?|distinguished)\s+from\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:do|does|did)\s+(.+?)\s+and\s+(.+?)\s+(?:differ|compare)\b", re.IGNORECASE),
    re.compile(r"(?:what is\s+)?(.+?)\s+(?:vs\.?|versus|compared (?:to|with))\s+(.+)", re.IGNORECASE),
    re.compile(
        r"(?:请问|請問|比较|比較|对比|對比)?(?:一下)?(.{1,80}?)\s*(?:和|与|與|跟|同|相比|相较|相較|对比|對比|[vV][sS]\.?)\s*(.{1,80}?)"
        r"(?:之间|之間|两者|兩者|相比|的|在|有|，|,)*(?:什么|什麼|何|啥|哪些|哪里|哪裡)?(?:的)?"
        r"(?:主要|到底|究竟)?(?:区别|區別|差异|差異|不同|异同|異同|比较|比較|对比|對比|差别|差別|优劣|優劣|差在|不一样|不一樣).*"
    ),
    re.compile(r"^(?:比较|比較|对比|對比)(?:一下)?(.+?)(?:和|与|與|跟)(.+)"),
)
_NAMED = r"([A-Za-z][A-Za-z0-9]{0,9}[.-]?\d[A-Za-z0-9.-]{0,9})"
_CHOICE = (
    re.compile(rf"\bwhich\b.{{0,80}}?\b{_NAMED}\s{{1,3}}or\s{{1,3}}(?:the\s{{1,3}})?{_NAMED}", re.IGNORECASE),
    re.compile(rf"{_NAMED}\s?(?:和|与|與|跟|还是|還是)\s?{_NAMED}\s?[哪谁誰]"),
)  # which of two things, by their codes
_CODE = re.compile(r"[A-Za-z][A-Za-z.-]*\d[\w.-]*")
_LETTERED = re.compile(
    r"(?<![A-Za-z\d-])([A-Z]|\d)\s?(?:型|款|级|級|类|類|档|檔)|\b(?:type|class|option|model|variant|grade|level)\s+([A-Z]|\d)\b",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\[\d+\]\Z")
_TAIL = re.compile(r"\s*(?:\?|？|。|\.|,.*| in (?:terms|general).*|for .*)\s*$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_LABELLED = re.compile(r"([^:：]{2,24})[:：]\s*(\S.*)")
_LABEL = re.compile(r"([^:：.。]{2,60})[:：.]\s*\S")


@dataclass(frozen=True, slots=True)
class Thing:
    """One of two compared things."""

    name: str
    words: frozenset[str]
    is_label: bool = False  # "A型", "class B": nothing but the names of rows and columns says it for certain


def find_compared(question: str, tokenizer: Tokenizer) -> tuple[Thing, Thing] | None:
    """The two things that a question compares; None if it names none."""
    beginning = " ".join(question.split())[:MAX_COMPARED]
    for pattern in (*_CHOICE, *_THINGS):
        if match := pattern.search(beginning):
            names = [_ARTICLE.sub("", _TAIL.sub("", group).strip()) for group in match.groups()]
            if labels := _labels_of(names):
                return labels
            things = [Thing(name, frozenset(tokenizer.words(name)) - stop_words()) for name in names]
            if all(t.words for t in things) and things[0].words != things[1].words and max(map(len, names)) <= 60:
                return _by_codes(things, tokenizer)
    return None


def _labels_of(names: Sequence[str]) -> tuple[Thing, Thing] | None:
    """The things where both are told by a letter or number: "the P10 type A" and "B型"; else None."""
    labels = [match for name in names if (match := _LETTERED.search(name))]
    if len(labels) != len(names):
        return None
    first, second = (
        Thing(match[0], frozenset({next(filter(None, match.groups())).lower()}), is_label=True) for match in labels
    )
    return (first, second) if first.words != second.words else None


def asks_choice(question: str) -> bool:
    """Whether a question asks which of two things, named by their codes: "which costs more, P10 or P20"."""
    beginning = question[:MAX_COMPARED]
    return any(pattern.search(beginning) for pattern in _CHOICE)


def _by_codes(things: Sequence[Thing], tokenizer: Tokenizer) -> tuple[Thing, Thing]:
    """The things by their codes alone where both have one: in "P10 vs P20 noise" the noise names neither."""
    codes = [match[0] if (match := _CODE.search(thing.name)) else "" for thing in things]
    if not all(codes) or codes[0] == codes[1]:
        return things[0], things[1]
    first, second = (Thing(code, frozenset(tokenizer.words(code))) for code in codes)
    return first, second


def comparison_block(
    question: str, statements: Sequence[Statement], scored: Scored, tokenizer: Tokenizer, words: Wording
) -> str | None:
    """The table that compares the things which a question names; None where there is none."""
    things = find_compared(question, tokenizer)
    if things is None:
        return None
    features, scores = scored(question, statements)
    chances = chances_of(prefer_full_coverage(scores, features))
    return compare_in_table(things, question, statements, chances, tokenizer, words)


def compare_in_table(
    things: tuple[Thing, Thing],
    question: str,
    statements: Sequence[Statement],
    probabilities: FloatArray,
    tokenizer: Tokenizer,
    words: Wording,
) -> str | None:
    """A table with one column for each thing; None unless the sources describe both."""
    sources = list({s.source.number: s.source for s in statements}.values())
    beside_things = frozenset(tokenizer.words(question)) - stop_words() - things[0].words - things[1].words
    aspects = _Aspects(question.lower(), beside_things)
    source_tables = [
        facing for source in sources for facing in _given_tables(source, things, aspects, tokenizer, words)
    ]
    if on_aspect := next((facing for facing in source_tables if facing.is_named), None):
        return table([on_aspect.corner or words.aspect, *on_aspect.names], on_aspect.rows[:MAX_ROWS])
    if things[0].is_label:
        return _joined_tables(source_tables, things, words)
    from_prose = _said_table(things, statements, probabilities, words)
    if not source_tables:
        return from_prose
    beside = (
        f"\n\n{from_prose}"
        if from_prose
        else supplement([[sentence] for sentence in _named_in(things, statements, probabilities)], words)
    )
    return f"{_joined_tables(source_tables, things, words)}{beside}"


def _joined_tables(source_tables: Sequence[_Given], things: tuple[Thing, Thing], words: Wording) -> str | None:
    """One table of what all of them tell, without the lines that say the same of both; None without any."""
    if not source_tables:
        return None
    order = sorted(source_tables, key=lambda facing: not facing.are_rows)  # what a table of such things tells first
    rows = [row for facing in order for row in facing.rows]
    unlike = [row for row in rows if _without_marker(row[1]) != _without_marker(row[2])]
    names = order[0].names if len(source_tables) == 1 else [thing.name for thing in things]
    corner = order[0].corner if len(source_tables) == 1 else ""
    return table([corner or words.aspect, *names], (unlike or rows)[:MOST_JOINED_ROWS])


def _without_marker(cell: str) -> str:
    return _MARKER.sub("", cell).strip()


def _named_in(
    things: tuple[Thing, Thing], statements: Sequence[Statement], probabilities: FloatArray
) -> list[Statement]:
    """The likeliest sentences of prose that name one of the things."""
    order = sorted(range(len(statements)), key=lambda at: -probabilities[at])
    prose = (
        statements[at] for at in order if not statements[at].is_row and columns(statements[at].text) <= CELL_COLUMNS
    )
    return [sentence for sentence in prose if any(thing.words <= set(sentence.terms) for thing in things)][:MAX_SAID]


def _said_table(
    things: tuple[Thing, Thing], statements: Sequence[Statement], probabilities: FloatArray, words: Wording
) -> str | None:
    """A table of what sentences say of both things; None where they tell of one alone."""
    order = sorted(range(len(statements)), key=lambda at: -probabilities[at])
    ranked = [
        statements[at] for at in order if not statements[at].is_row and columns(statements[at].text) <= CELL_COLUMNS
    ]
    sides = [[s for s in ranked if _is_about(s, thing, other)] for thing, other in (things, things[::-1])]
    if not all(sides):
        return None
    rows = [*_aspects(sides, words), *_said(sides, things, statements, words)]
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
    is_under_thing, is_under_other = (t.name.lower() in statement.heading.lower() for t in (thing, other))
    if is_under_thing != is_under_other:
        return is_under_thing
    name_words = thing.words - other.words or thing.words
    foreign = other.words - thing.words
    terms = frozenset(statement.terms)
    if foreign and foreign <= terms:
        return False
    head = statement.heading or " ".join((statement.source.passage.title, *statement.source.passage.heading_path))
    return name_words <= terms or thing.name.lower() in head.lower()


def _aspects(sides: Sequence[Sequence[Statement]], words: Wording) -> Iterator[list[str]]:
    """Rows of what both sides give a value for, such as "Bandwidth: 20 MHz"."""
    values: list[dict[str, str]] = []
    for side in sides:
        labelled = ((_LABELLED.fullmatch(s.text), s.source.number) for s in side)
        values.append({m[1].strip(): cite(m[2], number, words) for m, number in labelled if m})
    for label in values[0].keys() & values[1].keys():
        yield [label, values[0][label], values[1][label]]


def _said(
    sides: Sequence[Sequence[Statement]], things: Sequence[Thing], statements: Sequence[Statement], words: Wording
) -> Iterator[list[str]]:
    """One row with what is said of each thing: the point of a list under its name, otherwise its best sentences."""
    cells = []
    for side, thing in zip(sides, things, strict=True):
        defining = next((s for s in side if _is_under_name(s, thing)), None)
        if defining is not None:
            cells.append(join_cited(_point_of(defining, statements), words))
            continue
        plain = [s for s in side if not _LABELLED.fullmatch(s.text)][:MAX_SAID]
        cells.append(join_cited(sorted(plain, key=lambda s: (s.source.number, s.position)), words))
    if any(cells):
        yield [words.statements, *cells]


def _is_under_name(statement: Statement, thing: Thing) -> bool:
    """Whether it is a point of a list whose label is the thing: "**Primary cell:** ..."."""
    label = _LABEL.match(statement.text) if statement.is_item else None
    return label is not None and label[1].lower().startswith(thing.name.lower())


def _point_of(first: Statement, statements: Sequence[Statement]) -> list[Statement]:
    """The sentences of a point of a list that begins with this one, as far as they fit into a cell."""
    point, room = [first], CELL_COLUMNS - columns(first.text)
    behind = [s for s in statements if s.source is first.source and s.position > first.position]
    for statement in takewhile(lambda s: s.heading == first.heading and not (s.is_item or s.is_row), behind):
        room -= columns(statement.text)
        if room < 0:
            break
        point.append(statement)
    return point


@dataclass(frozen=True, slots=True)
class _Given:
    """What a table of a source says of both things."""

    corner: str  # above the first column
    names: list[str]  # of the things, as the table has them
    rows: list[list[str]]  # what is told, and the cells of both
    is_named: bool  # the question names what is told
    are_rows: bool  # the things are rows of the table


@dataclass(frozen=True, slots=True)
class _Aspects:
    """What a question wants to know of both things."""

    question: str  # in lower case
    words: frozenset[str]  # of it beside the things


def _given_tables(
    source: Source, things: tuple[Thing, Thing], aspects: _Aspects, tokenizer: Tokenizer, words: Wording
) -> Iterator[_Given]:
    """What each table of the source says of both things, which are two of its columns or two of its rows.

    Only the lines that the aspects name, where they name some.
    """
    for source_table in tables(source.text.splitlines()):
        places = [_place(source_table.head, thing, tokenizer) for thing in things]
        if None not in places and places[0] != places[1] and 0 not in places:
            thing_columns = [p for p in places if p is not None]
            lines, is_named = _lines_named(source_table.rows, aspects, tokenizer)
            rows = [[cells[0], *(cite(cells[p], source.number, words) for p in thing_columns)] for cells in lines]
            yield _Given(
                source_table.head[0], [source_table.head[p] for p in thing_columns], rows, is_named, are_rows=False
            )
            continue
        names = [cells[0] for cells in source_table.rows]
        places = [_place_of_row(names, thing, other, tokenizer) for thing, other in (things, things[::-1])]
        if None not in places and places[0] != places[1]:
            thing_rows = [source_table.rows[p] for p in places if p is not None]
            cells = [
                [cite(row[at], source.number, words) for row in thing_rows] for at in range(1, len(source_table.head))
            ]
            rows, is_named = _lines_named(
                [[name, *row] for name, row in zip(source_table.head[1:], cells, strict=True)], aspects, tokenizer
            )
            yield _Given(source_table.head[0], [row[0] for row in thing_rows], rows, is_named, are_rows=True)


def _lines_named(
    lines: Sequence[Sequence[str]], aspects: _Aspects, tokenizer: Tokenizer
) -> tuple[list[list[str]], bool]:
    """The lines whose first cell has one of the words, or is one for what is asked; all of them where none is.

    And whether one is. "Noise" asks for the sound pressure.
    """
    matching = [
        line
        for line in lines
        if not aspects.words.isdisjoint(tokenizer.words(line[0]))
        or is_asked_by_group(aspects.question, line[0].lower())
    ]
    return [list(line) for line in matching or lines], bool(matching)


def _place(head: Sequence[str], thing: Thing, tokenizer: Tokenizer) -> int | None:
    return next((at for at, cell in enumerate(head) if thing.words <= set(tokenizer.words(cell))), None)


def _place_of_row(names: Sequence[str], thing: Thing, other: Thing, tokenizer: Tokenizer) -> int | None:
    """The row that is named after this thing and not the other one; None where several are, or none is.

    A word that both have, such as "access", may be missing from the names of the rows: it is what the table is about.
    """
    distinctive, foreign = thing.words - other.words, other.words - thing.words
    places = []
    for at, name in enumerate(names):
        row_words = set(tokenizer.words(name))
        is_named = (
            distinctive <= row_words if distinctive else bool(thing.words & row_words) and not foreign & row_words
        )
        if is_named and not (foreign and foreign <= row_words):
            places.append(at)
    return places[0] if len(places) == 1 else None
