"""A message as a document, whatever format it came in: headers, body, attachments (D9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ragcore.errors import PasswordProtectedError
from ragcore.parsing import MEDIA_TYPE_ENDINGS
from ragcore.parsing.archive.safe_zip import clean_name
from ragcore.parsing.archive.sections import MAX_LEVEL, Nesting, PartsBuilder
from ragcore.parsing.html.parser import base_address, read_html, whole_blocks
from ragcore.parsing.html.pictures import PictureShelf
from ragcore.parsing.parser_errors import finished
from ragcore.types import Block, ParsedDocument

MAX_ATTACHMENTS = 100
MAX_HEADER_CHARACTERS = 2000  # a message to all employees names thousands

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that travels with a message."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What the formats of messages have in common."""

    subject: str
    headers: Sequence[tuple[str, str]]  # label and value, in the order to show them
    bodies: Sequence[tuple[str, str]]  # "html" or "plain", and the text, in the order of the message
    attachments: Sequence[Attachment] = ()
    enclosed: Sequence[Letter] = ()  # attached messages that are no files of their own
    inline: Mapping[str, bytes] = field(default_factory=dict)  # Content-ID without brackets -> picture
    metadata: Mapping[str, str] = field(default_factory=dict)
    encrypted: bool = False


def letter_document(letter: Letter, *, name: str, here: Nesting) -> ParsedDocument:
    """The subject as heading, the headers as a list, the body, and a section for each attachment that can be read.

    Raises EmptyDocumentError or PasswordProtectedError, and UnsafeArchiveError where the attachments are too much.
    """
    if letter.encrypted:
        raise PasswordProtectedError("message", name=name)
    shelf = PictureShelf(lookup=lambda source: _inline(letter, source))
    body = [block for kind, text in letter.bodies for block in _body(kind, text, shelf)]
    parts = PartsBuilder()
    for count, attachment in enumerate(letter.attachments):
        here.allowance.count_bytes(len(attachment.content), name=name)
        if count < MAX_ATTACHMENTS:
            parts.add(attachment.content, path=attachment.name, level=2)
        else:
            parts.skip(attachment.name, "too_many_attachments")
    for inner in letter.enclosed[:MAX_ATTACHMENTS]:
        with parts.noting(inner.subject):
            parts.include(letter_document(inner, name=name, here=here), path=inner.subject, level=2)
    return finished(
        [*_head(letter), *body, *parts.blocks, *parts.remark()],
        name=name,
        title=letter.subject,
        metadata={**letter.metadata, **parts.metadata()},
        pictures=[*shelf.pictures, *parts.pictures],
    )


def _head(letter: Letter) -> Iterator[Block]:
    if letter.subject:
        yield Block(kind="heading", text=letter.subject, level=1)
    said = [*letter.headers, ("Subject", letter.subject)]
    lines = [f"- {label}: {_shortened(value)}" for label, value in said if value]
    if lines:
        yield Block(kind="list", text="\n".join(lines))


def _shortened(value: str) -> str:
    return value if len(value) <= MAX_HEADER_CHARACTERS else f"{value[:MAX_HEADER_CHARACTERS].rstrip()} …"


def _body(kind: str, text: str, shelf: PictureShelf) -> Iterator[Block]:
    if kind == "html":
        soup = read_html(text)
        shelf.base = base_address(soup)
        for block in whole_blocks(soup, shelf):
            yield replace(block, level=min(block.level + 1, MAX_LEVEL)) if block.kind == "heading" else block
        return
    for part in _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        yield Block(kind="paragraph", text=part.strip("\n").rstrip())


def _inline(letter: Letter, source: str) -> bytes | None:
    return letter.inline.get(source[4:].strip("<>")) if source[:4].lower() == "cid:" else None


def shown_names(letter_bodies: Sequence[tuple[str, str]], inline: Mapping[str, bytes]) -> set[str]:
    """Content-IDs of the pictures that the body shows; the others are attachments."""
    text = "\n".join(body for kind, body in letter_bodies if kind == "html")
    return {name for name in inline if f"cid:{name}" in text}


def attachment_name(name: str, media_type: str, *, number: int) -> str:
    """A clean file name with an ending, from the declared type where the name has none."""
    cleaned = clean_name(name).rpartition("/")[2].rpartition("\\")[2]
    ending = MEDIA_TYPE_ENDINGS.get(media_type.lower(), "")
    if not cleaned:
        return f"attachment-{number}{ending}"
    return cleaned if "." in cleaned.strip(".") else f"{cleaned}{ending}"


def date_text(moment: datetime) -> str:
    """2026-03-28 17:00 +0000"""
    return f"{moment:%Y-%m-%d %H:%M %z}".strip()
