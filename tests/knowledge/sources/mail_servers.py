"""Mail servers of this machine: pymap within the tests, and Dovecot where it is installed."""

from __future__ import annotations

import imaplib
import os
import pwd
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.knowledge.sources.storage_servers import free_port, started

PERSON, PASSWORD = "mei", "very-secret"


@dataclass(frozen=True, kw_only=True)
class Post:
    """A mailbox of one person."""

    port: int
    secrets: Mapping[str, str]
    is_made: bool = False  # for tests

    @property
    def location(self) -> str:
        return f"imap+plain://127.0.0.1:{self.port}"

    @contextmanager
    def _signed_in(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self.port) as client:
            client.login(self.secrets["user"], self.secrets["password"])
            yield client

    def deliver(self, *messages: bytes, folder: str = "INBOX") -> None:
        with self._signed_in() as client:
            client.create(f'"{folder}"')
            for message in messages:
                answer = client.append(f'"{folder}"', "", None, message.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
                assert answer[0] == "OK", answer

    def remove(self, message_id: str, *, folder: str = "INBOX") -> None:
        with self._signed_in() as client:
            client.select(f'"{folder}"')
            _status, found = client.uid("SEARCH", "HEADER", "Message-ID", message_id)
            for uid in found[0].split():
                client.uid("STORE", uid.decode(), "+FLAGS", "(\\Deleted)")
            client.expunge()

    def folder_remove(self, folder: str) -> None:
        with self._signed_in() as client:
            client.delete(f'"{folder}"')


@contextmanager
def pymap(_folder: Path) -> Iterator[Post]:
    port = free_port()
    code = "from pymap.main import main; main()"
    command = [sys.executable, "-c", code, "--host", "127.0.0.1", "--port", str(port), "--no-tls"]
    process = started([*command, "dict", "--demo-user", PERSON, "--demo-password", PASSWORD], port)
    try:
        yield Post(port=port, secrets={"user": PERSON, "password": PASSWORD}, is_made=True)
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def dovecot(_folder: Path) -> Iterator[Post]:
    """In a folder of its own, which the users of its processes may enter."""
    with TemporaryDirectory() as name:
        port, state = free_port(), Path(name)
        state.chmod(0o755)
        nobody = pwd.getpwnam("nobody")  # it keeps no mail for root
        (state / "mail").mkdir()
        os.chown(state / "mail", nobody.pw_uid, nobody.pw_gid)
        config = state / "dovecot.conf"
        config.write_text(
            f"base_dir = {state}/run\nstate_dir = {state}/state\nlog_path = /dev/stderr\nprotocols = imap\nssl = no\n"
            f"disable_plaintext_auth = no\nlisten = 127.0.0.1\nmail_location = maildir:{state}/mail/dir\n"
            "first_valid_uid = 1\nfirst_valid_gid = 1\n"
            f"passdb {{\n driver = static\n args = password={PASSWORD}\n}}\n"
            f"userdb {{\n driver = static\n args = uid={nobody.pw_uid} gid={nobody.pw_gid} home={state}/mail\n}}\n"
            f"service imap-login {{\n inet_listener imap {{\n port = {port}\n }}\n"
            " inet_listener imaps {\n port = 0\n }\n}\n"
            "namespace inbox {\n inbox = yes\n separator = /\n}\n"
        )
        process = started([shutil.which("dovecot") or "dovecot", "-F", "-c", str(config)], port)
        try:
            yield Post(port=port, secrets={"user": PERSON, "password": PASSWORD})
        finally:
            process.terminate()
            process.communicate()


SERVERS = {"pymap": pymap, "dovecot": dovecot}


def is_installed(server: str) -> bool:
    return server == "pymap" or (shutil.which("dovecot") is not None and os.geteuid() == 0)
