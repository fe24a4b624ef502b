"""Triples in files: CSV, N-Triples and JSONL, read line by line, with faults by line.

Nothing of a file is kept but the line that is read, and of that at most MAX_LINE_BYTES.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from ragcore.graph.triples import Triple
from ragcore.text.csv_fields import allow_long_fields
from ragcore.text.normalise import visible

TripleFormat = Literal["csv", "ntriples", "jsonl"]
FORMAT_OF_ENDING: Mapping[str, TripleFormat] = {
    ".csv": "csv", ".tsv": "csv", ".nt": "ntriples", ".ntriples": "ntriples", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
MAX_LINE_BYTES = 64 * 1024
MAX_NAME = 2000  # characters of a subject, relation or object
MAX_TYPE = 200
_COLUMNS = {
    "subject": "subject", "s": "subject", "head": "subject", "source": "subject", "主语": "subject", "主体": "subject",
    "头实体": "subject", "relation": "relation", "predicate": "relation", "property": "relation", "p": "relation",
    "关系": "relation", "谓语": "relation", "object": "object", "o": "object", "tail": "object", "target": "object",
    "宾语": "object", "客体": "object", "尾实体": "object", "subject_type": "subject_type", "主语类型": "subject_type",
    "主体类型": "subject_type", "object_type": "object_type", "宾语类型": "object_type", "客体类型": "object_type",
    "set": "set",
}  # fmt: skip
_REQUIRED = ("subject", "relation", "object")
_NT = re.compile(
    r"\s*(?P<s><[^<>\"{}|^`\\\x00-\x20]*>|_:[\w.-]+)\s*(?P<p><[^<>\"{}|^`\\\x00-\x20]*>)\s*"
    r"(?P<o><[^<>\"{}|^`\\\x00-\x20]*>|_:[\w.-]+|\"(?P<text>(?:[^\"\\\n\r]|\\.)*)\"(?:@[\w-]+|\^\^<[^<>]*>)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPE_IRI = "rdf-syntax-ns#type"


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleLine:
    """A triple with the line that it stands on, from 1, and the set that the line names, None: none."""

    line: int
    triple: Triple
    set_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFault:
    """Why a line is no triple: a code and what the message needs."""

    line: int
    code: Literal[
        "too_long", "encoding", "not_json", "not_an_object", "missing", "name_too_long", "unknown_fields", "not_text",
        "syntax", "columns", "set",
    ]  # fmt: skip
    detail: str = ""


def read_triples(
    lines: Iterable[bytes], form: TripleFormat, *, read_cell: Callable[[str], str] = str
) -> Iterator[TripleLine | LineFault]:
    """Triples and faults in the order of the file. Lines may be longer than MAX_LINE_BYTES; such ones are faults.

    `read_cell`: the text of a CSV cell, where whoever wrote it has escaped it.
    """
    if form == "csv":
        yield from _read_csv(lines, read_cell)
        return
    for number, line in enumerate(lines, start=1):
        text = _decoded(line, number)
        if isinstance(text, LineFault):
            yield text
        elif text.strip() and not (form == "ntriples" and text.lstrip().startswith("#")):
            yield _from_json(text, number) if form == "jsonl" else _from_ntriples(text, number)


def bounded_lines(chunks: Iterable[bytes], *, most: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Lines of a stream without their end; of one over `most` bytes only `most` + 1 bytes are kept."""
    line = bytearray()
    for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line += chunk[start : min(end, start + max(0, most + 1 - len(line)))]
            yield bytes(line).rstrip(b"\r")
            line.clear()
            start = end + 1
        line += chunk[start : start + max(0, most + 1 - len(line))]
    if line:
        yield bytes(line).rstrip(b"\r")


def _decoded(line: bytes, number: int) -> str | LineFault:
    if len(line) > MAX_LINE_BYTES:
        return LineFault(line=number, code="too_long")
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return LineFault(line=number, code="encoding")
    return LineFault(line=number, code="not_text") if "\x00" in text else text


def _from_json(text: str, number: int) -> TripleLine | LineFault:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return LineFault(line=number, code="not_json")
    if not isinstance(values, dict):
        return LineFault(line=number, code="not_an_object")
    by_column = {_COLUMNS.get(str(key).strip().lower(), ""): value for key, value in values.items()}
    if unknown := sorted(str(k) for k in values if str(k).strip().lower() not in _COLUMNS):
        return LineFault(line=number, code="unknown_fields", detail=", ".join(unknown)[:100])
    set_id = by_column.pop("set", None)
    if set_id is not None and (not isinstance(set_id, int) or isinstance(set_id, bool) or not 0 < set_id < 2**63):
        return LineFault(line=number, code="set")
    return _checked(by_column, number, set_id)


def _from_ntriples(text: str, number: int) -> TripleLine | LineFault:
    match = _NT.fullmatch(text)
    if match is None:
        return LineFault(line=number, code="syntax")
    relation = "type" if match["p"].endswith(f"{_TYPE_IRI}>") else _iri_name(match["p"])
    object_ = _iri_name(match["o"]) if match["text"] is None else _unescaped(match["text"])
    return _checked({"subject": _iri_name(match["s"]), "relation": relation, "object": object_}, number, None)


def _iri_name(term: str) -> str:
    """The last part of an IRI, without escapes; of a blank node its label."""
    if term.startswith("_:"):
        return term[2:]
    iri = _unescaped(term[1:-1]).rstrip("/#")
    tail = re.split(r"[/#]", iri)[-1] if "://" in iri else iri.rpartition(":")[2]
    return unquote(tail).replace("_", " ") or iri


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if code := match[1] or match[2]:
            number = int(code, 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        return _PLAIN.get(match[3], match[3])

    return _ESCAPE.sub(plain, text) if "\\" in text else text


def _read_csv(lines: Iterable[bytes], read_cell: Callable[[str], str]) -> Iterator[TripleLine | LineFault]:
    """Columns by the names of the first line; without such names subject, relation, object and their types."""
    allow_long_fields()
    faults: list[LineFault] = []
    numbers: list[int] = []
    iterator = _csv_texts(lines, faults, numbers)
    first = next(iterator, "")
    delimiter = max(",;\t", key=first.count) if first else ","
    header = [_COLUMNS.get(cell.strip().lower(), "") for cell in next(csv.reader([first], delimiter=delimiter), [])]
    has_header = all(column in header for column in _REQUIRED)
    columns = header if has_header else [*_REQUIRED, "subject_type", "object_type"]

    def rest() -> Iterator[str]:
        if not has_header and first:
            yield first
        yield from iterator

    rows = csv.reader(rest(), delimiter=delimiter)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error:
            faults.append(LineFault(line=numbers[-1] if numbers else 1, code="syntax"))
            row = []
        yield from faults
        faults.clear()
        number = numbers[-1] if numbers else 1
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < len(_REQUIRED) or len(row) > len(columns):
            yield LineFault(line=number, code="columns", detail=str(len(row)))
            continue
        values: dict[str, object] = {name: read_cell(cell) for name, cell in zip(columns, row, strict=False) if name}
        set_id = str(values.pop("set", "")).strip()
        if set_id and not (set_id.isascii() and set_id.isdigit() and len(set_id) < 19):
            yield LineFault(line=number, code="set")
            continue
        yield _checked(values, number, int(set_id) if set_id else None)
    yield from faults


def _csv_texts(lines: Iterable[bytes], faults: list[LineFault], numbers: list[int]) -> Iterator[str]:
    """Decoded lines; faulty ones are noted and left out. `numbers` ends with the number of the last line given."""
    for number, line in enumerate(lines, start=1):
        text = _decoded(line, number)
        if isinstance(text, LineFault):
            faults.append(text)
        else:
            numbers[:] = [number]
            yield text + "\n"


def _checked(values: Mapping[str, object], number: int, set_id: int | None) -> TripleLine | LineFault:
    texts: dict[str, str] = {}
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return LineFault(line=number, code="not_text", detail=name)
        texts[name] = _readable(str(value))
    missing = [name for name in _REQUIRED if not texts.get(name)]
    if missing:
        return LineFault(line=number, code="missing", detail=", ".join(missing))
    for name, text in texts.items():
        if len(text) > (MAX_NAME if name in _REQUIRED else MAX_TYPE):
            return LineFault(line=number, code="name_too_long", detail=name)
        if not text.isascii() and _SURROGATE.search(text):
            return LineFault(line=number, code="not_text", detail=name)
    return TripleLine(line=number, triple=Triple(**texts), set_id=set_id)


def _readable(text: str) -> str:
    """One line without characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return visible(text.replace("\n", " ").replace("\r", " ").replace("\t", " ")).strip()
