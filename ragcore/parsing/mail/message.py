"""A message as a document, whatever format it came in: headers, body, attachments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ragcore.errors import PasswordProtectedError
from ragcore.parsing import MEDIA_TYPE_ENDINGS
from ragcore.parsing.archive.safe_zip import clean_name
from ragcore.parsing.archive.sections import MAX_LEVEL, ContainerState, PartsBuilder
from ragcore.parsing.html.parser import all_blocks, base_address, read_html
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.parser_errors import build_document
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
class MailMessage:
    """What the formats of messages have in common."""

    subject: str
    headers: Sequence[tuple[str, str]]  # label and value, in the order to show them
    bodies: Sequence[tuple[str, str]]  # "html", "plain" or "calendar", and the text, in the order of the message
    attachments: Sequence[Attachment] = ()
    attached_messages: Sequence[MailMessage] = ()  # attached messages that are no files of their own
    inline: Mapping[str, bytes] = field(default_factory=dict)  # Content-ID without brackets -> picture
    metadata: Mapping[str, str] = field(default_factory=dict)
    encrypted: bool = False


def message_document(message: MailMessage, *, name: str, here: ContainerState) -> ParsedDocument:
    """The subject as heading, the headers as a list, the body, and a section for each attachment that can be read.

    Raises EmptyDocumentError or PasswordProtectedError, and UnsafeArchiveError where the attachments are too much.
    """
    if message.encrypted:
        raise PasswordProtectedError("message", name=name)
    collector = WebPictureCollector(lookup=lambda source: _inline(message, source))
    body = [block for kind, text in message.bodies for block in _body(kind, text, collector)]
    parts = PartsBuilder()
    for count, attachment in enumerate(message.attachments):
        here.budget.count_bytes(len(attachment.content), name=name)
        if count < MAX_ATTACHMENTS:
            parts.add(attachment.content, path=attachment.name, level=2)
        else:
            parts.skip(attachment.name, "too_many_attachments")
    for inner in message.attached_messages[:MAX_ATTACHMENTS]:
        with parts.record_failure(inner.subject):
            parts.include(message_document(inner, name=name, here=here), path=inner.subject, level=2)
    return build_document(
        [*_head(message), *body, *parts.blocks, *parts.skipped_note()],
        name=name,
        title=message.subject,
        metadata={**message.metadata, **parts.metadata()},
        pictures=[*collector.pictures, *parts.pictures],
    )


def _head(message: MailMessage) -> Iterator[Block]:
    if message.subject:
        yield Block(kind="heading", text=message.subject, level=1)
    headers = [*message.headers, ("Subject", message.subject)]
    lines = [f"- {label}: {_shortened(value)}" for label, value in headers if value]
    if lines:
        yield Block(kind="list", text="\n".join(lines))


def _shortened(value: str) -> str:
    return value if len(value) <= MAX_HEADER_CHARACTERS else f"{value[:MAX_HEADER_CHARACTERS].rstrip()} …"


def _body(kind: str, text: str, collector: WebPictureCollector) -> Iterator[Block]:
    if kind == "html":
        soup = read_html(text)
        collector.base = base_address(soup)
        for block in all_blocks(soup, collector):
            yield replace(block, level=min(block.level + 1, MAX_LEVEL)) if block.kind == "heading" else block
        return
    if kind == "calendar":
        yield Block(kind="list", text=text)
        return
    for part in _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        yield Block(kind="paragraph", text=part.strip("\n").rstrip())


def _inline(message: MailMessage, source: str) -> bytes | None:
    return message.inline.get(source[4:].strip("<>")) if source[:4].lower() == "cid:" else None


def shown_content_ids(bodies: Sequence[tuple[str, str]], inline: Mapping[str, bytes]) -> set[str]:
    """Content-IDs of the pictures that the body shows; the others are attachments."""
    text = "\n".join(body for kind, body in bodies if kind == "html")
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
