"""The overview of a section: each of its subsections by name, with the sentence that opens it.

"Give an overview of the subsystems" of a document with a section "Subsystems" asks for all that stands directly below
that heading, however long the section is. The summary of a whole document chooses the sentences that say most, and
may pass over half of the subsections.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcore.extractive.formatting import Wording, cite, summary_blocks
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.extractive.summary import summary_runs
from ragcore.extractive.summary_wish import summary_points, wants_summary, wish_words
from ragcore.ports import Tokenizer
from ragcore.text.scripts import columns
from ragcore.types import Passage, Source

MIN_SUBSECTIONS = 2
MAX_SUBSECTIONS = 30  # of more the first ones are named
MIN_COLUMNS = 12  # a shorter sentence says nothing by itself
MAX_COLUMNS = 240  # of a longer one only the name of its subsection is shown
MAX_NAME_SHARE = 2  # a heading is named that has at most so many times the words of the wish

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subsection:
    """A heading below the wanted one. `opening`: the sentence with which it begins; None where there is none."""

    name: str
    number: int  # of the source in which it begins
    opening: Statement | None


def section_overview(wish: str, sources: Sequence[Source], tokenizer: Tokenizer) -> list[Subsection]:
    """The subsections of the section that a wish for a summary names, in the order of the sources.

    `sources`: of one document, in reading order. [] where no heading with at least two others below it is named.
    """
    if not wants_summary(wish):
        return []
    statements = [(_path(statement), statement) for statement in read_statements(sources, tokenizer)]
    titles = " ".join(dict.fromkeys(source.passage.title for source in sources))
    words = wish_words(wish, tokenizer) - set(tokenizer.words(titles))
    section = _named_section(words, [path for path, _statement in statements], tokenizer)
    if section is None:
        return []
    subsections: dict[str, Subsection] = {}
    for path, statement in statements:
        if path[: len(section)] != section or len(path) == len(section):
            continue
        name = path[len(section)]
        if name not in subsections and len(subsections) < MAX_SUBSECTIONS:
            opening = statement if _is_opening(path, section, statement) else None
            subsections[name] = Subsection(name, statement.source.number, opening)
    return list(subsections.values())


def overview_passages(wish: str, passages: Sequence[Passage], tokenizer: Tokenizer) -> list[Passage]:
    """The passages in which the overview of the section that a wish names stands, in their order."""
    sources = [
        Source(number=at, passage=passage, text=passage.text, score=0.0) for at, passage in enumerate(passages, start=1)
    ]
    numbers = {subsection.number for subsection in section_overview(wish, sources, tokenizer)}
    return [source.passage for source in sources if source.number in numbers]


def wanted_summary(wish: str, sources: Sequence[Source], tokenizer: Tokenizer, words: Wording) -> list[str]:
    """The blocks that answer a wish for a summary: the overview of the section that it names, else the main points."""
    if subsections := section_overview(wish, sources, tokenizer):
        return [overview_block(subsections, words)]
    return summary_blocks(summary_runs(sources, tokenizer, most=summary_points(wish), wish=wish), words)


def overview_block(subsections: Iterable[Subsection], words: Wording) -> str:
    """A point for each subsection: its name in bold, its first sentence, the marker of its source."""
    lines = []
    for subsection in subsections:
        name = f"**{subsection.name}**"
        text = f"{name}: {subsection.opening.text}" if subsection.opening else name
        lines.append(f"- {cite(text, subsection.number, words)}")
    return "\n".join(lines)


def _path(statement: Statement) -> Path:
    """The headings above a sentence: those of its passage, and the one that it stands under within the passage."""
    path = statement.source.passage.heading_path
    return path if not statement.heading or statement.heading in path else (*path, statement.heading)


def _named_section(words: set[str], paths: Sequence[Path], tokenizer: Tokenizer) -> Path | None:
    """The shortest path of headings whose last one has all words, which are those of the wish, and not many others."""
    prefixes = dict.fromkeys(path[:depth] for path in paths for depth in range(1, len(path)))
    for prefix in sorted(prefixes, key=len):
        heading_words = set(tokenizer.words(prefix[-1]))
        if not words or not words <= heading_words or len(heading_words) > MAX_NAME_SHARE * len(words) + 1:
            continue
        below = {path[len(prefix)] for path in paths if path[: len(prefix)] == prefix and len(path) > len(prefix)}
        if len(below) >= MIN_SUBSECTIONS:
            return prefix
    return None


def _is_opening(path: Path, section: Path, statement: Statement) -> bool:
    """Whether a sentence stands directly in its subsection and can stand by itself."""
    is_direct = len(path) == len(section) + 1 and not (statement.is_row or statement.is_code)
    return is_direct and MIN_COLUMNS <= columns(statement.text) <= MAX_COLUMNS
