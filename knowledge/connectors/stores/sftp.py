"""SFTP: files of a server that is reached by SSH, whose key has to be the one that the source names."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import paramiko

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors.base import Access
from knowledge.connectors.items import UnreadableItem
from knowledge.connectors.stores import FolderClosedError, Place, Store, StoredFile, StoredFolder, walk
from ragcore.fetching import system_resolve
from ragcore.fetching.addresses import permitted_addresses

CONNECT_SECONDS = 20
ANSWER_SECONDS = 120
_PEM = re.compile(r"(-----BEGIN [A-Z ]+-----)\s*(.+?)\s*(-----END [A-Z ]+-----)", re.DOTALL)
_KEYS = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


class SftpStore(Store):
    """`user` and `password`; the password may be a private key without a passphrase. Links are passed over."""

    def __init__(self, *, place: Place, settings: Any, access: Access) -> None:
        super().__init__(place=place, settings=settings, access=access)
        self._transport: paramiko.Transport | None = None
        self._channels: list[paramiko.SFTPClient] = []

    def files(self) -> Iterator[StoredFile | UnreadableItem]:
        with _coded_errors():
            self._connect()
            yield from walk(self._listing)

    def content(self, file: StoredFile, *, most_bytes: int) -> bytes:
        with _coded_errors():
            self._connect()
            with self._channels[1].open(self._path(file.path), "rb") as opened:
                opened.prefetch(min(file.size_bytes, most_bytes + 1), max_concurrent_requests=64)
                content: bytes = opened.read(most_bytes + 1)
                return content

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _connect(self) -> None:
        """A connection with two channels: a list that goes on takes all answers of its own."""
        if self._transport is not None:
            return
        secrets, place = self.access.secrets, self.place
        if "user" not in secrets:
            raise ConnectorError("credentials")
        addresses = permitted_addresses(place.host, place.port, allow=self.access.policy, resolve=system_resolve)
        connection = socket.create_connection((addresses[0], place.port), timeout=CONNECT_SECONDS)
        transport = paramiko.Transport(connection)
        try:
            transport.start_client(timeout=CONNECT_SECONDS)
            _key_check(transport.get_remote_server_key(), self.settings.host_key)
            _sign_in(transport, user=secrets["user"], password=secrets["password"])
            self._channels = [_channel(transport), _channel(transport)]
        except BaseException:
            transport.close()
            raise
        self._transport = transport

    def _path(self, path: str) -> str:
        return "/" + "/".join(filter(None, (self.place.path, path)))

    def _listing(self, folder: str) -> Iterator[StoredFile | StoredFolder]:
        try:
            for entry in self._channels[0].listdir_iter(self._path(folder)):
                path = f"{folder}/{entry.filename}" if folder else entry.filename
                mode = entry.st_mode or 0
                if stat.S_ISDIR(mode):
                    yield StoredFolder(path)
                elif stat.S_ISREG(mode):
                    yield _file(path, entry)
        except (FileNotFoundError, PermissionError):
            raise FolderClosedError from None


def _file(path: str, entry: paramiko.SFTPAttributes) -> StoredFile:
    size_bytes, changed = entry.st_size or 0, int(entry.st_mtime or 0)
    return StoredFile(
        path=path,
        size_bytes=size_bytes,
        stamp={"size": size_bytes, "changed": changed},
        changed=datetime.fromtimestamp(changed, UTC).date().isoformat(),
    )


def _key_check(key: paramiko.PKey, expected: str) -> None:
    """Raises ConnectorError with the key that the server has, so that whoever knows it can enter it."""
    fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    if not expected:
        raise ConnectorError("host_key", key=fingerprint)
    if fingerprint != expected.strip().rstrip("="):
        raise ConnectorError("other_host_key", key=fingerprint)


def _sign_in(transport: paramiko.Transport, *, user: str, password: str) -> None:
    if (match := _PEM.search(password)) is None:
        transport.auth_password(user, password)
        return
    body = re.sub(r"\s+", "\n", match[2])  # a form of one line turns line ends into spaces
    text = f"{match[1]}\n{body}\n{match[3]}\n"
    for kind in _KEYS:
        try:
            key = kind.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError):
            continue
        transport.auth_publickey(user, key)
        return
    raise ConnectorError("credentials")


def _channel(transport: paramiko.Transport) -> paramiko.SFTPClient:
    channel = paramiko.SFTPClient.from_transport(transport)
    if channel is None or (inner := channel.get_channel()) is None:
        raise ConnectorError("no_place")
    inner.settimeout(ANSWER_SECONDS)
    return channel


@contextmanager
def _coded_errors() -> Iterator[None]:
    try:
        yield
    except (paramiko.AuthenticationException, paramiko.BadAuthenticationType):
        raise ConnectorError("credentials") from None
    except (paramiko.SSHException, OSError, EOFError) as problem:
        raise SourceUnreachableError("because", problem=str(problem)[:200]) from problem
