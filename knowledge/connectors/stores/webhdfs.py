"""Hadoop's file system by its REST interface (WebHDFS, HttpFS), which sends contents from another host."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import requests
from requests.auth import HTTPBasicAuth

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.checked_http import TIMEOUT, body_read, session_of
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import FolderClosedError, Place, Store, StoredFile, StoredFolder, walk

MOST_LIST_BYTES = 64 * 1024 * 1024  # of a page; a name node sends 1,000 entries at once


class WebHdfsStore(Store):
    """`user` and `password` for a gateway, a `token` of delegation, or the name in the address."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        self._session = session_of(access)
        self._usual: dict[str, str] = {"user.name": place.user} if place.user else {}
        self._is_paged = True
        secrets = access.secrets
        if "user" in secrets:
            self._session.auth = HTTPBasicAuth(secrets["user"].encode(), secrets["password"].encode())
        elif "token" in secrets:
            self._usual = {"delegation": secrets["token"]}

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        try:
            yield from walk(self._listing)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):  # JSON of something else
            raise ConnectorError("no_webhdfs") from None

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        reply = self._asked(file.path, op="OPEN", length=str(most_bytes + 1))
        return body_read(reply, most_bytes=most_bytes)

    def close(self) -> None:
        self._session.close()

    def _listing(self, folder: str) -> Iterator[StoredFile | StoredFolder]:
        after, remaining = "", 1
        while remaining:
            entries, remaining = self._page(folder, after)
            for entry in entries:
                path = f"{folder}/{entry['pathSuffix']}" if folder else entry["pathSuffix"]
                if not entry["pathSuffix"]:  # the place itself is a file
                    raise FolderClosedError
                if entry["type"] == "DIRECTORY":
                    yield StoredFolder(path)
                elif entry["type"] == "FILE":
                    yield _file(path, entry)
            after = entries[-1]["pathSuffix"] if entries else ""
            remaining = remaining if entries else 0

    def _page(self, folder: str, after: str) -> tuple[list[dict[str, Any]], int]:
        """Entries, and how many more there are. Older servers have only the whole list of a folder."""
        if self._is_paged:
            try:
                answer = self._json(folder, op="LISTSTATUS_BATCH", **({"startAfter": after} if after else {}))
            except ConnectorError as error:
                if after or error.reason != "no_webhdfs":
                    raise
                self._is_paged = False
            else:
                page = answer["DirectoryListing"]
                return page["partialListing"]["FileStatuses"]["FileStatus"], int(page["remainingEntries"])
        return self._json(folder, op="LISTSTATUS")["FileStatuses"]["FileStatus"], 0

    def _json(self, folder: str, **question: str) -> Any:
        reply = self._asked(folder, **question)
        body = body_read(reply, most_bytes=MOST_LIST_BYTES)
        try:
            return requests.models.complexjson.loads(body)
        except ValueError:
            raise ConnectorError("no_webhdfs") from None

    def _asked(self, path: str, **question: str) -> requests.Response:
        whole = "/".join(filter(None, (self.place.path, path)))
        address = f"{self.place.origin}/webhdfs/v1/{quote(whole)}"
        try:
            reply = self._session.get(address, params={**question, **self._usual}, stream=True, timeout=TIMEOUT)
        except requests.RequestException as problem:
            raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
        match reply.status_code:
            case 200:
                return reply
            case 400:
                raise ConnectorError("no_webhdfs")
            case 401:
                raise ConnectorError("credentials")
            case 403 | 404:
                raise FolderClosedError
            case status:
                raise SourceUnreachableError("because", problem=f"HTTP {status}")


def _file(path: str, entry: dict[str, Any]) -> StoredFile:
    changed_ms = int(entry["modificationTime"])
    return StoredFile(
        path=path,
        size_bytes=int(entry["length"]),
        stamp={"size": int(entry["length"]), "changed_ms": changed_ms},
        changed=datetime.fromtimestamp(changed_ms / 1000, UTC).date().isoformat(),
    )
