"""Parses and validates lines of a bulk load, and collects refused ones."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Any, ClassVar

from accounts.error_messages import error_message
from accounts.storable import storable_bytes
from ragcore.errors import PermanentError, Sentence

MAX_LINE_BYTES = 10 * 1024 * 1024
BATCH_BYTES = 4 * 1024 * 1024  # that a batch may have besides its last line
MEMORY_BYTES = 2 * 1024 * 1024  # of the valid lines of a load; what is more waits on disk
MAX_FAULTY_LINES = 1000  # with so many the load ends
SHOWN = 100  # refused lines that an answer names
SHOWN_FAULTS = 5  # of one line
SHOWN_CHARACTERS = 300  # of what is wrong with one line
ENDINGS = {"text": ".txt", "markdown": ".md", "html": ".html"}
FIELDS = {
    "external_id",
    "title",
    "text",
    "format",
    "sets",
    "clearance",
    "metadata",
    "tags",
    "tenant",
    "source",
    "review_by",
}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
HEAD = struct.Struct("<QQ")  # number and length of a line in the spool

Numbered = tuple[int, bytes]


class BadLineError(PermanentError):
    """A line is not a valid row."""

    code = "invalid_line"
    default_message = "The line is not a valid document."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "too_long": "The line is longer than %(limit_mb)s MB.",
        "not_an_object": "The line must be a JSON object.",
        "not_storable": "The line has a null character, half a surrogate pair or an infinite number.",
        "faults": "%(faults)s",
        "not_json": "The line is not valid JSON: %(problem)s",
    }


class TooManyBadLinesError(PermanentError):
    """Too many faulty lines: the load ends and nothing is stored."""

    code = "too_many_invalid_lines"
    default_message = "Too many lines are not valid documents. Nothing was stored."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "count": "%(rejected_count)s lines are not valid documents. Nothing was stored, and the rest was not read.",
    }


@dataclass(frozen=True, slots=True)
class LineRefusal:
    """A refused line; lines count from 1."""

    line: int
    code: str
    message: str

    @classmethod
    def of(cls, line: int, error: PermanentError) -> LineRefusal:
        """The error of a line, in few words."""
        return cls(line, error.code, error_message(error)[:SHOWN_CHARACTERS])


@dataclass(slots=True)
class Refusals:
    """Refused lines: all are counted, the first are named."""

    count: int = 0
    named: list[LineRefusal] = field(default_factory=list)

    def add(self, refusals: Iterable[LineRefusal]) -> None:
        """Lines may come in any order."""
        more = list(refusals)
        self.count += len(more)
        self.named = sorted([*self.named, *more], key=lambda refusal: refusal.line)[:SHOWN]

    def raise_if_too_many(self) -> None:
        """Raises TooManyBadLinesError."""
        if self.count >= MAX_FAULTY_LINES:
            fields = [
                {"line": refusal.line, "code": refusal.code, "message": refusal.message} for refusal in self.named
            ]
            raise TooManyBadLinesError("count", rejected_count=self.count, fields=fields)


class LineSpool:
    """Lines that wait to be registered: small loads in memory, larger ones on disk."""

    def __init__(self) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 (closed at the end of the context)

    def __enter__(self) -> LineSpool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, number: int, line: bytes) -> None:
        """Keep a line with its number."""
        self._file.write(HEAD.pack(number, len(line)))
        self._file.write(line)

    def batches(self, most_lines: int) -> Iterator[list[Numbered]]:
        """The lines in their order, some at a time: not too many, and not too many bytes."""
        self._file.seek(0)
        batch: list[Numbered] = []
        size = 0
        while head := self._file.read(HEAD.size):
            number, length = HEAD.unpack(head)
            batch.append((number, self._file.read(length)))
            size += length
            if len(batch) == most_lines or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def is_day(value: object) -> bool:
    """Whether it is a day of the calendar as YYYY-MM-DD."""
    if not isinstance(value, str) or DAY.fullmatch(value) is None:
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


CHECKS: Mapping[str, Any] = {
    "external_id": lambda v: isinstance(v, str) and 0 < len(v) <= 512,
    "title": lambda v: v is None or isinstance(v, str),
    "text": lambda v: isinstance(v, str) and v.strip() != "",
    "format": lambda v: v is None or (isinstance(v, str) and v in ENDINGS),
    "sets": lambda v: v is None or (isinstance(v, list) and all(type(x) is int for x in v)),
    "clearance": lambda v: v is None or (type(v) is int and 0 <= v <= 4),
    "metadata": lambda v: v is None or isinstance(v, dict),
    "tags": lambda v: v is None or (isinstance(v, list) and all(isinstance(x, str) and len(x) <= 64 for x in v)),
    "tenant": lambda v: v is None or isinstance(v, str),
    "source": lambda v: v is None or (isinstance(v, str) and len(v) <= 128),
    "review_by": lambda v: v is None or is_day(v),
}


def parse_line(line: bytes) -> dict[str, Any]:
    """The row of a line. Raises BadLineError."""
    if len(line) > MAX_LINE_BYTES:
        raise BadLineError("too_long", limit_mb=MAX_LINE_BYTES // (1024 * 1024))
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLineError("not_json", problem=str(error)) from None
    if not isinstance(row, dict):
        raise BadLineError("not_an_object")
    if storable_bytes(row) is None:
        raise BadLineError("not_storable")
    if faults := list(islice(_faults(row), SHOWN_FAULTS)):
        raise BadLineError("faults", faults=faults)
    return row


def _faults(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown field {name[:64]!r}" for name in sorted(set(row) - FIELDS))
    for name, holds in CHECKS.items():
        if name in ("external_id", "text") and name not in row:
            yield f"{name} is missing"
        elif name in row and not holds(row[name]):
            yield f"{name} has a wrong value"
