"""What stands for a section that is too long to be a chunk: its place, its beginning and what it consists of (D11)."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.chunking.sections import Section
from ragcore.ports import TokenCounter
from ragcore.text.sentences import split_sentences
from ragcore.types import Block

SUMMARY_TOKENS = 300
BEGINNING_SHARE = 0.4  # of these, for the first sentences of the section itself
PATH_SEPARATOR = " › "


def section_text(section: Section, blocks: Sequence[Block], counter: TokenCounter, limit: int) -> str:
    """An extract of at most `limit` tokens: heading path, first sentences, child headings with theirs."""
    text = counter.truncate(PATH_SEPARATOR.join(section.path), limit)
    text = _grown(text, "\n\n", _sentences(section, blocks), counter, max(limit * BEGINNING_SHARE, counter.count(text)))
    titles = [child.path[-1] for child in section.children]
    if counter.count("\n".join((text, "", *(f"- {title}" for title in titles)))) > limit:
        return _grown(text, "\n\n- ", titles, counter, limit, between="\n- ")
    entries = [f"- {title}" for title in titles]
    for index, child in enumerate(section.children):
        first = next(iter(_sentences(child, blocks)), "")
        longer = [*entries[:index], f"{entries[index]}: {first}", *entries[index + 1 :]]
        if first and counter.count("\n".join((text, "", *longer))) <= limit:
            entries = longer
    return "\n".join((text, "", *entries))


def _sentences(section: Section, blocks: Sequence[Block]) -> list[str]:
    """Sentences of the section's own paragraphs."""
    own = blocks[section.start : section.own_end]
    found = (split_sentences(block.text) for block in own if block.kind == "paragraph")
    return [" ".join(sentence.split()) for sentences in found for sentence in sentences if sentence.strip()]


def _grown(
    text: str, opening: str, parts: Sequence[str], counter: TokenCounter, limit: float, *, between: str = " "
) -> str:
    """`text` with as many parts as fit."""
    for number, part in enumerate(parts):
        longer = text + (between if number else opening) + part
        if counter.count(longer) > limit:
            break
        text = longer
    return text
