"""Blocks to atoms, the smallest parts that a chunk border may separate, with the captions of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from ragcore.ports import TokenCounter
from ragcore.text.sentences import split_sentences
from ragcore.types import Block

CaptionKind = Literal["table", "figure"]

MAX_CHARACTERS = 200
_NUMBER = r"[A-Z]?[.\-‑–]?\d[\d.\-‑–]*[a-z]?"
_CAPTIONS: tuple[tuple[CaptionKind, re.Pattern[str]], ...] = (
    ("table", re.compile(rf"(?:(?i:table|tab\.)\s*{_NUMBER}|[表錶]\s*(?:{_NUMBER}|[一二三四五六七八九十]+))")),
    ("figure", re.compile(rf"(?:(?i:figure|fig\.)\s*{_NUMBER}|[图圖]\s*(?:{_NUMBER}|[一二三四五六七八九十]+))")),
)
# "Table 3 lists …" and "表3所示" are sentences about a table, not its name
_SENTENCE = re.compile(
    r"\s*(?:[所中给給列显顯描说說是为為可与與和及、，]|(?:and|shows?|lists?|gives?|contains?|presents?|illustrates?"
    r"|summari[sz]es?|describes?|depicts?|is|are|in|of|on)\b)"
)

OVERSIZE = 4  # times the limit: beyond this even code, formulas and table rows are cut
PARENT_SHARE = 12  # of the limit is the most that a chunk repeats of each item above its first one
SENTENCE_SHARE = 0.75  # of the limit: a longer sentence is cut, so that heading and overlap still fit beside it
CUT_SHARE = 0.75  # of a window; a cut further behind might be another one if more of the text were known
CHARS_A_TOKEN = 16  # more than any text has on average; bounds how much of a long text is counted at once
AtomKind = Literal["heading", "sentence", "row", "solid"]
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?[0-9a-zA-Z一二三四五六七八九十]{1,4}[.)、）]|第.{1,6}[条款项章])\s*")
_BLANK = re.compile(r"\s*")
_RULE = re.compile(r"[\s:|-]+")
_FENCE = re.compile(r"(?P<open>(?P<fence>`{3,}+|~{3,}+)[^\n]*\n)(?P<body>.*?)\n?(?P=fence)[`~]*\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Captions:
    """What the captions of some blocks mean for chunk borders."""

    keeps_next: frozenset[int] = frozenset()  # blocks that no border may separate from the block behind them
    titles: dict[int, str] = field(default_factory=dict)  # table -> the caption in front of it


def caption_kind(text: str) -> CaptionKind | None:
    """What a line such as "Table 3: Timers" or "图 2 系统结构" names; None for anything else."""
    plain = text.strip().strip("*_ ")
    if "\n" in plain or len(plain) > MAX_CHARACTERS:
        return None
    for kind, pattern in _CAPTIONS:
        match = pattern.match(plain)
        if match and not _SENTENCE.match(plain, match.end()):
            return kind
    return None


def find_captions(blocks: Sequence[Block]) -> Captions:
    """Captions with their tables and images.

    A table's caption stands above it, or below where no table follows; a figure's below it, or above where no image
    precedes.
    """
    keeps_next: set[int] = set()
    titles: dict[int, str] = {}
    for index, block in enumerate(blocks):
        kind = caption_kind(block.text) if block.kind == "paragraph" else None
        if kind is None:
            continue
        before = blocks[index - 1].kind if index else None
        after = blocks[index + 1].kind if index + 1 < len(blocks) else None
        if kind == "table" and after == "table":
            keeps_next.add(index)
            titles[index + 1] = block.text.strip()
        elif before == ("table" if kind == "table" else "image"):
            keeps_next.add(index - 1)
        elif kind == "figure" and after == "image":
            keeps_next.add(index)
    return Captions(frozenset(keeps_next), titles)


@dataclass(frozen=True, slots=True)
class Frame:
    """What encloses the atoms of one block in every chunk that has some of them."""

    lead: str = ""  # the head of a table, the opening fence of code, the items above one of a nested list
    tail: str = ""
    title: str = ""  # the caption of a table, for the chunks that do not hold the caption itself
    tokens: int = 0  # of all three


NO_FRAME = Frame()


@dataclass(frozen=True, slots=True)
class Atom:
    """Text that stays together."""

    block: int
    kind: AtomKind
    text: str  # with the white space behind it
    tokens: int
    frame: Frame = NO_FRAME
    keeps_next: bool = False  # a heading or a caption: no chunk should end behind it


def render_atoms(atoms: Sequence[Atom]) -> str:
    """The Markdown of consecutive atoms."""
    parts: list[str] = []
    last: int | None = None  # the block before
    for block, members in groupby(atoms, key=lambda atom: atom.block):
        group = list(members)
        frame = group[0].frame
        if frame.title and last != block - 1:
            parts.append(frame.title)
        parts.append((frame.lead + "".join(atom.text for atom in group) + frame.tail).strip("\n").rstrip())
        last = block
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class Atomiser:
    """Cuts blocks for chunks of at most `limit` tokens."""

    counter: TokenCounter
    limit: int

    def all_atoms(self, blocks: Sequence[Block], start: int, end: int) -> list[Atom]:
        """The atoms of blocks[start:end]; captions stay with what they name."""
        captions = find_captions(blocks[start:end])
        atoms: list[Atom] = []
        for index in range(start, end):
            atoms.extend(self.atoms(index, blocks[index], captions.titles.get(index - start, "")))
            if index - start in captions.keeps_next and atoms[-1].tokens <= self.limit // 4:
                atoms[-1] = replace(atoms[-1], keeps_next=True)
        return atoms

    def atoms(self, index: int, block: Block, title: str = "") -> list[Atom]:
        """The atoms of one block; joined they are its Markdown. `title` is the caption of a table."""
        text = block.markdown()
        if block.kind == "table":
            return list(self._table(index, text, title))
        if block.kind == "list":
            items = _with_parents(text) if block.is_nested else ((item, ()) for item in list_items(text))
            return [atom for item, above in items for atom in self._item(index, item, self._parents(above))]
        if block.kind == "paragraph":
            return list(self._sentences(index, text))
        tokens = self.counter.count(text)
        if block.kind in ("code", "formula"):
            whole = tokens <= OVERSIZE * self.limit
            return [Atom(index, "solid", text, tokens)] if whole else list(self._code(index, text))
        if tokens > self.limit // 4:
            return list(self._sentences(index, text))
        if block.kind == "heading":
            return [Atom(index, "heading", text, tokens, keeps_next=True)]
        return [Atom(index, "solid", text, tokens)]

    def _item(self, index: int, text: str, frame: Frame) -> Iterator[Atom]:
        """A list item stays whole unless it is long."""
        tokens = self.counter.count(text)
        if tokens <= self.limit // 2:
            yield Atom(index, "sentence", text, tokens, frame)
        else:
            yield from self._sentences(index, text, frame)

    def _parents(self, lines: Sequence[str]) -> Frame:
        """The beginnings of the items above one, for a chunk that begins with it."""
        if not lines or len(lines) > 2 * self.limit:  # such a frame would leave no room
            return NO_FRAME
        short = (self.counter.truncate(line, self.limit // PARENT_SHARE).rstrip() for line in lines)
        return self._frame("".join(f"{line}\n" for line in short), "", "")

    def _sentences(self, index: int, text: str, frame: Frame = NO_FRAME) -> Iterator[Atom]:
        for sentence in split_sentences(text):
            yield from self._pieces(index, "sentence", sentence, int(self.limit * SENTENCE_SHARE), frame)

    def _pieces(self, index: int, kind: AtomKind, text: str, limit: int, frame: Frame = NO_FRAME) -> Iterator[Atom]:
        """One atom, or several where the text is longer than `limit` tokens."""
        start, size = 0, 2 * limit
        while start < len(text):
            rest = text[start : start + limit * CHARS_A_TOKEN]
            is_last = start + len(rest) == len(text)
            if is_last and (tokens := self.counter.count(rest)) <= limit:
                yield Atom(index, kind, rest, tokens, frame)
                return
            part = self._head(rest, limit, size)
            end = _blank_end(text, start + len(part))  # white space behind the cut belongs to the part before it
            size = 3 * len(part) // 2 + 1  # what follows is likely to be like it
            part = text[start:end]
            yield Atom(index, kind, part, self.counter.count(part), frame)
            start = end

    def _head(self, text: str, limit: int, size: int) -> str:
        """The longest beginning of at most `limit` tokens, never empty; it is looked for in `size` characters first.

        A counter reads all that it is given, so that what is far behind the cut is not shown to it.
        """
        while True:
            head = self.counter.truncate(text[:size], limit)
            if size >= len(text) or len(head) <= CUT_SHARE * size:
                return head or text[:1]
            size *= 2

    def _table(self, index: int, text: str, title: str) -> Iterator[Atom]:
        """Rows under a head and a caption that each chunk repeats, unless these are as long as a chunk."""
        lines = text.split("\n")
        head = lines[:2] if len(lines) > 2 and _RULE.fullmatch(lines[1]) else []
        frame = self._frame("".join(f"{line}\n" for line in head), "", title)
        if not frame.lead:
            head = []
        for line in lines[len(head) :]:
            yield from self._pieces(index, "row", f"{line}\n", OVERSIZE * self.limit, frame)

    def _frame(self, lead: str, tail: str, title: str) -> Frame:
        """As much of a frame as leaves half of a chunk for what it encloses."""
        for frame in (Frame(lead, tail, title), Frame(lead, tail)):
            tokens = self.counter.count(f"{frame.title}\n\n{frame.lead}{frame.tail}")
            if tokens <= self.limit // 2:
                return replace(frame, tokens=tokens)
        return NO_FRAME

    def _code(self, index: int, text: str) -> Iterator[Atom]:
        """Lines between fences that each chunk gets again."""
        fenced = _FENCE.match(text)
        body, lead, tail = (fenced["body"], fenced["open"], fenced["fence"]) if fenced else (text, "", "")
        frame = Frame(lead, tail, tokens=self.counter.count(lead + tail))
        for line in body.split("\n"):
            yield from self._pieces(index, "row", f"{line}\n", self.limit // 2, frame)


def list_items(text: str) -> list[str]:
    """Items with their continuation lines; joined they are the text."""
    items: list[str] = []
    for line in text.splitlines(keepends=True):
        if items and not _ITEM.match(line):
            items[-1] += line
        else:
            items.append(line)
    return items


def _with_parents(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Items with the first lines of the items that they stand below, outermost first."""
    above: list[str] = []
    for item in list_items(text):
        depth = _margin(item)
        while above and _margin(above[-1]) >= depth:
            above.pop()
        yield item, tuple(above)
        above.append(item.split("\n", 1)[0])


def _blank_end(text: str, at: int) -> int:
    """Where the white space that begins there ends."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
