"""Messages as mail programs save them: .eml (RFC 5322, MIME)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from ragcore.errors import CorruptDocumentError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.archive.sections import enter_container
from ragcore.parsing.charset import decode
from ragcore.parsing.html.parser import decode_html, read_html
from ragcore.parsing.mail.calendar import calendar_events
from ragcore.parsing.mail.message import (
    Attachment,
    MailMessage,
    attachment_name,
    date_text,
    message_document,
    shown_content_ids,
)
from ragcore.parsing.parser_errors import coded_errors, require_content
from ragcore.types import ParsedDocument

_SHOWN = ("From", "To", "Cc", "Date")
_EXPECTED = ("from", "to", "subject", "date", "received", "message-id", "mime-version", "content-type", "return-path")
_SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")
_CALENDARS = ("text/calendar", "application/ics")
_SEALED = ("application/pkcs7-mime", "application/x-pkcs7-mime")
MAX_PARTS = 2000

Body = tuple[str, str]


class EmlParser:
    """Headers as a list, the body with quoted history, attachments as sections."""

    formats = (".eml",)
    media_types = {"message/rfc822": ".eml"}
    label = _("e-mail")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError (no message), PasswordProtectedError (encrypted message),
        ResourceLimitError or UnsafeArchiveError.
        """
        require_content(content, name=name)
        with coded_errors(name), enter_container(name=name) as here:
            message = message_from_bytes(content.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n"))
            if not any(header in message for header in _EXPECTED):
                raise CorruptDocumentError(name=name, problem="no message headers")
            return message_document(_MessageReader(message).mail_message(), name=name, here=here)


class _MessageReader:
    """Walks the parts of one message; attached messages stay closed, they are files of their own."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._attachments: list[tuple[str, Attachment]] = []  # Content-ID and file
        self._events: set[str] = set()
        self._parts = 0
        self._sealed = False

    def mail_message(self) -> MailMessage:
        bodies = list(self._bodies(self._message))
        inline = {key: file.content for key, file in self._attachments if key}
        shown_ids = shown_content_ids(bodies, inline)
        return MailMessage(
            subject=header_text(self._message, "Subject"),
            headers=[(label, _shown(self._message, label)) for label in _SHOWN],
            bodies=bodies,
            attachments=[file for key, file in self._attachments if key not in shown_ids],
            inline=inline,
            metadata=_metadata(self._message),
            encrypted=self._sealed,
        )

    def _bodies(self, part: Message) -> Iterator[Body]:
        self._parts += 1
        kind = part.get_content_type()
        if self._parts > MAX_PARTS or kind in _SIGNATURES:
            return
        if kind == "multipart/encrypted" or (kind in _SEALED and part.get_param("smime-type") != "signed-data"):
            self._sealed = True
        elif kind == "multipart/alternative":
            yield from self._best([list(self._bodies(child)) for child in _children(part)])
        elif part.is_multipart() and kind.startswith("multipart/"):
            for child in _children(part):
                yield from self._bodies(child)
        elif kind in _CALENDARS:
            yield from self._calendar(part)
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            yield from _text_body(part, kind)
        else:
            self._attach(part, kind)

    def _best(self, choices: list[list[Body]]) -> list[Body]:
        """The last alternative that has text: it is the richest, and mostly HTML, which keeps tables.

        An invitation to a meeting is no other form of the text, and stays with it.
        """
        calendars = [body for bodies in choices for body in bodies if body[0] == "calendar"]
        texts = [[body for body in bodies if body[0] != "calendar"] for bodies in choices]
        best = next((bodies for bodies in reversed(texts) if any(_has_text(*body) for body in bodies)), [])
        return [*best, *calendars]

    def _calendar(self, part: Message) -> Iterator[Body]:
        """The events of a part, each once: programs send an invitation as text and attach it as well."""
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes) and (events := calendar_events(decode(payload))):
            yield from (("calendar", event) for event in events if event not in self._events)
            self._events.update(events)

    def _attach(self, part: Message, kind: str) -> None:
        name = decoded_words(part.get_filename() or "")
        if kind == "message/rfc822":
            inner = part.get_payload(0) if part.is_multipart() else None
            content = inner.as_bytes() if isinstance(inner, Message) else b""
            name = name or header_text(inner, "Subject") if isinstance(inner, Message) else name
            name = f"{name.removesuffix('.eml') or 'message'}.eml"
        else:
            payload = part.get_payload(decode=True)
            content = payload if isinstance(payload, bytes) else b""
        if content:
            number = len(self._attachments) + 1
            file = Attachment(name=attachment_name(name, kind, number=number), content=content)
            self._attachments.append((str(part.get("Content-ID") or "").strip().strip("<>"), file))


def _children(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _text_body(part: Message, kind: str) -> Iterator[Body]:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload.strip():
        return
    charset = part.get_content_charset()
    if kind == "text/html":
        yield "html", decode(payload, declared=charset) if charset else decode_html(payload)
    else:
        text = decode(payload, declared=charset).replace("\r\n", "\n")
        yield "plain", _unflowed(text) if part.get_param("format") == "flowed" else text


def _unflowed(text: str) -> str:
    """Lines that end with a space go on in the next one (RFC 3676); "-- " is the mark of a signature."""
    return re.sub(r"(?<!\n--) \n(?!>|\n|-- )", " ", text)


def _has_text(kind: str, text: str) -> bool:
    return bool(read_html(text).get_text(strip=True)) if kind == "html" else bool(text.strip())


# ── headers ─────────────────────────────────────────────────────────────────────────────────────


def header_text(message: Message, name: str) -> str:
    """A header on one line, decoded; several of a name are joined. "" where there is none."""
    values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return ", ".join(filter(None, (decoded_words(str(value)) for value in values)))


def decoded_words(value: str) -> str:
    """Encoded words (RFC 2047) as text, and raw bytes that should have been encoded in their likely encoding."""
    raw = value.encode("utf-8", "surrogateescape")
    text = decode(raw) if not _is_utf8(raw) else raw.decode()
    try:
        parts = [_decoded(part, charset) for part, charset in decode_header(text)]
    except (HeaderParseError, ValueError):  # broken base64
        parts = [text]
    return " ".join("".join(parts).replace("\x00", "").split())


def _decoded(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    if charset is None:  # what stands between encoded words; decode_header escapes what is not Latin-1
        return part.decode("raw-unicode-escape", errors="replace")
    return decode(part, declared=charset)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(message: Message, label: str) -> str:
    text = header_text(message, label)
    return date_shown(text) if label == "Date" else text


def date_shown(text: str) -> str:
    """A date of a message in one form; as it stands where it is none."""
    try:
        return date_text(parsedate_to_datetime(text)) if text else ""
    except (ValueError, TypeError, OverflowError):
        return text


def _metadata(message: Message) -> dict[str, str]:
    values = {"author": header_text(message, "From"), "published": date_shown(header_text(message, "Date"))}
    return {key: value[:500] for key, value in values.items() if value}
