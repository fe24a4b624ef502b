"""Answers that a document already gives in one piece: the section whose heading is the question (A2, A4).

"What triggers X?" under the heading "Triggers of X" is answered by its list, "The four steps of X?" by its
subsections. Only sections whose heading holds every content word of the question count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ragcore.ports import Tokenizer
from ragcore.providers.extractive_sentences import plain_sentences, plain_text
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

MAX_ITEMS = 9
MIN_ITEMS = 2
MIN_PRECISION = 0.5  # share of the heading's own content words that the question asks for

_HEADING = re.compile(r"(#{1,6})\s+(.*\S)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,3}[.)])\s+(.*\S)")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[一二三四五六七八九十]+、)\s*")


@dataclass(slots=True)
class Section:
    """A heading of a source with what stands below it, until the next heading."""

    source: Source
    level: int
    title: str
    lines: list[str] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)

    def intro(self) -> str:
        """The first sentence before any list or table; empty if there is none."""
        before = []
        for line in self.lines:
            if _ITEM.match(line) or line.lstrip().startswith(("|", "`", "$")):
                break
            before.append(line)
        return next(iter(plain_sentences("\n".join(before))), "")

    def items(self) -> list[tuple[str, Source]]:
        """The points of its list, or its subsections with their first sentence."""
        listed = [(plain_text(match[1]), self.source) for line in self.lines if (match := _ITEM.match(line))]
        if len(listed) >= MIN_ITEMS:
            return listed
        return [(f"**{_unnumbered(c.title)}** {c.intro()}".strip(), c.source) for c in self.children]


@dataclass(frozen=True, slots=True)
class SectionAnswer:
    """A sentence that introduces and the points that answer, each with its source."""

    intro: str
    source: Source
    items: tuple[tuple[str, Source], ...]


def section_answer(question: str, sources: Sequence[Source], tokenizer: Tokenizer) -> SectionAnswer | None:
    """The best section whose heading asks the question and that holds a list; None in most cases."""
    asked = _content_words(question, tokenizer)
    if not asked:
        return None
    best: tuple[float, Section] | None = None
    for section in _sections(sources):
        heading = _content_words(section.title, tokenizer)
        about = heading | _content_words(section.source.passage.title, tokenizer)
        if not (asked & heading) or not asked <= about:
            continue
        precision = len(asked & heading) / len(heading)
        if precision >= MIN_PRECISION and (best is None or precision > best[0]):
            best = (precision, section)
    if best is None:
        return None
    items = best[1].items()
    if not MIN_ITEMS <= len(items) <= MAX_ITEMS:
        return None
    return SectionAnswer(best[1].intro(), best[1].source, tuple(items))


def _sections(sources: Sequence[Source]) -> Iterator[Section]:
    """Sections of the sources, chunks of one document read on where they are neighbours."""
    open_sections: list[Section] = []
    last: Source | None = None
    for source in sorted(sources, key=lambda s: (s.passage.document, s.passage.ordinal)):
        if last is None or not _follows(last, source):
            open_sections = []
        last = source
        for line in source.text.splitlines():
            heading = _HEADING.fullmatch(line.strip())
            if heading is None:
                if open_sections:
                    open_sections[-1].lines.append(line)
                continue
            section = Section(source, len(heading[1]), heading[2])
            while open_sections and open_sections[-1].level >= section.level:
                open_sections.pop()
            if open_sections:
                open_sections[-1].children.append(section)
            open_sections.append(section)
            yield section


def _follows(before: Source, after: Source) -> bool:
    same = before.passage.version == after.passage.version
    return same and after.passage.ordinal == before.passage.ordinal + 1


def _content_words(text: str, tokenizer: Tokenizer) -> frozenset[str]:
    words = set(tokenizer.words(_unnumbered(text)))
    return frozenset(word for word in words - stop_words() - _aspects() if not word.isdigit())


def _unnumbered(title: str) -> str:
    return _NUMBER.sub("", title)


@cache
def _aspects() -> frozenset[str]:
    """Words that say which side of a thing is asked for, not which thing."""
    lines = files("ragcore.providers").joinpath("aspects.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
