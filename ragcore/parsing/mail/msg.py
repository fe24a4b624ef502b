"""Messages as Outlook saves them: .msg (MS-OXMSG).

Older versions store text in 8 bits, in a code page that the message names or does not. Its recipients and attachments
never name one: theirs is that of the message.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cached_property
from typing import cast

from compressed_rtf import decompress
from oxmsg import Message
from oxmsg.domain import constants as c
from oxmsg.domain import model
from oxmsg.properties import Properties
from oxmsg.storage import Storage
from striprtf.striprtf import rtf_to_text

from ragcore.errors import CorruptDocumentError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.archive.sections import MAX_DEPTH, enter_container
from ragcore.parsing.charset import decode, east_asian_encoding
from ragcore.parsing.html.parser import decode_html
from ragcore.parsing.mail.eml import date_shown, decoded_words
from ragcore.parsing.mail.message import (
    Attachment,
    MailMessage,
    attachment_name,
    date_text,
    message_document,
    shown_content_ids,
)
from ragcore.parsing.mail.rtf_html import encapsulated_html
from ragcore.parsing.parser_errors import coded_errors, require_content
from ragcore.types import ParsedDocument

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
_EMBEDDED = "__substg1.0_3701000D"  # PidTagAttachDataObject: a message inside the message
_EMBEDDED_HEADER_BYTES = 24  # of its property stream; that of the outer message has 32
_RTF_COMPRESSED = 0x1009  # PidTagRtfCompressed
_CODE_PAGE, _BODY_CODE_PAGE = 0x3FFD, 0x3FDE  # PidTagMessageCodepage, PidTagInternetCodepage
_UTF16_CODE_PAGE = 1200  # of a message in Unicode; says nothing about text in 8 bits
_CODE_PAGES = {65001: "utf-8", 936: "gb18030", 54936: "gb18030", 20936: "gb18030", 52936: "hz", 28591: "cp1252"}
_CODE_PAGES |= {20932: "euc-jp", 51932: "euc-jp", 50220: "iso-2022-jp", 50221: "iso-2022-jp", 50222: "iso-2022-jp"}
_CODE_PAGES |= {51949: "euc-kr", 20866: "koi8-r", 21866: "koi8-u", 20127: "cp1252"}
_DOUBLE_BYTE = ("cp932", "gb18030", "cp949", "cp950")
_STRING8 = "001E"  # ending of the names of streams with text in 8 bits
_SENDER, _TO, _CC = 0x0C1A, 0x0E04, 0x0E03  # PidTagSenderName, PidTagDisplayTo, PidTagDisplayCc
_SEALED_CLASS = "ipm.note.smime"  # signed ones end in .multipartsigned and are readable

_RTF_CODE_PAGE = re.compile(r"\\ansicpg(\d{1,5})")
_RTF_BYTES = re.compile(r"((?:\\'[0-9a-fA-F]{2})+)(?:\\([\\{}])|([@-\[\]-z|~]))")


class MsgParser:
    """Headers as a list, the body with quoted history, attachments as sections."""

    formats = (".msg",)
    media_types = {"application/vnd.ms-outlook": ".msg"}
    label = _("e-mail")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError (encrypted message),
        ResourceLimitError or UnsafeArchiveError.
        """
        require_content(content, name=name)
        if not content.startswith(_COMPOUND_FILE):
            raise CorruptDocumentError(name=name, problem="no compound file")
        with coded_errors(name), enter_container(name=name) as here:
            return message_document(
                _mail_message(cast(_Message, _Message.load(content)), depth=here.depth), name=name, here=here
            )


class _DecodedProperties(Properties):
    """Properties of a message or of a part of it, whose 8-bit text is in the encoding of the message."""

    # what the library would use; it refuses a message whose code page it does not know
    _str_prop_encoding = body_encoding = "utf-8"

    def __init__(
        self, storage: Storage, offset: int, encoding: str | None = None, body_encoding: str | None = None
    ) -> None:
        super().__init__(storage, properties_header_offset=offset)
        self._encoding, self._of_body = encoding, body_encoding

    def str_prop_value(self, pid: int) -> str | None:
        """Text of a property in Unicode or in 8 bits; None where it is not present."""
        if self._get_property(pid, c.PTYP_STRING8) is None:
            return super().str_prop_value(pid)
        content = cast(Storage, self._storage).property_stream_bytes(pid, c.PTYP_STRING8)
        return decode(content, declared=self._of_body if pid in (c.PID_BODY, c.PID_BODY_HTML) else self._encoding)


class _Message(Message):
    """A message whose text in 8 bits is read in its code page."""

    _header_bytes = model.MSG_HDR_OFFSET

    @property
    def storage(self) -> Storage:
        """The library has no public way to it."""
        return cast(Storage, self._storage)

    @cached_property
    def encodings(self) -> tuple[str | None, str | None]:
        """Of text in 8 bits in general, and in the body."""
        plain = _DecodedProperties(self.storage, self._header_bytes)
        encodings = [_code_page_encoding(plain.int_prop_value(pid)) for pid in (_CODE_PAGE, _BODY_CODE_PAGE)]
        if not any(encodings):
            encodings = [east_asian_encoding(b"\n".join(_strings(self.storage)))]
        return encodings[0] or encodings[-1], encodings[-1] or encodings[0]

    @cached_property
    def _properties(self) -> Properties:  # type: ignore[override]
        return self.properties_of(self.storage, self._header_bytes)

    def properties_of(self, storage: Storage, offset: int) -> Properties:
        """The properties of a recipient or attachment."""
        return _DecodedProperties(storage, offset, *self.encodings)


class _EmbeddedMessage(_Message):
    """A message attached to a message: the same storage with a shorter header."""

    _header_bytes = _EMBEDDED_HEADER_BYTES


def _code_page_encoding(code_page: int | None) -> str | None:
    """Python's name for a code page of Windows; None where there is none. Chinese ones as their superset."""
    if code_page is None or code_page == _UTF16_CODE_PAGE:
        return None
    if 28592 <= code_page <= 28605:
        return f"iso8859-{code_page - 28590}"
    try:
        return codecs.lookup(_CODE_PAGES.get(code_page, f"cp{code_page}")).name
    except LookupError:
        return None


def _strings(storage: Storage) -> Iterator[bytes]:
    """The text in 8 bits of a message, its recipients and attachments; not that of messages attached to it."""
    for stream in storage.streams:
        if stream.name.endswith(_STRING8):
            yield stream.bytes_
    for part in storage.storages:
        if part.name != _EMBEDDED:
            yield from _strings(part)


def _mail_message(message: _Message, *, depth: int) -> MailMessage:
    kind = message.message_class.lower()
    bodies = _bodies(message)
    files = list(_files(message))
    inline = {key: file.content for key, file in files if key}
    shown_ids = shown_content_ids(bodies, inline)
    headers = _headers(message)
    values = {"author": dict(headers)["From"], "published": dict(headers)["Date"]}
    return MailMessage(
        subject=" ".join(message.subject.split()),
        headers=headers,
        bodies=bodies,
        attachments=[file for key, file in files if key not in shown_ids],
        attached_messages=list(_attached_messages(message, depth)),
        inline=inline,
        metadata={key: value[:500] for key, value in values.items() if value},
        encrypted=kind == _SEALED_CLASS and not bodies,
    )


def _bodies(message: _Message) -> list[tuple[str, str]]:
    """HTML where there is any, also inside rich text, else the plain text."""
    if page := message.properties.binary_prop_value(c.PID_HTML):
        return [("html", decode_html(page, declared=message.encodings[1]))]
    if text := message.properties.str_prop_value(c.PID_BODY_HTML):
        return [("html", text)]
    rich = _rich_bytes(message)
    encoding = _rich_encoding(rich, message)
    if web_page := encapsulated_html(rich, encoding):
        return [("html", web_page)]
    plain = message.body or _rich_text(rich, message.encodings[1] or "cp1252")
    return [("plain", plain.replace("\r\n", "\n"))] if plain.strip() else []


def _rich_bytes(message: _Message) -> bytes:
    """The body as rich text, which Outlook stores compressed (MS-OXRTFCP); empty where there is none.

    A damaged one counts as none where the message has its text in another form, too.
    """
    packed = message.properties.binary_prop_value(_RTF_COMPRESSED)
    if not packed:
        return b""
    try:
        with coded_errors("rich text"):
            return bytes(decompress(packed))
    except CorruptDocumentError:
        if message.body:
            return b""
        raise


def _rich_encoding(rich: bytes, message: _Message) -> str:
    """The encoding of text in 8 bits that the rich text names, else that of the message."""
    match = _RTF_CODE_PAGE.search(rich.decode("latin-1"))
    return (match and _code_page_encoding(int(match[1]))) or message.encodings[1] or "cp1252"


def _rich_text(rich: bytes, encoding: str) -> str:
    """The text of a body that exists as rich text only, as Outlook writes inside an organisation."""
    if not rich:
        return ""
    text = _with_escaped_trail_bytes(rich.decode("latin-1"), encoding)
    return str(rtf_to_text(text, encoding=encoding, errors="replace"))  # type: ignore[no-untyped-call]


def _with_escaped_trail_bytes(rich: str, encoding: str) -> str:
    """RTF in which each character of two bytes is escaped as a whole.

    Writers leave a second byte below 0x80 as the character that it looks like, which no reader of escapes puts
    together with the first.
    """
    if match := _RTF_CODE_PAGE.search(rich):
        encoding = _code_page_encoding(int(match[1])) or encoding
    if encoding not in _DOUBLE_BYTE:
        return rich

    def joined(match: re.Match[str]) -> str:
        is_cut = _ends_with_lead_byte(bytes.fromhex(match[1].replace("\\'", "")), encoding)
        return f"{match[1]}\\'{ord(match[2] or match[3]):02x}" if is_cut else match[0]

    return _RTF_BYTES.sub(joined, rich)


def _ends_with_lead_byte(content: bytes, encoding: str) -> bool:
    """Whether the last byte begins a character of two bytes."""
    at = 0
    while at < len(content):
        is_lead = content[at] > 0x80 and not (encoding == "cp932" and 0xA0 <= content[at] <= 0xDF)
        at += 2 if is_lead else 1
    return at > len(content)


def _headers(message: _Message) -> list[tuple[str, str]]:
    """The headers of the message on its way, else what Outlook noted of them."""
    transport_headers = {key.lower(): decoded_words(str(value)) for key, value in message.message_headers.items()}
    text = message.properties.str_prop_value
    sent_date = message.sent_date
    return [
        ("From", transport_headers.get("from") or decoded_words(message.sender or text(_SENDER) or "")),
        ("To", transport_headers.get("to") or text(_TO) or _recipients(message)),
        ("Cc", transport_headers.get("cc") or text(_CC) or ""),
        ("Date", date_shown(transport_headers.get("date", "")) or (date_text(sent_date) if sent_date else "")),
    ]


def _recipients(message: _Message) -> str:
    people = [
        message.properties_of(recipient, model.RECIP_HDR_OFFSET)
        for recipient in message.storage.iter_recipient_storages()
    ]
    keys = (c.PID_DISPLAY_NAME, c.PID_SMTP_ADDRESS, c.PID_EMAIL_ADDRESS)
    return ", ".join(filter(None, (_first_text(person, *keys) for person in people)))


def _files(message: _Message) -> Iterator[tuple[str, Attachment]]:
    """Content-ID and file of each attachment that lies in the message itself."""
    for number, storage in enumerate(message.storage.iter_attachment_storages(), 1):
        stored = message.properties_of(storage, model.ATTACH_HDR_OFFSET)
        content = stored.binary_prop_value(c.PID_ATTACH_DATA_BINARY)
        if content:
            file_name = _first_text(stored, c.PID_ATTACH_LONG_FILENAME, c.PID_ATTACH_FILENAME)
            media_type = _first_text(stored, c.PID_ATTACH_MIME_TAG) or "application/octet-stream"
            name = attachment_name(file_name.replace("\x00", ""), media_type, number=number)
            key = _first_text(stored, c.PID_ATTACH_CONTENT_ID)
            yield key.strip("<>\x00"), Attachment(name=name, content=content)


def _first_text(properties: Properties, *pids: int) -> str:
    """The first of these properties that is present and not empty; "" where none is."""
    return next(filter(None, (properties.str_prop_value(pid) for pid in pids)), "")


def _attached_messages(message: _Message, depth: int) -> Iterator[MailMessage]:
    """Messages attached to this one, down to the depth that is allowed."""
    for stored in message.storage.iter_attachment_storages() if depth < MAX_DEPTH else ():
        for storage in stored.storages:
            if storage.name == _EMBEDDED:
                yield _mail_message(_EmbeddedMessage(storage), depth=depth + 1)
