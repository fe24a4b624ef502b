"""Paragraphs that are items of a list by their level: one nested list for each run of them.

Some documents say by a style or by a label such as `2>` how deep a paragraph stands below others. The level is part of
what it says: `2>` holds only where the `1>` above it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ragcore.types import Block, Box

LevelOf = Callable[[str, str], int]  # style and line -> level from 1 on; 0: no item

MAX_BETWEEN = 3  # plain paragraphs, such as notes, between two items that belong together
_BULLET = re.compile(r"[-–—•*·]\s+")


def nest_lists(blocks: Iterable[Block], level_of: LevelOf) -> list[Block]:
    """The blocks with their items as nested lists; all else stays as it is, in its order. Idempotent.

    Levels count relative to each other, so that every list begins at its margin. A label stays, a bullet becomes the
    mark of the item, further lines belong to their item. So do a few plain paragraphs before an item that stands deeper
    than where the list began.
    """
    nesting = _Nesting()
    for block in blocks:
        lines = block.text.split("\n") if block.kind == "paragraph" else []
        levels = [level_of("" if at else block.style, line) for at, line in enumerate(lines)]
        if any(levels):
            nesting.add(block, lines, levels)
        elif block.kind == "paragraph":
            nesting.wait(block)
        else:
            nesting.end()
            nesting.done.append(block)
    nesting.end()
    return nesting.done


class _Nesting:
    """The blocks so far, the open list, and the plain paragraphs behind it that may belong to it."""

    def __init__(self) -> None:
        self.done: list[Block] = []
        self._members: list[Block] = []  # of the open list
        self._lines: list[str] = []
        self._levels: list[int] = []  # of the last item and of those above it
        self._waiting: list[Block] = []

    def add(self, block: Block, lines: Sequence[str], levels: Sequence[int]) -> None:
        """Items of one paragraph; what stands in front of them is a paragraph of its own."""
        first = next(at for at, level in enumerate(levels) if level)
        if first:
            self.wait(Block(kind="paragraph", text="\n".join(lines[:first]), page=block.page, box=block.box))
        self._settle(block, levels[first])
        self._members.append(block)
        for line, level in zip(lines[first:], levels[first:], strict=True):
            if level:
                self._item(line, level)
            elif line.strip():
                self._lines.append(f"{self._margin()}{line.strip()}")

    def wait(self, block: Block) -> None:
        self._waiting.append(block)
        if not self._lines or len(self._waiting) > MAX_BETWEEN:
            self.end()

    def end(self) -> None:
        """Write the open list and what waits behind it."""
        if self._lines:
            page, box = self._members[0].page, _around([member.box for member in self._members])
            self.done.append(Block(kind="list", text="\n".join(self._lines), page=page, box=box, is_nested=True))
        self.done += self._waiting
        self._members, self._lines, self._levels, self._waiting = [], [], [], []

    def _settle(self, block: Block, level: int) -> None:
        """Take what waits into the list where the next item goes on below its first one, else end it."""
        joining = [*self._waiting, block]
        goes_on = not self._waiting or level > self._levels[0]
        if self._lines and not (goes_on and all(item.page == self._members[0].page for item in joining)):
            self.end()
        for paragraph in self._waiting:
            lines = (f"{self._margin()}{line.strip()}" for line in paragraph.text.split("\n"))
            self._lines += ["", *lines, ""]
            self._members.append(paragraph)
        self._waiting = []

    def _item(self, line: str, level: int) -> None:
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        text = line.strip()
        bullet = _BULLET.match(text)
        self._lines.append(f"{'  ' * len(self._levels)}- {text[bullet.end() :] if bullet else text}")
        self._levels.append(level)

    def _margin(self) -> str:
        return "  " * len(self._levels)


def _around(boxes: Sequence[Box | None]) -> Box | None:
    """The box around boxes of one page; None where one is missing."""
    given_boxes = [box for box in boxes if box is not None]
    if not given_boxes or len(given_boxes) < len(boxes):
        return None
    return Box(
        page=given_boxes[0].page,
        x0=min(box.x0 for box in given_boxes),
        y0=min(box.y0 for box in given_boxes),
        x1=max(box.x1 for box in given_boxes),
        y1=max(box.y1 for box in given_boxes),
    )
