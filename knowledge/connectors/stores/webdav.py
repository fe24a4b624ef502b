"""WebDAV: Nextcloud, ownCloud and others. One PROPFIND for each folder, read as it arrives (RFC 4918)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import requests
from lxml import etree
from requests.auth import HTTPBasicAuth

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.checked_http import TIMEOUT, body_read, session_of
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import FolderClosedError, Place, Store, StoredFile, StoredFolder, walk

DAV = "{DAV:}"
QUESTION = (
    b'<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop>'
    b"<resourcetype/><getcontentlength/><getetag/><getlastmodified/></prop></propfind>"
)
MULTI_STATUS = 207


class WebDavStore(Store):
    """`user` and `password`, or a `token` (Bearer)."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        self._session = session_of(access)
        secrets = access.secrets
        if "user" in secrets:
            self._session.auth = HTTPBasicAuth(secrets["user"].encode(), secrets["password"].encode())
        elif "token" in secrets:
            self._session.headers["Authorization"] = f"Bearer {secrets['token']}"

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        yield from walk(self._listing)

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        with _coded_errors():
            reply = self._session.get(self._address(file.path), stream=True, timeout=TIMEOUT)
            _status_check(reply)
            return body_read(reply, most_bytes=most_bytes)

    def close(self) -> None:
        self._session.close()

    def _address(self, path: str, *, is_folder: bool = False) -> str:
        whole = "/".join(filter(None, (self.place.path, path)))
        return f"{self.place.origin}/{quote(whole)}{'/' if is_folder and whole else ''}"

    def _listing(self, folder: str) -> Iterator[StoredFile | StoredFolder]:
        with _coded_errors():
            reply = self._session.request(
                "PROPFIND",
                self._address(folder, is_folder=True),
                data=QUESTION,
                headers={"Depth": "1", "Content-Type": "application/xml; charset=utf-8"},
                stream=True,
                timeout=TIMEOUT,
            )
            with reply:
                _status_check(reply)
                if reply.status_code != MULTI_STATUS:
                    raise ConnectorError("no_webdav")
                yield from self._entries(reply, folder)

    def _entries(self, reply: requests.Response, folder: str) -> Iterator[StoredFile | StoredFolder]:
        """The members of a folder. Whatever stands for the folder itself, or lies elsewhere, is passed over."""
        base = f"/{self.place.path}/" if self.place.path else "/"
        above = f"{base}{folder}/" if folder else base
        answers = etree.iterparse(
            reply.raw, events=("end",), tag=f"{DAV}response", resolve_entities=False, no_network=True, huge_tree=False
        )
        for _event, answer in answers:
            href = unquote(urlsplit(answer.findtext(f"{DAV}href", "").strip()).path)
            name = href.removeprefix(above).rstrip("/")
            if href.startswith(above) and name and "/" not in name and name not in (".", ".."):
                yield _entry(f"{folder}/{name}" if folder else name, answer)
            answer.clear()
            while answer.getprevious() is not None:
                del answer.getparent()[0]


def _entry(path: str, answer: etree._Element) -> StoredFile | StoredFolder:
    if answer.find(f".//{DAV}resourcetype/{DAV}collection") is not None:
        return StoredFolder(path)
    size, etag, changed = (
        answer.findtext(f".//{DAV}{name}", "").strip() for name in ("getcontentlength", "getetag", "getlastmodified")
    )
    size_bytes = int(size) if size.isascii() and size.isdigit() else 0
    stamp = {"etag": etag, "size": size_bytes} if etag else {"size": size_bytes, "changed": changed}
    return StoredFile(path=path, size_bytes=size_bytes, stamp=stamp, changed=_date(changed))


def _date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""


def _status_check(reply: requests.Response) -> None:
    match reply.status_code:
        case 401:
            raise ConnectorError("credentials")
        case 403 | 404 | 410:
            raise FolderClosedError
        case status if status >= 400:
            raise SourceUnreachableError("because", problem=f"HTTP {status}")


@contextmanager
def _coded_errors() -> Iterator[None]:
    try:
        yield
    except requests.RequestException as problem:
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
    except etree.XMLSyntaxError as problem:
        raise SourceUnreachableError("because", problem=f"XML: {problem}"[:200]) from problem
