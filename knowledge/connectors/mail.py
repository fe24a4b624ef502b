"""Mail by IMAP: a thread is a document, each attachment one that belongs to it.

What is known of the messages stays in the workspace of the source, so a later run asks only for new ones; what has
gone there is gone here. A thread is read anew when a message joins or leaves it.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from email.header import Header
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.utils import format_datetime
from functools import partial
from typing import Annotated, Any, ClassVar

from django.conf import settings as site
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.imap import MESSAGES_AT_ONCE, Mailbox, MailHead, MailPart, address_of
from knowledge.connectors.items import FetchedItem, Item, ItemRelation, Listed, ListEnd, Stamp, UnreadableItem
from knowledge.connectors.mail_index import MailIndex
from knowledge.errors import ItemUnreadableError, UploadTooLargeError
from knowledge.types import STRICT
from ragcore.parsing import format_of

MAX_ID = 300  # characters of a thread's id
MAX_NAME = 150
TEXT_BYTES = 1024 * 1024  # of one message
Pattern = Annotated[str, Field(max_length=255)]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class MailSettings:
    """`folders`: patterns; `participants`: only who took part in all messages of a thread may read it."""

    folders: Annotated[tuple[Pattern, ...], Field(max_length=100)] = ("INBOX",)
    attachments: bool = True
    participants: bool = False


@connector
class MailConnector(Connector):
    """See the module."""

    kind = "mail"
    label = _("Mail (IMAP)")
    summary = _("Messages of a mailbox with their attachments.")
    location_help = _(
        "Such as imaps://mail.example.com, or imap://mail.example.com with STARTTLS. "
        "User name and password stand under Sign-in."
    )
    settings_type = MailSettings
    setting_fields = (
        SettingField(
            name="folders",
            label=_("folders"),
            kind="lines",
            help_text=_("Patterns such as Support/*, one per line. Drafts, junk and deleted mail are never read."),
        ),
        SettingField(name="attachments", label=_("attachments as documents"), kind="switch"),
        SettingField(
            name="participants",
            label=_("for participants only"),
            kind="switch",
            help_text=_("Only who sent or received every message of a thread may read it and its attachments."),
        ),
    )
    credential_fields: ClassVar = (frozenset({"user", "password"}),)

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        host, port, _scheme = address_of(location)
        return host, port

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        mailbox = Mailbox(location=self.location, access=self.access)
        index = MailIndex(self.access.workspace)
        try:
            self._update(mailbox, index)
            for thread in index.threads():
                yield from self._listed(mailbox, thread)
            yield ListEnd(cursor={}, is_full=True)
        finally:
            index.close()
            mailbox.close()

    # ── what has changed ────────────────────────────────────────────────────────────────────────

    def _update(self, mailbox: Mailbox, index: MailIndex) -> None:
        """The index with what the folders have now. Raises ConnectorError where no folder fits."""
        chosen = [name for name in mailbox.folders() if self._is_chosen(name)]
        if not chosen:
            raise ConnectorError("no_folder", folders=", ".join(self.settings.folders)[:200])
        for gone in set(index.folders()) - set(chosen):
            index.folder_forget(gone)
        for folder in chosen:
            state, was = mailbox.state(folder), index.state(folder)
            if state == was:
                continue
            if was and state["validity"] != was["validity"]:
                index.folder_forget(folder)
            present, indexed = mailbox.uids(), index.uids(folder)
            index.remove(folder, indexed - present)
            arrived = sorted(present - indexed)
            for start in range(0, len(arrived), MESSAGES_AT_ONCE):
                index.add(mailbox.heads(arrived[start : start + MESSAGES_AT_ONCE]), validity=state["validity"])
            index.state_store(folder, state)

    def _is_chosen(self, name: str) -> bool:
        patterns = self.settings.folders or ("INBOX",)
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    # ── a thread ────────────────────────────────────────────────────────────────────────────────

    def _listed(self, mailbox: Mailbox, thread: Sequence[MailHead]) -> Iterator[Item | UnreadableItem]:
        thread_id = _thread_id(thread)
        newest, subject = thread[-1], next((head.subject for head in thread if head.subject), "")
        readers = self._readers(thread)
        yield Item(
            external_id=thread_id,
            name=f"{_file_stem(subject)}.eml",
            stamp={"messages": _digest([_facts(head) for head in thread])},
            read=partial(_thread_read, mailbox, tuple(thread)),
            title=subject,
            metadata=_filled(author=thread[0].sender, changed=newest.date[:10], messages=len(thread)),
            readers=readers,
        )
        if not self.settings.attachments:
            return
        for head in thread:
            for part in head.files:
                yield self._attachment(mailbox, head, part, thread_id=thread_id, readers=readers)
            if head.hidden_files:
                place = f"{thread_id}/{_digest([head.message_id])[:8]}"
                yield UnreadableItem(path=place, error=ItemOfSourceError("attachments", count=head.hidden_files))

    def _attachment(
        self, mailbox: Mailbox, head: MailHead, part: MailPart, *, thread_id: str, readers: Sequence[str] | None
    ) -> Item:
        name = part.name.replace("/", "_").replace("\\", "_").replace("\x00", "")[-MAX_NAME:]
        return Item(
            external_id=f"{thread_id}/{_digest([head.message_id])[:8]}/{part.number}/{name}",
            name=name,
            stamp={"part": _digest([head.message_id, part.number, part.size_bytes])},
            read=partial(_attachment_read, mailbox, head, part, name),
            metadata=_filled(author=head.sender, changed=head.date[:10], thread=head.subject),
            readers=readers,
            relations=(ItemRelation(kind="belongs_to", external_id=thread_id),),
        )

    def _readers(self, thread: Sequence[MailHead]) -> list[str] | None:
        """Who took part in every message: a message may say of itself that it belongs to a thread of others."""
        if not self.settings.participants:
            return None
        people = set(thread[0].people).intersection(*(head.people for head in thread[1:]))
        return [f"user:{address}" for address in sorted(people)]


def _thread_id(thread: Sequence[MailHead]) -> str:
    """The id of the first message, also where it is gone but the others name it."""
    first = thread[0]
    name = (first.references[0] if first.references else first.message_id).replace("\x00", "")
    return name if len(name) <= MAX_ID else hashlib.sha256(name.encode()).hexdigest()


def _facts(head: MailHead) -> list[Any]:
    return [head.message_id, head.date, head.subject, [[part.number, part.size_bytes] for part in head.texts]]


def _digest(facts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _filled(**attributes: str | int) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value}


def _file_stem(subject: str) -> str:
    return "".join("_" if sign in '/\\:*?"<>|\x00' else sign for sign in subject)[:MAX_NAME].strip(". ") or "mail"


# ── contents ────────────────────────────────────────────────────────────────────────────────────


def _thread_read(mailbox: Mailbox, thread: Sequence[MailHead], last: Stamp) -> FetchedItem | None:
    """The thread as one message: before each text who wrote it and when. Raises RagError."""
    stamp = {"messages": _digest([_facts(head) for head in thread])}
    if last == stamp:
        return None
    whole = MIMEMultipart("mixed", boundary=f"part-{stamp['messages'][:40]}")  # the same bytes each time
    subject = next((head.subject for head in thread if head.subject), "")
    for name, value in (("Subject", subject), ("From", thread[0].sender), ("Date", _shown_date(thread[0]))):
        if value:
            whole[name] = Header(" ".join(value.split()), "utf-8").encode()
    size = 0
    for head in thread:
        if len(thread) > 1:
            whole.attach(_text_part(f"{head.sender}\n{head.date[:16].replace('T', ' ')}".encode(), "plain", "utf-8"))
        for part in head.texts:
            content = mailbox.part(head, part, most_bytes=TEXT_BYTES)
            size += len(content)
            if size > site.MAX_UPLOAD_BYTES:
                raise _too_large()
            whole.attach(_text_part(content, part.media_type.partition("/")[2], part.charset))
    name = f"{_file_stem(subject)}.eml"
    return FetchedItem(name=name, content=whole.as_bytes(), stamp=stamp)


def _text_part(content: bytes, subtype: str, charset: str) -> Message:
    """A text in base64, so that nothing in it can look like the end of its part."""
    part = Message()
    part["Content-Type"] = f"text/{subtype}"
    if charset.replace("-", "").replace("_", "").isalnum() and charset.isascii():
        part.set_param("charset", charset)
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(base64.encodebytes(content).decode("ascii"))
    return part


def _shown_date(head: MailHead) -> str:
    return format_datetime(datetime.fromisoformat(head.date)) if head.date else ""


def _attachment_read(mailbox: Mailbox, head: MailHead, part: MailPart, name: str, last: Stamp) -> FetchedItem | None:
    stamp = {"part": _digest([head.message_id, part.number, part.size_bytes])}
    if last == stamp:
        return None
    most = site.MAX_UPLOAD_BYTES
    if part.size_bytes > most * 3 // 2:  # base64 takes a third more
        raise _too_large()
    format_of(name)
    content = mailbox.part(head, part, most_bytes=most + 1)
    if not content:
        raise ItemUnreadableError
    if len(content) > most:
        raise _too_large()
    return FetchedItem(name=name, content=content, stamp=stamp)


def _too_large() -> UploadTooLargeError:
    return UploadTooLargeError("limit", limit_mb=site.MAX_UPLOAD_BYTES // (1024 * 1024))
