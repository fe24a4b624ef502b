"""The tree of headings over the blocks of a document (D11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragcore.types import Block


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
        path = (*stack[-1].path, block.text.strip())
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
        own = range(current.start, current.own_end)
        if current.level and current.children and all(blocks[index].kind == "heading" for index in own):
            current.children[0].start = current.start
        pending.extend(current.children)


def walk(section: Section) -> Iterator[Section]:
    """A section and all below it, in reading order."""
    pending = [section]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))
