"""Mailboxes by IMAP: what messages say of themselves without their contents, and single parts of them.

A message is never fetched as a whole: the server says of which parts it consists, and only texts and files that are
read are sent. So neither nesting nor size of a message cost more than the limits here.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import getaddresses, parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from ragcore.errors import UrlNotAllowedError
from ragcore.parsing.mail.eml import decoded_words, header_text

if TYPE_CHECKING:  # its 4 MB are loaded by those that read mail, not by every process
    from imapclient import IMAPClient

SCHEMES = {"imaps": 993, "imap": 143, "imap+plain": 143}  # from the start, STARTTLS, none
TIMEOUT_SECONDS = 120
MESSAGES_AT_ONCE = 100
HEADER_BYTES = 64 * 1024
MOST_REFERENCES = 50
MOST_PEOPLE = 2000
MOST_PARTS, MOST_DEPTH = 200, 30  # of a message that are looked at
MOST_FILES = 100
UNWANTED_FOLDERS = (b"\\Noselect", b"\\NonExistent", b"\\Junk", b"\\Trash", b"\\Drafts")
_FIELDS = "MESSAGE-ID REFERENCES IN-REPLY-TO SUBJECT FROM TO CC DATE"
_HEADER = f"BODY.PEEK[HEADER.FIELDS ({_FIELDS})]<0.{HEADER_BYTES}>"
_SEALS = ("pgp-signature", "pkcs7-signature", "x-pkcs7-signature", "pgp-encrypted")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPart:
    """A part of a message by its number there, such as "1.2"."""

    number: str
    media_type: str
    size_bytes: int  # as it is sent
    encoding: str = ""
    charset: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailHead:
    """A message without its contents. `people`: addresses of sender and addressees, in small letters."""

    folder: str
    uid: int
    message_id: str
    references: Sequence[str] = ()  # the oldest first
    subject: str = ""
    sender: str = ""
    date: str = ""  # ISO, with a zone; "" where it says none
    people: Sequence[str] = ()
    texts: Sequence[MailPart] = ()
    files: Sequence[MailPart] = ()
    hidden_files: int = 0  # more than are listed

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, stored: dict[str, Any]) -> MailHead:
        parts = {name: tuple(MailPart(**part) for part in stored[name]) for name in ("texts", "files")}
        return cls(**{**stored, **parts})


@dataclass(slots=True)
class _Shape:
    texts: list[MailPart] = field(default_factory=list)
    files: list[MailPart] = field(default_factory=list)
    parts: int = 0


class Mailbox:
    """One account, for one run. Nothing is changed there: folders are opened for reading, messages stay unread."""

    def __init__(self, *, location: str, access: Access) -> None:
        self._host, self._port, self._scheme = address_of(location)
        self._access = access
        self._open_client: IMAPClient | None = None
        self._folder = ""

    def folders(self) -> list[str]:
        """Folders with messages, but for drafts, junk and what was thrown away."""
        with coded_errors():
            listed = self._client().list_folders()
        return sorted(name for flags, _separator, name in listed if not set(flags) & set(UNWANTED_FOLDERS))

    def state(self, folder: str) -> dict[str, int]:
        """Changes whenever messages arrive or go, or when the numbers begin anew ("validity")."""
        with coded_errors():
            answer = self._client().select_folder(folder, readonly=True)
        self._folder = folder
        return {
            "validity": int(answer.get(b"UIDVALIDITY", 0)),
            "next": int(answer.get(b"UIDNEXT", 0)),
            "count": int(answer.get(b"EXISTS", 0)),
        }

    def uids(self) -> set[int]:
        """Numbers of all messages of the folder whose state was asked last."""
        with coded_errors():
            return set(self._client().search("UNDELETED"))

    def heads(self, uids: Sequence[int]) -> Iterator[MailHead]:
        """Messages of that folder; a message that cannot be described comes without parts."""
        for start in range(0, len(uids), MESSAGES_AT_ONCE):
            with coded_errors():
                answers = self._described(uids[start : start + MESSAGES_AT_ONCE])
            for uid, answer in sorted(answers.items()):
                yield _head(self._folder, uid, answer)

    def part(self, head: MailHead, part: MailPart, *, most_bytes: int) -> bytes:
        """A part without its encoding, cut behind `most_bytes`; b"" where the message is gone."""
        with coded_errors():
            if self._folder != head.folder:
                self.state(head.folder)
            answer = self._client().fetch([head.uid], [f"BODY.PEEK[{part.number}]<0.{most_bytes * 3 // 2 + 8}>"])
        raw = next((value for key, value in answer.get(head.uid, {}).items() if key.startswith(b"BODY[")), b"")
        return _decoded(raw or b"", part.encoding)[:most_bytes]

    def close(self) -> None:
        if self._open_client is None:
            return
        from imapclient.exceptions import IMAPClientError

        try:
            self._open_client.logout()
        except (IMAPClientError, OSError):
            self._open_client.shutdown()

    def _described(self, uids: Sequence[int]) -> dict[int, Any]:
        """One by one where the description of a message is too deep to be read."""
        asked_for = ["BODYSTRUCTURE", _HEADER]
        try:
            return dict(self._client().fetch(uids, asked_for))
        except RecursionError:
            if len(uids) == 1:
                return dict(self._client().fetch(uids, [_HEADER]))
            middle = len(uids) // 2
            return self._described(uids[:middle]) | self._described(uids[middle:])

    def _client(self) -> IMAPClient:
        if self._open_client is None:
            self._open_client = self._signed_in()
        return self._open_client

    def _signed_in(self) -> IMAPClient:
        from imapclient import IMAPClient

        secrets, host = self._access.secrets, self._host
        if "user" not in secrets:
            raise ConnectorError("credentials")
        self._access.host_check(host, self._port)
        context = ssl.create_default_context()
        client = IMAPClient(host, self._port, ssl=self._scheme == "imaps", ssl_context=context, timeout=TIMEOUT_SECONDS)
        try:
            if not self._access.policy.permits(host, client.socket().getpeername()[0]):
                raise UrlNotAllowedError(host=host)
            if self._scheme == "imap":
                client.starttls(context)
            client.login(secrets["user"], secrets["password"])
        except BaseException:
            client.shutdown()
            raise
        return client


def address_of(location: str) -> tuple[str, int, str]:
    """Host, port and scheme. Raises ConnectorError."""
    try:
        parts = urlsplit(location.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConnectorError("address") from None
    if parts.scheme not in SCHEMES or not host or parts.username or parts.path.strip("/"):
        raise ConnectorError("address")
    return host, port or SCHEMES[parts.scheme], parts.scheme


@contextmanager
def coded_errors() -> Iterator[None]:
    from imapclient.exceptions import IMAPClientError, LoginError

    try:
        yield
    except LoginError:
        raise ConnectorError("credentials") from None
    except (IMAPClientError, OSError, EOFError) as problem:
        raise SourceUnreachableError("because", problem=" ".join(str(problem).split())[:200]) from problem


# ── what a message says of itself ───────────────────────────────────────────────────────────────


def _head(folder: str, uid: int, answer: dict[bytes, Any]) -> MailHead:
    raw = next((value for key, value in answer.items() if key.startswith(b"BODY[HEADER")), b"") or b""
    message = BytesHeaderParser().parsebytes(raw)
    shape = _Shape()
    with suppress(IndexError, TypeError, ValueError):  # a server that describes a message in its own way
        _walk(answer.get(b"BODYSTRUCTURE"), "", shape, depth=0)
    ids = _ids(header_text(message, "References")) or _ids(header_text(message, "In-Reply-To"))
    headers = [header_text(message, name) for name in ("From", "To", "Cc")]
    people = [address.lower() for _name, address in getaddresses(headers) if "@" in address]
    message_ids = _ids(header_text(message, "Message-ID"))
    return MailHead(
        folder=folder,
        uid=uid,
        message_id=message_ids[0] if message_ids else "",
        references=[*ids[:1], *ids[1:][-MOST_REFERENCES:]],
        subject=header_text(message, "Subject")[:500],
        sender=headers[0][:300],
        date=_date(header_text(message, "Date")),
        people=list(dict.fromkeys(people))[:MOST_PEOPLE],
        texts=shape.texts,
        files=shape.files[:MOST_FILES],
        hidden_files=max(0, len(shape.files) - MOST_FILES),
    )


def _ids(text: str) -> list[str]:
    return [word.strip("<>")[:400] for word in text.replace("><", "> <").split() if word.strip("<>")]


def _date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat() if text else ""
    except (ValueError, TypeError, OverflowError):
        return ""


def _walk(structure: Any, number: str, shape: _Shape, *, depth: int) -> None:
    """Texts and files of a message as its server describes it (RFC 3501, BODYSTRUCTURE)."""
    shape.parts += 1
    if shape.parts > MOST_PARTS + MOST_FILES or depth > MOST_DEPTH or not structure:
        return
    if not isinstance(structure[0], list):
        _leaf(structure, number or "1", shape)
        return
    children = structure[0]
    numbers = [f"{number}.{place}".lstrip(".") for place in range(1, len(children) + 1)]
    if _text(structure[1]) != "alternative":
        for child, child_number in zip(children, numbers, strict=True):
            _walk(child, child_number, shape, depth=depth + 1)
        return
    choices = []
    for child, child_number in zip(children, numbers, strict=True):
        choice = _Shape(parts=shape.parts)
        _walk(child, child_number, choice, depth=depth + 1)
        shape.parts = choice.parts
        shape.files += choice.files
        choices.append(choice.texts)
    shape.texts += next((texts for texts in reversed(choices) if texts), [])  # the last form is the richest


def _leaf(part: Any, number: str, shape: _Shape) -> None:
    kind, subtype = _text(part[0]), _text(part[1])
    kind_of_file = kind == "message" and subtype == "rfc822"
    place = 9 if kind == "text" else 11 if kind_of_file else 8
    how, about = _disposition(part[place] if len(part) > place else None)
    about = _pairs(part[2]) | about
    entry = MailPart(
        number=number,
        media_type=f"{kind}/{subtype}",
        size_bytes=part[6] if isinstance(part[6], int) else 0,
        encoding=_text(part[5]),
        charset=about.get("charset", "")[:40],
        name=_name(about) or ("message.eml" if kind_of_file else ""),
    )
    if kind == "text" and subtype in ("plain", "html") and how != "attachment" and not _name(about):
        shape.texts.append(entry)
    elif entry.name and subtype not in _SEALS and not (kind == "image" and how != "attachment" and part[3]):
        shape.files.append(entry)


def _disposition(value: Any) -> tuple[str, dict[str, str]]:
    """How a part is shown, and what else that says; some servers send the header as it is."""
    if isinstance(value, tuple) and value:
        return _text(value[0]), _pairs(value[1] if len(value) > 1 else None)
    if isinstance(value, bytes):
        header = Message()
        header["Content-Disposition"] = value.decode("utf-8", "replace")
        return header.get_content_disposition() or "", {"filename": header.get_filename("")}
    return "", {}


def _pairs(listed: Any) -> dict[str, str]:
    if not isinstance(listed, tuple):
        return {}
    texts = [entry.decode("utf-8", "replace") if isinstance(entry, bytes) else str(entry) for entry in listed]
    return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=False)}


def _name(about: dict[str, str]) -> str:
    """The name of a file, in whichever way programs write it (RFC 2231, RFC 2047)."""
    for name in ("filename*", "name*"):
        if name in about:
            return unquote(about[name].split("'", 2)[-1])[:255]
    return decoded_words(about.get("filename", "") or about.get("name", ""))[:255]


def _text(value: Any) -> str:
    return value.decode("ascii", "replace").lower() if isinstance(value, bytes) else ""


def _decoded(raw: bytes, encoding: str) -> bytes:
    match encoding:
        case "base64":
            clean = b"".join(raw.split())
            try:
                return base64.b64decode(clean[: len(clean) // 4 * 4])
            except binascii.Error:
                return b""
        case "quoted-printable":
            return quopri.decodestring(raw)
        case _:
            return raw
