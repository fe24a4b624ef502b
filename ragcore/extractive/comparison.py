"""Two things side by side: a table of what the sources say of each (A2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcore.extractive.formatting import Wording, cite, join_cited, table
from ragcore.extractive.markdown import tables
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.scripts import columns
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

MAX_ROWS = 8
MAX_SAID = 2  # sentences of each thing
CELL_COLUMNS = 260

_THINGS = (
    re.compile(r"(?:differences?|comparison|contrast|distinction)s?\s+between\s+(.+?)\s+and\s+(.+)", re.IGNORECASE),
    re.compile(r"compare\s+(.+?)\s+(?:and|with|to|against)\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:is|are|does|do|did)\s+(.+?)\s+(?:differ(?:ent)?|distinguished)\s+from\s+(.+)", re.IGNORECASE),
    re.compile(r"how (?:do|does|did)\s+(.+?)\s+and\s+(.+?)\s+(?:differ|compare)\b", re.IGNORECASE),
    re.compile(r"(?:what is\s+)?(.+?)\s+(?:vs\.?|versus|compared (?:to|with))\s+(.+)", re.IGNORECASE),
    re.compile(
        r"(?:请问|請問|比较|比較|对比|對比)?(?:一下)?(.+?)\s*(?:和|与|與|跟|同|相比|相较|相較|对比|對比|[vV][sS]\.?)\s*(.+?)"
        r"(?:之间|之間|两者|兩者|相比|的|在|有|，|,)*(?:什么|什麼|何|哪些)?(?:的)?"
        r"(?:主要)?(?:区别|區別|差异|差異|不同|异同|異同|比较|比較|对比|對比|差别|差別|优劣|優劣).*"
    ),
    re.compile(r"^(?:比较|比較|对比|對比)(?:一下)?(.+?)(?:和|与|與|跟)(.+)"),
)
_TAIL = re.compile(r"\s*(?:\?|？|。|\.|,.*| in (?:terms|general).*|for .*)\s*$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_LABELLED = re.compile(r"([^:：]{2,24})[:：]\s*(\S.*)")


@dataclass(frozen=True, slots=True)
class Thing:
    """One of two compared things."""

    name: str
    words: frozenset[str]


def find_compared(question: str, tokenizer: Tokenizer) -> tuple[Thing, Thing] | None:
    """The two things that a question compares; None if it names none."""
    for pattern in _THINGS:
        if match := pattern.search(question.strip()):
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
    rows = [*_aspects(sides, words), *_said(sides, words)]
    both = [s for s in ranked if all(t.words <= set(s.terms) for t in things)][:1]
    lead = f"{join_cited(both, words)}\n\n" if both else ""
    return lead + table([words.aspect, things[0].name, things[1].name], rows[:MAX_ROWS])


def _is_about(statement: Statement, thing: Thing, other: Thing) -> bool:
    """The sentence names the thing, or stands under its name, and does not name the other one."""
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


def _said(sides: Sequence[Sequence[Statement]], words: Wording) -> Iterator[list[str]]:
    """One row with the best sentences of each side."""
    cells = []
    for side in sides:
        plain = [s for s in side if not _LABELLED.fullmatch(s.text)][:MAX_SAID]
        cells.append(join_cited(sorted(plain, key=lambda s: (s.source.number, s.position)), words))
    if any(cells):
        yield [words.said, *cells]


def _given_table(source: Source, things: tuple[Thing, Thing], tokenizer: Tokenizer, words: Wording) -> str | None:
    """The columns of both things from a table of the source itself."""
    for given in tables(source.text.splitlines()):
        places = [_column(given.head, thing, tokenizer) for thing in things]
        if None in places or places[0] == places[1] or 0 in places:
            continue
        wanted = [p for p in places if p is not None]
        rows = [[cells[0], *(cite(cells[p], source.number, words) for p in wanted)] for cells in given.rows]
        return table([given.head[0] or words.aspect, *(given.head[p] for p in wanted)], rows[:MAX_ROWS])
    return None


def _column(head: Sequence[str], thing: Thing, tokenizer: Tokenizer) -> int | None:
    return next((at for at, cell in enumerate(head) if thing.words <= set(tokenizer.words(cell))), None)
