"""The file in which a set travels: a ZIP (with ZIP64) of parts, and a manifest with the SHA-256 of each.

It is written part by part, and goes on after a kill: what was written behind the last checkpoint is cut off. What the
central directory and the manifest need of the parts before stands in a second file beside it until the end.
Nothing is ever unpacked under a name that the file gives: parts have names of fixed forms, and are read in memory or
into temporary files.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowledge.set_file_errors import SetFileBusyError, SetFileInvalidError

FORMAT = "ragsite-knowledge-set"
VERSION = 1  # of the format: raised when an older program would import something wrong
MANIFEST = "manifest.json"
PART_NAMES = re.compile(
    r"set\.json|people\.json|(documents|vectors|sentences)/\d{6}\.(jsonl|f16|bin)|files/[0-9a-f]{64}"
    r"|sections/[a-z_]{1,40}\.jsonl"
)
STORED = re.compile(r"files/.*|.*\.(f16|bin)")  # not compressed: they hardly shrink, and cannot unpack to more
PIECE_BYTES = 1024 * 1024
MAX_MANIFEST_BYTES = 512 * 1024 * 1024
MAX_PART_BYTES = 2 * 1024 * 1024 * 1024  # of lines, unpacked; written parts have some megabytes
MAX_LINE_BYTES = 512 * 1024 * 1024
MAX_RATIO = 1100  # deflate cannot do better than 1032
DATE = (1980, 1, 1, 0, 0, 0)  # the same content makes the same bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part as it was written. `documents`: ids that it holds, on the site that wrote it."""

    name: str
    size_bytes: int
    packed_bytes: int
    crc: int
    offset: int
    method: int
    sha256: str
    documents: tuple[int, ...] = ()

    def info(self) -> zipfile.ZipInfo:
        """For the central directory."""
        info = _info(self.name)
        info.compress_type, info.CRC, info.header_offset = self.method, self.crc, self.offset
        info.file_size, info.compress_size = self.size_bytes, self.packed_bytes
        return info


@dataclass(slots=True)
class PartsWriter:
    """Appends parts to a file, behind its first `reached` bytes. Close it, or finish it.

    Raises SetFileBusyError where another process writes it.
    """

    path: Path
    reached: int = 0
    listed: int = 0  # bytes of the list of parts
    parts: list[Part] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    _file: io.BufferedRandom = field(init=False)
    _list: io.BufferedRandom = field(init=False)
    _zip: zipfile.ZipFile = field(init=False)
    _before: int = field(init=False)  # parts of former slices

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._list = _opened(list_path(self.path), self.listed)
        try:
            fcntl.flock(self._list, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._list.close()
            raise SetFileBusyError from error
        self._list.seek(0)
        self.parts = [_part(line) for line in self._list.read(self.listed).splitlines()]
        _cut(self._list, self.listed)
        self.names = {part.name for part in self.parts}
        self._before = len(self.parts)
        self._file = _opened(self.path, self.reached)
        _cut(self._file, self.reached)
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=6)

    def add(self, name: str, pieces: Iterable[bytes], *, documents: Iterable[int] = (), is_large: bool = True) -> Part:
        """Write a part of these pieces."""
        info, digest = _info(name), hashlib.sha256()
        info.compress_type = zipfile.ZIP_STORED if STORED.fullmatch(name) else zipfile.ZIP_DEFLATED
        with self._zip.open(info, "w", force_zip64=is_large) as target:
            for piece in pieces:
                digest.update(piece)
                target.write(piece)
        part = Part(
            name=name,
            size_bytes=info.file_size,
            packed_bytes=info.compress_size,
            crc=info.CRC,
            offset=info.header_offset,
            method=info.compress_type,
            sha256=digest.hexdigest(),
            documents=tuple(documents),
        )
        self.parts.append(part)
        self.names.add(name)
        return part

    def settle(self) -> dict[str, int]:
        """Make what was written last, and say how far both files are: what a checkpoint keeps."""
        self._list.seek(self.listed)
        for part in self.parts[self._before :]:
            self._list.write(json.dumps(_values(part)).encode() + b"\n")
        self._before = len(self.parts)
        for file in (self._file, self._list):
            file.flush()
            os.fsync(file.fileno())
        self.listed, self.reached = self._list.tell(), self._zip.start_dir
        return {"reached": self.reached, "listed": self.listed}

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Write manifest and central directory. Whoever finishes a file twice writes the same."""
        listed = [{"name": p.name, "bytes": p.size_bytes, "sha256": p.sha256} for p in self.parts]
        signed = manifest_signed({**manifest, "parts": listed})
        earlier = [part.info() for part in self.parts]
        with self._zip.open(_info(MANIFEST), "w", force_zip64=True) as target:
            target.write(json.dumps(signed, ensure_ascii=False).encode())
        self._zip.filelist[:-1] = earlier
        self._zip.close()
        self._file.truncate()
        self.close()

    def close(self) -> None:
        """Leave both files; what was not settled is cut off by the next writer."""
        if self._zip.fp is not None:
            self._zip.close()
        self._file.close()
        self._list.close()


def list_path(path: Path) -> Path:
    """Where the parts that are written stand until the file is finished."""
    return path.with_name(f"{path.name}.parts")


def _opened(path: Path, least: int) -> io.BufferedRandom:
    if not path.exists():
        path.touch(mode=0o600)
    file = path.open("r+b")
    if path.stat().st_size < least:
        file.close()
        raise SetFileInvalidError("truncated")
    return file


def _cut(file: io.BufferedRandom, size: int) -> None:
    file.truncate(size)
    file.seek(size)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, DATE)
    info.external_attr, info.compress_type = 0o600 << 16, zipfile.ZIP_DEFLATED
    info.create_system = 3
    return info


def _values(part: Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in Part.__slots__}


def _part(line: bytes) -> Part:
    values = json.loads(line)
    return Part(**{**values, "documents": tuple(values["documents"])})


def manifest_signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with the SHA-256 of itself, which tells changes by accident or by hand."""
    plain = {name: value for name, value in manifest.items() if name != "sha256"}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
    return {**plain, "sha256": hashlib.sha256(text.encode()).hexdigest()}


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class PartsReader:
    """A file with its manifest; every part that is read is compared with its SHA-256.

    Raises SetFileInvalidError for everything that an export has not written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
            raise SetFileInvalidError(*_why_unreadable(path)) from error
        try:
            self._infos = _checked(self._zip.infolist(), path.stat().st_size)
            self.manifest = self._manifest()
            self.parts = self._parts()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> PartsReader:
        return self

    def __exit__(self, *_error: object) -> None:
        self._zip.close()

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._infos:
            raise SetFileInvalidError
        manifest = _json(b"".join(self._pieces(MANIFEST)), MANIFEST)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise SetFileInvalidError
        version = manifest.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise SetFileInvalidError("later", version=str(version)[:20], known=VERSION)
        if manifest_signed(manifest) != manifest:
            raise SetFileInvalidError("manifest_changed")
        return manifest

    def _parts(self) -> dict[str, Mapping[str, Any]]:
        listed = self.manifest.get("parts")
        if not isinstance(listed, list) or not all(isinstance(value_of, dict) for value_of in listed):
            raise SetFileInvalidError("manifest_changed")
        parts = {str(value_of.get("name")): value_of for value_of in listed}
        for name, value_of in parts.items():
            if name not in self._infos:
                raise SetFileInvalidError("missing", part=name[:120])
            if self._infos[name].file_size != value_of.get("bytes"):
                raise SetFileInvalidError("changed", part=name)
        if extra := sorted(set(self._infos) - set(parts) - {MANIFEST}):
            raise SetFileInvalidError("unexpected", part=extra[0][:120])
        return parts

    def names(self, folder: str) -> list[str]:
        """Names of parts in a folder, in order."""
        return sorted(name for name in self.parts if name.startswith(f"{folder}/"))

    def size_bytes(self, name: str) -> int:
        """Of a part, unpacked."""
        return self._infos[name].file_size

    def verify(self, name: str) -> None:
        """Read a part once and compare it."""
        for _piece in self.pieces(name):
            pass

    def pieces(self, name: str) -> Iterator[bytes]:
        """A part, piece by piece; the last comes only where all of it is as it was exported."""
        if name not in self.parts:
            raise SetFileInvalidError("missing", part=name[:120])
        digest, last_piece = hashlib.sha256(), b""
        for piece in self._pieces(name):
            digest.update(piece)
            if last_piece:
                yield last_piece
            last_piece = piece
        if digest.hexdigest() != self.parts[name].get("sha256"):
            raise SetFileInvalidError("changed", part=name)
        if last_piece:
            yield last_piece

    def blob(self, name: str) -> bytes:
        """A part as a whole; b"" where there is none of this name."""
        return b"".join(self.pieces(name)) if name in self.parts else b""

    def document(self, name: str) -> Any:
        """A part that is one JSON value."""
        return _json(self.blob(name), name)

    def lines(self, name: str) -> Iterator[tuple[int, Any]]:
        """Number and value of each line of a part; nothing where there is none of this name.

        What was read is as it was exported only when the iterator has ended.
        """
        rest, number = b"", 0
        for piece in self.pieces(name) if name in self.parts else ():
            *whole, rest = (rest + piece).split(b"\n") if b"\n" in piece else (rest + piece,)
            if len(rest) > MAX_LINE_BYTES:
                raise SetFileInvalidError("unsafe", part=name)
            for line in whole:
                number += 1
                yield number, _json(line, name, number)
        if rest:
            yield number + 1, _json(rest, name, number + 1)

    def _pieces(self, name: str) -> Iterator[bytes]:
        remaining = self._infos[name].file_size
        try:
            with self._zip.open(self._infos[name]) as file:
                while piece := file.read(PIECE_BYTES):
                    remaining -= len(piece)
                    if remaining < 0:
                        raise SetFileInvalidError("unsafe", part=name)
                    yield piece
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error) as error:
            raise SetFileInvalidError("changed", part=name) from error


def _checked(infos: list[zipfile.ZipInfo], size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, where each is one that an export writes, and unpacks to what it may."""
    by_name: dict[str, zipfile.ZipInfo] = {}
    end = 0
    for info in sorted(infos, key=lambda value_of: value_of.header_offset):
        name = info.filename
        if (name != MANIFEST and not PART_NAMES.fullmatch(name)) or name in by_name:
            raise SetFileInvalidError("unexpected", part=name[:120])
        if info.flag_bits & 0x1:
            raise SetFileInvalidError("encrypted")
        is_stored = info.compress_type == zipfile.ZIP_STORED
        most = MAX_MANIFEST_BYTES if name == MANIFEST else size if STORED.fullmatch(name) else MAX_PART_BYTES
        is_packed_well = info.file_size <= MAX_RATIO * max(info.compress_size, 1)
        if info.file_size > most or not is_packed_well or (is_stored and info.file_size != info.compress_size):
            raise SetFileInvalidError("unsafe", part=name)
        if not is_stored and (info.compress_type != zipfile.ZIP_DEFLATED or STORED.fullmatch(name)):
            raise SetFileInvalidError("unexpected", part=name)
        if info.header_offset < end:  # members that share bytes unpack to more than the file holds
            raise SetFileInvalidError("unsafe", part=name)
        end = info.header_offset + info.compress_size
        by_name[name] = info
    return by_name


def _why_unreadable(path: Path) -> tuple[str, ...]:
    """Whether it begins as an export does: then its end is missing."""
    try:
        with path.open("rb") as file:
            return ("truncated",) if file.read(4) == b"PK\x03\x04" else ()
    except OSError:
        return ()


def _json(text: bytes, part: str, line: int = 1) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SetFileInvalidError("content", part=part, line=line, field="JSON") from error
    if b"\\u" in text and not _is_storable(value):
        raise SetFileInvalidError("content", part=part, line=line, field="\\u0000")
    return value


def _is_storable(value: Any) -> bool:
    """No NUL, and no half of a surrogate pair: the database takes neither."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(_is_storable(key) and _is_storable(value_of) for key, value_of in value.items())
    return all(map(_is_storable, value)) if isinstance(value, list) else True
