"""Documents as parsers read them and splitters cut them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "paragraph", "list", "table", "code", "formula", "image"]
ChunkKind = Literal["body", "section", "summary", "whole"]
Language = Literal["zh", "en", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle on a page, in points from the top left corner of the page."""

    page: int  # 1-based
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One structural element of a document as Markdown, in reading order."""

    kind: BlockKind
    text: str  # Markdown; a heading without its leading hashes
    level: int = 0  # headings: 1 to 6; others 0
    page: int | None = None  # 1-based
    box: Box | None = None
    style: str = field(default="", compare=False)  # of a paragraph, as its file names it
    is_nested: bool = False  # a list whose items say nothing without those above them

    def markdown(self) -> str:
        """The block as it stands in the document's Markdown."""
        return f"{'#' * self.level} {self.text}" if self.kind == "heading" else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture inside a document, encoded as the file had it. A block shows it as `![alt](picture:NAME)`."""

    name: str  # unique in the document: ASCII letters, digits, "." "_" "-" only
    media_type: str  # image/png, image/jpeg, image/gif, image/webp, image/bmp, image/tiff
    content: bytes = field(repr=False)
    page: int | None = None  # 1-based
    alt: str = ""  # what the file says about it


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """What a parser found: blocks in reading order and what the file says of itself.

    A parser may leave text unread that only a picture holds: `unread_pages` are pages of a PDF without a text layer,
    and `pictures` are what image blocks show. Character recognition (ragcore.ocr) adds their text later.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    pages: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    unread_pages: tuple[int, ...] = ()  # 1-based, ascending

    def markdown(self) -> str:
        """The whole document as Markdown; blocks separated by a blank line."""
        return "\n\n".join(block.markdown() for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it is stored. `parent` is the ordinal of another draft of the same document."""

    ordinal: int  # 0-based, reading order
    text: str  # Markdown
    tokens: int
    kind: ChunkKind = "body"
    heading_path: tuple[str, ...] = ()
    parent: int | None = None
    is_continuation: bool = False  # inherits the heading of the chunk before it
    page: int | None = None  # first page, 1-based
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """A decoded picture: rows from the top, 8 bits a channel, no padding."""

    width: int
    height: int
    channels: int  # 1 grey, 3 RGB
    data: bytes = field(repr=False)  # height * width * channels


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedLine:
    """A line of text that was read from a picture; the box is in pixels from the top left."""

    text: str
    score: float  # 0 to 1, higher is surer
    x0: float
    y0: float
    x1: float
    y1: float
