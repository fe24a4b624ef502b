"""Messages as Outlook saves them: .msg (MS-OXMSG) (D9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from compressed_rtf import decompress
from oxmsg import Message
from oxmsg.attachment import Attachment as StoredFile
from oxmsg.domain import constants as c
from oxmsg.properties import Properties
from oxmsg.storage import Storage
from striprtf.striprtf import rtf_to_text

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.archive.sections import MAX_DEPTH, enter_container
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
from ragcore.parsing.parser_errors import coded_errors, require_content
from ragcore.types import ParsedDocument

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
_EMBEDDED = "__substg1.0_3701000D"  # PidTagAttachDataObject: a message inside the message
_EMBEDDED_HEADER_BYTES = 24  # of its property stream; that of the outer message has 32
_RTF_COMPRESSED = 0x1009  # PidTagRtfCompressed
_SENDER, _TO, _CC = 0x0C1A, 0x0E04, 0x0E03  # PidTagSenderName, PidTagDisplayTo, PidTagDisplayCc
_SEALED_CLASS = "ipm.note.smime"  # signed ones end in .multipartsigned and are readable


class MsgParser:
    """Headers as a list, the body with quoted history, attachments as sections."""

    formats = (".msg",)
    media_types = {"application/vnd.ms-outlook": ".msg"}

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError (encrypted message),
        ResourceLimitError or UnsafeArchiveError.
        """
        require_content(content, name=name)
        if not content.startswith(_COMPOUND_FILE):
            raise CorruptDocumentError(name=name, problem="no compound file")
        with coded_errors(name), enter_container(name=name) as here:
            return message_document(_mail_message(Message.load(content), depth=here.depth), name=name, here=here)


class _EmbeddedMessage(Message):
    """A message attached to a message: the same storage with a shorter header."""

    @property
    def properties(self) -> Properties:
        return Properties(self._storage, properties_header_offset=_EMBEDDED_HEADER_BYTES)


def _mail_message(message: Message, *, depth: int) -> MailMessage:
    kind = message.message_class.lower()
    bodies = _bodies(message)
    files = list(_files(message))
    inline = {key: file.content for key, file in files if key}
    shown = shown_content_ids(bodies, inline)
    headers = _headers(message)
    said = {"author": dict(headers)["From"], "published": dict(headers)["Date"]}
    return MailMessage(
        subject=" ".join(message.subject.split()),
        headers=headers,
        bodies=bodies,
        attachments=[file for key, file in files if key not in shown],
        attached_messages=list(_attached_messages(message, depth)),
        inline=inline,
        metadata={key: value[:500] for key, value in said.items() if value},
        encrypted=kind == _SEALED_CLASS and not bodies,
    )


def _bodies(message: Message) -> list[tuple[str, str]]:
    """HTML where there is any, else the plain text."""
    if page := message.properties.binary_prop_value(c.PID_HTML):
        return [("html", decode_html(page))]
    if text := message.properties.str_prop_value(c.PID_BODY_HTML):
        return [("html", text)]
    plain = message.body or _rich_text(message)
    return [("plain", plain.replace("\r\n", "\n"))] if plain.strip() else []


def _rich_text(message: Message) -> str:
    """The text of a body that exists as compressed RTF only, as Outlook writes inside an organisation (MS-OXRTFCP)."""
    packed = message.properties.binary_prop_value(_RTF_COMPRESSED)
    if not packed:
        return ""
    rich: bytes = decompress(packed)
    return str(rtf_to_text(rich.decode("latin-1"), errors="replace"))  # type: ignore[no-untyped-call]


def _headers(message: Message) -> list[tuple[str, str]]:
    """The headers of the message on its way, else what Outlook noted of them."""
    said = {key.lower(): decoded_words(str(value)) for key, value in message.message_headers.items()}
    text = message.properties.str_prop_value
    sent = message.sent_date
    return [
        ("From", said.get("from") or decoded_words(message.sender or text(_SENDER) or "")),
        ("To", said.get("to") or text(_TO) or _recipients(message)),
        ("Cc", said.get("cc") or text(_CC) or ""),
        ("Date", date_shown(said.get("date", "")) or (date_text(sent) if sent else "")),
    ]


def _recipients(message: Message) -> str:
    return ", ".join(filter(None, (person.name or person.email_address for person in message.recipients)))


def _files(message: Message) -> Iterator[tuple[str, Attachment]]:
    """Content-ID and file of each attachment that lies in the message itself."""
    for number, stored in enumerate(message.attachments, 1):
        content = stored.file_bytes
        if content:
            said = stored.file_name or stored.properties.str_prop_value(c.PID_ATTACH_FILENAME) or ""
            name = attachment_name(said.replace("\x00", ""), stored.mime_type or "", number=number)
            key = stored.properties.str_prop_value(c.PID_ATTACH_CONTENT_ID) or ""
            yield key.strip("<>\x00"), Attachment(name=name, content=content)


def _attached_messages(message: Message, depth: int) -> Iterator[MailMessage]:
    """Messages attached to this one, down to the depth that is allowed."""
    for stored in message.attachments if depth < MAX_DEPTH else ():
        for storage in _storage(stored).storages:
            if storage.name == _EMBEDDED:
                yield _mail_message(_EmbeddedMessage(storage), depth=depth + 1)


def _storage(stored: StoredFile) -> Storage:
    """The library has no public way to a message inside an attachment."""
    return cast(Storage, stored._storage)
