"""What is known of the messages of a mailbox, in a file of its source; messages that belong together."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from knowledge.connectors.imap import MailHead

FORM = 1  # of the rows; with another one the file begins anew
_TABLES = """
CREATE TABLE IF NOT EXISTS folder (name TEXT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS message (
    folder TEXT NOT NULL, uid INTEGER NOT NULL, id TEXT NOT NULL, refs TEXT NOT NULL, head TEXT NOT NULL,
    PRIMARY KEY (folder, uid)
);
"""


class MailIndex:
    """May be lost at any time: then all messages are described anew."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._rows = sqlite3.connect(folder / f"mail-{FORM}.sqlite")
        self._rows.executescript(_TABLES)

    def close(self) -> None:
        self._rows.close()

    def folders(self) -> list[str]:
        return [name for (name,) in self._rows.execute("SELECT name FROM folder")]

    def state(self, folder: str) -> dict[str, int]:
        """As it was when the folder was read; {} for one that never was."""
        row = self._rows.execute("SELECT state FROM folder WHERE name = ?", (folder,)).fetchone()
        state: dict[str, int] = json.loads(row[0]) if row else {}
        return state

    def state_store(self, folder: str, state: Mapping[str, int]) -> None:
        with self._rows:
            self._rows.execute("INSERT OR REPLACE INTO folder VALUES (?, ?)", (folder, json.dumps(dict(state))))

    def uids(self, folder: str) -> set[int]:
        return {uid for (uid,) in self._rows.execute("SELECT uid FROM message WHERE folder = ?", (folder,))}

    def add(self, heads: Iterable[MailHead], *, validity: int) -> None:
        with self._rows:
            for head in heads:
                message_id = head.message_id or f"{validity}.{head.uid}@{head.folder}"
                stored = json.dumps({**head.json(), "message_id": message_id})
                values = (head.folder, head.uid, message_id, json.dumps(list(head.references)), stored)
                self._rows.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", values)

    def remove(self, folder: str, uids: Iterable[int]) -> None:
        with self._rows:
            self._rows.executemany("DELETE FROM message WHERE folder = ? AND uid = ?", [(folder, uid) for uid in uids])

    def folder_forget(self, folder: str) -> None:
        with self._rows:
            self._rows.execute("DELETE FROM message WHERE folder = ?", (folder,))
            self._rows.execute("DELETE FROM folder WHERE name = ?", (folder,))

    def threads(self) -> Iterator[list[MailHead]]:
        """Messages that name each other, each once, the oldest first; of all threads, in an order that stays."""
        groups: dict[str, list[int]] = defaultdict(list)
        joined = _Joined()
        rows = self._rows.execute("SELECT rowid, id, refs FROM message ORDER BY folder, uid").fetchall()
        for _row, message_id, references in rows:
            for other in json.loads(references):
                joined.join(message_id, other)
        for row, message_id, _references in rows:
            groups[joined.root(message_id)].append(row)
        del rows
        for members in groups.values():
            yield self._thread(members)

    def _thread(self, members: list[int]) -> list[MailHead]:
        heads: dict[tuple[str, str, int], MailHead] = {}
        for row in members:
            (stored,) = self._rows.execute("SELECT head FROM message WHERE rowid = ?", (row,)).fetchone()
            head = MailHead.of(json.loads(stored))
            # a copy in another folder is the same message; another text under its id is not
            heads.setdefault((head.message_id, head.date, sum(part.size_bytes for part in head.texts)), head)
        return sorted(heads.values(), key=lambda head: (head.date, head.uid))


class _Joined:
    """Sets of names that grow together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        while (above := self._above.get(name, name)) != name:
            self._above[name] = self._above.get(above, above)
            name = above
        return name

    def join(self, first: str, second: str) -> None:
        a, b = self.root(first), self.root(second)
        if a != b:
            self._above[a] = b
