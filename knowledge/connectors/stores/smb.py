"""Shares of Windows and Samba (SMB 2 and 3). References to other servers (DFS) and links are not followed."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any

import smbclient
from smbprotocol.exceptions import LogonFailure, SMBException, SMBOSError, SMBResponseException
from spnego.exceptions import SpnegoError

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import FolderClosedError, Place, Store, StoredFile, StoredFolder, walk
from ragcore.errors import UrlNotAllowedError

CONNECT_SECONDS = 20
REPARSE_POINT = 0x400  # links, junctions, and files that a server stores elsewhere
DIRECTORY = 0x10
CLOSED = (errno.EPERM, errno.ENOENT, errno.EACCES, errno.ENOTDIR)


class SmbStore(Store):
    """`user` (perhaps DOMAIN\\NAME) and `password`."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        self._share, self._folder = place.container()
        self._cache = _OneHost(place)
        self._usual: dict[str, Any] = {"port": place.port, "connection_cache": self._cache}

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        with _coded_errors():
            self._connect()
            yield from walk(self._listing)

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        with _coded_errors():
            self._connect()
            content = bytearray()
            with smbclient.open_file(
                self._path(file.path), mode="rb", buffering=0, share_access="rwd", **self._usual
            ) as opened:
                while len(content) <= most_bytes and (piece := opened.read(most_bytes + 1 - len(content))):
                    content += piece
            return bytes(content)

    def close(self) -> None:
        smbclient.reset_connection_cache(fail_on_error=False, connection_cache=self._cache)

    def _connect(self) -> None:
        secrets = self.access.secrets
        if "user" not in secrets:
            raise ConnectorError("credentials")
        self.access.host_check(self.place.host, self.place.port)
        smbclient.ClientConfig(skip_dfs=True)
        smbclient.register_session(
            self.place.host,
            username=secrets["user"],
            password=secrets["password"],
            connection_timeout=CONNECT_SECONDS,
            **self._usual,
        )

    def _path(self, path: str) -> str:
        parts = "/".join(filter(None, (self._share, self._folder, path)))
        return rf"\\{self.place.host}\{parts}".replace("/", "\\")

    def _listing(self, folder: str) -> Iterator[StoredFile | StoredFolder]:
        try:
            with smbclient.scandir(self._path(folder), **self._usual) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    attributes = int(entry.smb_info.file_attributes)
                    if attributes & DIRECTORY:
                        if not attributes & REPARSE_POINT:
                            yield StoredFolder(path)
                    elif not (attributes & REPARSE_POINT and entry.is_symlink()):
                        yield _file(path, entry.smb_info)
        except SMBOSError as problem:  # whose class never says which one it is
            if problem.errno in CLOSED:
                raise FolderClosedError from None
            raise


class _OneHost(dict[str, Any]):
    """Connections of one store: a server that refers to another one is not followed there."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._key = f"{place.host.lower()}:{place.port}"

    def get(self, key: str, default: Any = None) -> Any:
        if key != self._key:
            raise UrlNotAllowedError(host=key.rpartition(":")[0])
        return super().get(key, default)


def _file(path: str, info: Any) -> StoredFile:
    changed = info.last_write_time.astimezone(UTC)
    return StoredFile(
        path=path,
        size_bytes=int(info.end_of_file),
        stamp={"size": int(info.end_of_file), "changed": changed.isoformat()},
        changed=changed.date().isoformat(),
    )


@contextmanager
def _coded_errors() -> Iterator[None]:
    try:
        yield
    except (LogonFailure, SpnegoError):
        raise ConnectorError("credentials") from None
    except SMBResponseException as problem:
        if "BAD_NETWORK_NAME" in str(problem):
            raise ConnectorError("no_place") from None
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
    except (SMBException, OSError, ValueError) as problem:
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
