"""The tree of headings over the blocks of a document, and the outline of a long section.

The outline stands for a section that is too long to be a chunk: heading path, first sentences, child headings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragcore.ports import TokenCounter
from ragcore.text.sentences import split_sentences
from ragcore.text.source_code import heading_name
from ragcore.types import Block

SUMMARY_TOKENS = 300
BEGINNING_SHARE = 0.4  # of these, for the first sentences of the section itself
PATH_SEPARATOR = " › "


@dataclass(slots=True)
class Section:
    """Blocks from `start` to `end` (exclusive), the heading included; `path` are the headings down to here."""

    start: int
    end: int
    level: int  # 0: the document itself
    path: tuple[str, ...] = ()
    children: list[Section] = field(default_factory=list)

    @property
    def own_end(self) -> int:
        """Where the first child begins."""
        return self.children[0].start if self.children else self.end


def section_tree(blocks: Sequence[Block]) -> Section:
    """The document as a section of level 0; levels may be skipped, each heading ends those at or below its level."""
    root = Section(0, len(blocks), 0)
    stack = [root]
    for index, block in enumerate(blocks):
        if block.kind != "heading":
            continue
        while len(stack) > 1 and stack[-1].level >= block.level:
            stack.pop().end = index
        path = (*stack[-1].path, heading_name(block.text))
        section = Section(index, len(blocks), max(block.level, 1), path)
        stack[-1].children.append(section)
        stack.append(section)
    _lend_bare_headings(root, blocks)
    return root


def _lend_bare_headings(section: Section, blocks: Sequence[Block]) -> None:
    """A heading that only other headings follow begins the first of them: no chunk should be a heading alone."""
    pending = [section]
    while pending:
        current = pending.pop()
        lines_before_children = range(current.start, current.own_end)
        if (
            current.level
            and current.children
            and all(blocks[index].kind == "heading" for index in lines_before_children)
        ):
            current.children[0].start = current.start
        pending.extend(current.children)


def walk_sections(section: Section) -> Iterator[Section]:
    """A section and all below it, in reading order."""
    pending = [section]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))


def outline_section(section: Section, blocks: Sequence[Block], counter: TokenCounter, limit: int) -> str:
    """An extract of at most `limit` tokens: heading path, first sentences, child headings with theirs."""
    text = counter.truncate(PATH_SEPARATOR.join(section.path), limit)
    text = _append_while_it_fits(
        text, "\n\n", _sentences(section, blocks), counter, max(limit * BEGINNING_SHARE, counter.count(text))
    )
    titles = [child.path[-1] for child in section.children]
    if counter.count("\n".join((text, "", *(f"- {title}" for title in titles)))) > limit:
        return _append_while_it_fits(text, "\n\n- ", titles, counter, limit, between="\n- ")
    entries = [f"- {title}" for title in titles]
    for index, child in enumerate(section.children):
        first = next(iter(_sentences(child, blocks)), "")
        longer = [*entries[:index], f"{entries[index]}: {first}", *entries[index + 1 :]]
        if first and counter.count("\n".join((text, "", *longer))) <= limit:
            entries = longer
    return "\n".join((text, "", *entries))


def _sentences(section: Section, blocks: Sequence[Block]) -> list[str]:
    """Sentences of the section's own paragraphs."""
    own_blocks = blocks[section.start : section.own_end]
    by_block = (split_sentences(block.text) for block in own_blocks if block.kind == "paragraph")
    return [" ".join(sentence.split()) for sentences in by_block for sentence in sentences if sentence.strip()]


def _append_while_it_fits(
    text: str, opening: str, parts: Sequence[str], counter: TokenCounter, limit: float, *, between: str = " "
) -> str:
    """`text` with as many parts as fit."""
    for number, part in enumerate(parts):
        longer = text + (between if number else opening) + part
        if counter.count(longer) > limit:
            break
        text = longer
    return text
