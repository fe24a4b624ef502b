"""Services that store files: one module for each protocol, all behind one port, loaded when they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from knowledge.connector_errors import ConnectorError, ItemOfSourceError
from knowledge.connectors.base import Access
from knowledge.connectors.items import Stamp, UnreadableItem
from knowledge.errors import FolderUnreadableError

MOST_FOLDERS = 200_000  # of one place; a server that follows links in a ring would offer folders without end
MOST_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where files lie, as the location of a source says it. `path`: without a slash at its ends, decoded."""

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""
    is_secure: bool = True

    @property
    def origin(self) -> str:
        """Of a service that speaks HTTP."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}"

    def container(self) -> tuple[str, str]:
        """The first part of the path (bucket, container, share), and the rest. Raises ConnectorError."""
        name, _slash, rest = self.path.partition("/")
        if not name:
            raise ConnectorError("no_container")
        return name, rest


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a service. `path`: below the place, with slashes; `changed`: a date (ISO), "" where nobody says."""

    path: str
    size_bytes: int
    stamp: Stamp
    changed: str = ""


@dataclass(frozen=True, slots=True)
class StoredFolder:
    """A folder below the place."""

    path: str


class FolderClosedError(Exception):
    """A folder may not be listed, or is gone."""


class Store(ABC):
    """One place, for one run."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        self.place, self.settings, self.access = place, settings, access

    @abstractmethod
    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        """Every file below the place, as the service sends them, page by page.

        Raises ConnectorError, SourceUnreachableError, UrlNotAllowedError.
        """

    @abstractmethod
    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        """At most `most_bytes` + 1 bytes of a file, while `files` goes on. Raises as `files`, and OSError."""

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """End its connections."""


def place_of(location: str, *, schemes: Mapping[str, int]) -> Place:
    """`schemes`: with the usual port of each; "+http" behind one means without TLS. Raises ConnectorError."""
    try:
        parts = urlsplit(location.strip())
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise ConnectorError("address") from None
    scheme, _plus, plain = parts.scheme.partition("+")
    if scheme not in schemes or plain not in ("", "http") or not host or parts.password:
        raise ConnectorError("address")
    path = unquote(location.strip().partition("://")[2].partition("/")[2]).strip("/")
    is_secure = plain == ""
    usual = 80 if not is_secure and schemes[scheme] == 443 else schemes[scheme]
    user = unquote(parts.username or "")
    return Place(scheme=scheme, host=host, port=port or usual, path=path, user=user, is_secure=is_secure)


def is_hidden(path: str) -> bool:
    """Whether a name of a path begins with a dot, as those of programs do."""
    return any(name.startswith(".") for name in path.split("/"))


def walk(
    listing: Callable[[str], Iterator[StoredFile | StoredFolder]], *, most_folders: int = MOST_FOLDERS
) -> Iterator[StoredFile | UnreadableItem]:
    """Files of all folders, a folder at a time: only names of folders that are still to be listed are in memory.

    `listing`: the content of a folder by its path, "" for the place itself; raises FolderClosedError.
    """
    waiting, folders = [""], 1
    while waiting:
        folder = waiting.pop()
        below: list[str] = []
        try:
            for entry in listing(folder):
                if isinstance(entry, StoredFile):
                    yield entry
                else:
                    below.append(entry.path)
        except FolderClosedError:
            if not folder:
                raise ConnectorError("no_place") from None
            yield UnreadableItem(path=folder, error=FolderUnreadableError("subfolder"), hides=True)
        if folder.count("/") + 1 >= MOST_DEPTH or folders + len(below) > most_folders:
            if below:
                yield UnreadableItem(path=folder, error=ItemOfSourceError("folders"), hides=True)
            continue
        folders += len(below)
        waiting += reversed(below)
