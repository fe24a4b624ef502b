"""Servers of this machine that store files, one for each protocol: real ones, and for Azure and Hadoop made ones that
answer as the published descriptions of their REST interfaces say.

Each is a context manager that gives a `Shelf`.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import requests

Files = Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A place with files. `fill`: takes files by path, None to remove one."""

    location: str
    fill: Callable[[Mapping[str, bytes | None]], None]
    secrets: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def folder_fill(folder: Path, files: Mapping[str, bytes | None]) -> None:
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def handled(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A web server; yields its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class QuietHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *values: Any) -> None:
        """Quiet."""

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


def started(command: list[str], port: int) -> subprocess.Popen[bytes]:
    """A program that serves; returns as soon as it answers."""
    # a session of its own: Samba ends all programs of its process group when it ends
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            threading.Event().wait(0.05)
        else:
            return process
    process.kill()
    raise AssertionError(process.communicate()[1].decode("utf-8", "replace"))


# ── one for each protocol ───────────────────────────────────────────────────────────────────────


@contextmanager
def s3(_folder: Path) -> Iterator[Shelf]:
    """moto, which has the protocol of Amazon."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        requests.post(f"http://{host}:{port}/moto-api/reset", timeout=10)  # its state belongs to the process
        client.create_bucket(Bucket="shelf")

        def fill(files: Mapping[str, bytes | None]) -> None:
            for name, content in files.items():
                if content is None:
                    client.delete_object(Bucket="shelf", Key=f"room/{name}")
                else:
                    client.put_object(Bucket="shelf", Key=f"room/{name}", Body=content)

        client.put_object(Bucket="shelf", Key="room/", Body=b"")
        client.put_object(Bucket="shelf", Key="roommate/outside.md", Body=b"Outside.")
        yield Shelf(
            location=f"s3+http://{host}:{port}/shelf/room", fill=fill, secrets={"user": "key", "password": "secret"}
        )
        client.close()
    finally:
        server.stop()


@contextmanager
def webdav(folder: Path) -> Iterator[Shelf]:
    """WsgiDAV."""
    from cheroot.wsgi import Server
    from wsgidav.wsgidav_app import WsgiDAVApp

    room = folder / "dav" / "room"
    room.mkdir(parents=True)
    users = {"*": {"mei": {"password": "very secret"}}}
    app = WsgiDAVApp(
        {
            "provider_mapping": {"/": str(folder / "dav")},
            "simple_dc": {"user_mapping": users},
            "logging": {"enable": False, "enable_loggers": []},
            "verbose": 0,
            "fs_dav_provider": {"follow_symlinks": True},
        }
    )
    port = free_port()
    server = Server(("127.0.0.1", port), app, numthreads=2)
    server.prepare()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield Shelf(
            location=f"webdav+http://127.0.0.1:{port}/room",
            fill=lambda files: folder_fill(room, files),
            secrets={"user": "mei", "password": "very secret"},
        )
    finally:
        server.stop()
        thread.join()


@contextmanager
def sftp(folder: Path) -> Iterator[Shelf]:
    """OpenSSH, with a key for whoever runs the tests."""
    room = folder / "sftp" / "room"
    room.mkdir(parents=True)
    Path("/run/sshd").mkdir(exist_ok=True) if os.geteuid() == 0 else None
    for name in ("host", "person"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, capture_output=True
        )
    port = free_port()
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder / 'host'}\nPidFile none\nStrictModes no\nUsePAM no\n"
        f"AuthorizedKeysFile {folder / 'person.pub'}\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n"
        "PermitRootLogin prohibit-password\n"
    )
    process = started([shutil.which("sshd") or "sshd", "-D", "-e", "-f", str(folder / "sshd_config")], port)
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(folder / "host.pub")], check=True, capture_output=True, text=True
    ).stdout
    try:
        yield Shelf(
            location=f"sftp://127.0.0.1:{port}{room}",
            fill=lambda files: folder_fill(room, files),
            secrets={"user": getpass.getuser(), "password": (folder / "person").read_text()},
            settings={"host_key": shown.split()[1]},
        )
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def smb(folder: Path) -> Iterator[Shelf]:
    """Samba, with a user of its own; for root alone."""
    room = folder / "smb" / "room"
    room.mkdir(parents=True)
    state, port = folder / "samba", free_port()
    state.mkdir()
    folders = "".join(
        f"{name} = {state}\n"
        for name in ("private dir", "lock directory", "state directory", "cache directory", "pid directory")
    )
    config = state / "smb.conf"
    config.write_text(
        f"[global]\n{folders}ncalrpc dir = {state}/rpc\nsmb ports = {port}\nbind interfaces only = yes\n"
        f"interfaces = 127.0.0.1\nserver role = standalone\nlog file = {state}/log\ndisable spoolss = yes\n"
        f"load printers = no\ncase sensitive = yes\nserver min protocol = SMB2\n"
        f"[shelf]\npath = {folder / 'smb'}\nforce user = {getpass.getuser()}\nread only = yes\n"
    )
    subprocess.run(
        ["pdbedit", "-s", str(config), "-a", "-u", "nobody", "-t"],
        input=b"very secret\nvery secret\n",
        check=True,
        capture_output=True,
    )
    command = [shutil.which("smbd") or "smbd", "--foreground", "--no-process-group", f"--configfile={config}"]
    process = started(command, port)
    try:
        yield Shelf(
            location=f"smb://127.0.0.1:{port}/shelf/room",
            fill=lambda files: folder_fill(room, files),
            secrets={"user": "nobody", "password": "very secret"},
        )
    finally:
        process.terminate()
        process.communicate()


class _Blobs(QuietHandler):
    """List Blobs with pages of two, and Get Blob with a range (REST API of Azure's blob service)."""

    blobs: dict[str, bytes]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        question = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not self.headers.get("Authorization", "").startswith("SharedKey account:"):
            self.reply(403, b"<Error><Code>AuthenticationFailed</Code></Error>", x_ms_error_code="AuthenticationFailed")
        elif not parts.path.startswith("/account/shelf"):
            self.reply(404, b"", x_ms_error_code="ContainerNotFound")
        elif question.get("comp") == "list":
            self.reply(200, self._list(question), Content_Type="application/xml")
        else:
            self._blob(unquote(parts.path).removeprefix("/account/shelf/"))

    def _list(self, question: Mapping[str, str]) -> bytes:
        names = sorted(name for name in self.blobs if name.startswith(question.get("prefix", "")))
        names = [name for name in names if name > question.get("marker", "")]
        shown = "".join(
            f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{formatdate(0, usegmt=True)}</Last-Modified>"
            f"<Etag>0x{md5(self.blobs[name], usedforsecurity=False).hexdigest()}</Etag>"
            f"<Content-Length>{len(self.blobs[name])}</Content-Length><BlobType>BlockBlob</BlobType></Properties>"
            "</Blob>"
            for name in names[:2]
        )
        following = escape(names[1]) if len(names) > 2 else ""
        prefix = escape(question.get("prefix", ""))
        return (
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="shelf">'
            f"<Prefix>{prefix}</Prefix><Blobs>{shown}</Blobs>"
            f"<NextMarker>{following}</NextMarker></EnumerationResults>"
        ).encode()

    def _blob(self, name: str) -> None:
        content = self.blobs.get(name)
        if content is None:
            self.reply(404, b"", x_ms_error_code="BlobNotFound")
            return
        first, last = map(int, self.headers["x-ms-range"].removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        self.reply(
            206,
            part,
            Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(content)}",
            ETag=f"0x{md5(content, usedforsecurity=False).hexdigest()}",
            Last_Modified=formatdate(0, usegmt=True),
            x_ms_blob_type="BlockBlob",
        )


def _filler(kept: dict[str, bytes]) -> Callable[[Mapping[str, bytes | None]], None]:
    def fill(files: Mapping[str, bytes | None]) -> None:
        for name, content in files.items():
            if content is None:
                del kept[f"room/{name}"]
            else:
                kept[f"room/{name}"] = content

    return fill


@contextmanager
def azure(_folder: Path) -> Iterator[Shelf]:
    blobs = {"roommate/outside.md": b"Outside."}
    with handled(type("Blobs", (_Blobs,), {"blobs": blobs})) as port:
        yield Shelf(
            location=f"azure+http://127.0.0.1:{port}/account/shelf/room",
            fill=_filler(blobs),
            secrets={"user": "account", "password": "c2VjcmV0"},
        )


class _NameNode(QuietHandler):
    """LISTSTATUS_BATCH with pages of two, and OPEN, which sends to the data node (WebHDFS REST API)."""

    files: dict[str, bytes]
    data_port: int

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        question = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path).removeprefix("/webhdfs/v1/").strip("/")
        if question.get("delegation") != "very-secret":
            self.reply(401, b"{}")
        elif question["op"] == "OPEN" and path in self.files:
            self.reply(
                307, Location=f"http://127.0.0.1:{self.data_port}/data/{quote(path)}?length={question['length']}"
            )
        elif question["op"] == "LISTSTATUS_BATCH" and any(name.startswith(f"{path}/") for name in self.files):
            self.reply(200, self._list(path, question.get("startAfter", "")), Content_Type="application/json")
        else:
            self.reply(404, b"{}")

    def _list(self, path: str, after: str) -> bytes:
        names: dict[str, bytes | None] = {}
        for name, content in self.files.items():
            if name.startswith(f"{path}/"):
                first, slash, _rest = name.removeprefix(f"{path}/").partition("/")
                names[first] = None if slash else content
        names["loop"] = None
        following = sorted(name for name in names if name > after)
        statuses = [self._status(name, names[name]) for name in following[:2]]
        page = {"partialListing": {"FileStatuses": {"FileStatus": statuses}}}
        return json.dumps({"DirectoryListing": {**page, "remainingEntries": len(following[2:])}}).encode()

    def _status(self, name: str, content: bytes | None) -> dict[str, Any]:
        kind = "SYMLINK" if name == "loop" else "DIRECTORY" if content is None else "FILE"
        changed_ms = sum(content or b"") + 1_700_000_000_000
        return {"pathSuffix": name, "type": kind, "length": len(content or b""), "modificationTime": changed_ms}


class _DataNode(QuietHandler):
    files: dict[str, bytes]

    def do_GET(self) -> None:
        self.reply(200, self.files[unquote(urlsplit(self.path).path).removeprefix("/data/")])


@contextmanager
def webhdfs(_folder: Path) -> Iterator[Shelf]:
    files: dict[str, bytes] = {"room/.keep": b"", "roommate/outside.md": b"Outside."}
    with handled(type("DataNode", (_DataNode,), {"files": files})) as data_port:
        names = type("NameNode", (_NameNode,), {"files": files, "data_port": data_port})
        with handled(names) as port:
            yield Shelf(
                location=f"webhdfs+http://127.0.0.1:{port}/room", fill=_filler(files), secrets={"token": "very-secret"}
            )


SERVERS = {"s3": s3, "azure": azure, "webdav": webdav, "webhdfs": webhdfs, "sftp": sftp, "smb": smb}


def is_installed(service: str) -> bool:
    match service:
        case "sftp":
            return shutil.which("sshd") is not None
        case "smb":
            return shutil.which("smbd") is not None and os.geteuid() == 0
        case _:
            return True
