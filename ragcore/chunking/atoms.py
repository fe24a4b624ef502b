"""Blocks to atoms, the smallest parts that a chunk border may separate (D11): sentences, list items, table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ragcore.ports import TokenCounter
from ragcore.text.sentences import split_sentences
from ragcore.types import Block

OVERSIZE = 4  # times the limit: beyond this even code, formulas and table rows are cut
SENTENCE_SHARE = 0.75  # of the limit: a longer sentence is cut, so that heading and overlap still fit beside it
CHARS_A_TOKEN = 16  # more than any text has on average; bounds how much of a long text is counted at once

AtomKind = Literal["heading", "sentence", "row", "solid"]

_ITEM = re.compile(r"\s*(?:[-*+•]|\(?[0-9a-zA-Z一二三四五六七八九十]{1,4}[.)、）]|第.{1,6}[条款项章])\s*")
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*")
_FENCE = re.compile(r"(?P<open>(?P<fence>`{3,}|~{3,})[^\n]*\n)(?P<body>.*?)\n?(?P=fence)[`~]*\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Atom:
    """Text that stays together. `lead` and `tail` enclose the atoms of one block in every chunk that has some."""

    block: int
    kind: AtomKind
    text: str  # with the white space behind it
    tokens: int
    lead: str = ""  # the head of a table, the opening fence of code
    tail: str = ""
    lead_tokens: int = 0  # of lead and tail


def render(atoms: Sequence[Atom]) -> str:
    """The Markdown of consecutive atoms."""
    groups = (list(group) for _, group in groupby(atoms, key=lambda atom: atom.block))
    parts = (group[0].lead + "".join(atom.text for atom in group) + group[0].tail for group in groups)
    return "\n\n".join(part.strip("\n").rstrip() for part in parts)


@dataclass(frozen=True, slots=True)
class Atomiser:
    """Cuts blocks for chunks of at most `limit` tokens."""

    counter: TokenCounter
    limit: int

    def atoms(self, index: int, block: Block) -> list[Atom]:
        """The atoms of one block; joined they are its Markdown."""
        text = block.markdown()
        tokens = self.counter.count(text)
        if block.kind == "heading" and tokens <= self.limit // 4:
            return [Atom(index, "heading", text, tokens)]
        if block.kind == "table":
            return list(self._table(index, text))
        if block.kind in ("code", "formula"):
            if tokens <= OVERSIZE * self.limit:
                return [Atom(index, "solid", text, tokens)]
            return list(self._code(index, text))
        if block.kind == "image" and tokens <= self.limit // 4:
            return [Atom(index, "solid", text, tokens)]
        parts = list_items(text) if block.kind == "list" else [text]
        return [atom for part in parts for atom in self._sentences(index, part, block.kind == "list")]

    def _sentences(self, index: int, text: str, keep_whole: bool = False) -> Iterator[Atom]:
        """Sentences; a list item stays whole unless it is long."""
        whole = self.counter.count(text)
        if keep_whole and whole <= self.limit // 2:
            yield Atom(index, "sentence", text, whole)
            return
        for sentence in split_sentences(text):
            yield from self._pieces(index, "sentence", sentence, int(self.limit * SENTENCE_SHARE))

    def _pieces(self, index: int, kind: AtomKind, text: str, limit: int, lead: Atom | None = None) -> Iterator[Atom]:
        """One atom, or several where the text is longer than `limit` tokens."""
        while text:
            part = self._head(text, limit)
            tokens = self.counter.count(part)
            if lead is None:
                yield Atom(index, kind, part, tokens)
            else:
                yield Atom(index, kind, part, tokens, lead.lead, lead.tail, lead.lead_tokens)
            text = text[len(part) :]

    def _head(self, text: str, limit: int) -> str:
        """The longest beginning of at most `limit` tokens, never empty."""
        window = text[: limit * CHARS_A_TOKEN]
        if len(window) == len(text) and self.counter.count(text) <= limit:
            return text
        head = self.counter.truncate(window, limit)
        if not head:
            return text[:1]
        # white space behind the cut belongs to the part before it
        return head + text[len(head) : len(head) + len(text[len(head) :]) - len(text[len(head) :].lstrip())]

    def _table(self, index: int, text: str) -> Iterator[Atom]:
        """Rows under a head that each chunk repeats, unless the head itself is as long as a chunk."""
        lines = text.split("\n")
        head = lines[:2] if len(lines) > 2 and _RULE.fullmatch(lines[1]) else []
        lead = "".join(f"{line}\n" for line in head)
        lead_tokens = self.counter.count(lead) if lead else 0
        if lead_tokens > self.limit // 2:
            head, lead, lead_tokens = [], "", 0
        frame = Atom(index, "row", "", 0, lead, "", lead_tokens)
        for line in lines[len(head) :]:
            yield from self._pieces(index, "row", f"{line}\n", OVERSIZE * self.limit, frame)

    def _code(self, index: int, text: str) -> Iterator[Atom]:
        """Lines between fences that each chunk gets again."""
        fenced = _FENCE.match(text)
        body, lead, tail = (fenced["body"], fenced["open"], fenced["fence"]) if fenced else (text, "", "")
        frame = Atom(index, "row", "", 0, lead, tail, self.counter.count(lead + tail) if lead else 0)
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
