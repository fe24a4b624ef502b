"""Zip archives of documents: one document with a section per member, or the members one by one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError, UnsafeArchiveError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.archive.safe_zip import DEFAULT_ARCHIVE_LIMITS, ArchiveLimits, SafeZip, UnpackBudget, clean_name
from ragcore.parsing.archive.sections import PartsBuilder, enter_container
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.sandbox.process import SandboxLimits, write_in_sandbox
from ragcore.parsing.sandbox.serialization import load_document
from ragcore.types import ParsedDocument

MAX_DOCUMENT_MEMBERS = 500  # as one document; larger archives are unpacked into separate ones
IN_MEMORY_BYTES = 1024 * 1024  # of a member; the rest of a larger one is on disk
UNPACK_LIMITS = SandboxLimits(memory_bytes=768 * 1024 * 1024, output_bytes=300 * 1024 * 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of an archive."""

    path: str  # relative, "/" between folders; those of an inner archive begin with its path
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFile:
    """A file of an archive, open at its beginning until the next one is asked for."""

    path: str  # as in Member
    file: IO[bytes] = field(repr=False)


class ArchiveParser:
    """A level-1 heading per member, in the order of their paths, and what the member says below it."""

    formats = (".zip",)
    media_types = {"application/zip": ".zip", "application/x-zip-compressed": ".zip"}
    label = _("ZIP archives")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Members that cannot be read are named in metadata `skipped` and in the last paragraph.

        Raises EmptyDocumentError (nothing readable), PasswordProtectedError, CorruptDocumentError or
        UnsafeArchiveError (limits on members, bytes, density and depth; names that lead elsewhere).
        """
        require_content(content, name=name)
        with coded_errors(name), enter_container(name=name, archive=True) as here:
            archive = SafeZip(content, name=name, budget=here.budget)
            parts = PartsBuilder()
            for count, path in enumerate(archive.paths):
                if count >= MAX_DOCUMENT_MEMBERS:
                    parts.skip(path, "too_many_members")
                elif (unpacked := archive.read(path)) is None:
                    parts.skip(path, "corrupt_document")
                else:
                    parts.add(unpacked, path=path, level=1)
            for link in archive.ignored:
                parts.skip(link, "link_not_followed")
            return _document(parts, name)


def _document(parts: PartsBuilder, name: str) -> ParsedDocument:
    if parts.is_locked:
        raise PasswordProtectedError(name=name)
    if not parts.blocks:
        raise EmptyDocumentError("archive", name=name, **parts.metadata())
    blocks = [*parts.blocks, *parts.skipped_note()]
    title = clean_name(PurePath(name).stem)
    return build_document(blocks, name=name, title=title, metadata=parts.metadata(), pictures=parts.pictures)


def archive_members(content: bytes, *, name: str, limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS) -> list[Member]:
    """All files of an archive, those of archives in it included, in the order of their paths.

    Folders, links, damaged members and what operating systems leave behind are left out; formats are not judged.
    Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError or UnsafeArchiveError.
    """
    require_content(content, name=name)
    with coded_errors(name):
        members = _unpack(content, name, "", UnpackBudget(limits), 1)
    if not members:
        raise EmptyDocumentError("archive", name=name)
    return members


def _unpack(content: bytes, name: str, prefix: str, budget: UnpackBudget, depth: int) -> list[Member]:
    members: list[Member] = []
    for path, unpacked in SafeZip(content, name=name, budget=budget).files():
        if unpacked is None:
            continue
        if path.lower().endswith(".zip"):
            if depth >= budget.limits.depth:  # else an archive that contains itself would come back for ever
                raise UnsafeArchiveError(name=name, member=path, depth=depth + 1)
            members += _unpack(unpacked, path, f"{prefix}{path}/", budget, depth + 1)
        else:
            members.append(Member(path=f"{prefix}{path}", content=unpacked))
    return members


def unpack_in_sandbox(
    content: bytes,
    *,
    name: str,
    limits: SandboxLimits = UNPACK_LIMITS,
    archive: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
) -> list[Member]:
    """Like `archive_members`, in a fresh process without network, programs or files.

    Raises what `archive_members` raises, and ResourceLimitError.
    """
    members = members_in_sandbox([content], name=name, limits=limits, archive=archive)
    return [Member(path=member.path, content=member.file.read()) for member in members]


def members_in_sandbox(
    content: Iterable[bytes],
    *,
    name: str,
    limits: SandboxLimits = UNPACK_LIMITS,
    archive: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
) -> Iterator[MemberFile]:
    """`unpack_in_sandbox` for large archives: takes it in pieces, and gives members as files, large ones on disk."""
    with TemporaryFile() as source, TemporaryFile() as target:
        source.writelines(content)
        source.seek(0)
        order = {"archive": asdict(archive)}
        write_in_sandbox("ragcore.parsing.archive.child", source, target, order=order, name=name, limits=limits)
        try:
            yield from _read_members(target, limits.output_bytes)
        except (ValueError, KeyError, TypeError) as problem:
            raise CorruptDocumentError(name=name, problem="the unpacking process gave no answer") from problem


def _read_members(answer: IO[bytes], most_bytes: int) -> Iterator[MemberFile]:
    """The members that the process reported; it may have been taken over by the archive, so sizes are checked."""
    head = answer.readline(most_bytes)
    report = json.loads(head)
    if "error" in report:
        load_document(head)  # raises it
    sizes = [(path, size) for path, size in report["members"]]
    bytes_after = os.fstat(answer.fileno()).st_size - len(head)
    for path, size in sizes:
        if not isinstance(path, str) or not isinstance(size, int) or not 0 <= size <= bytes_after:
            raise ValueError("not a member of the unpacking process")
        bytes_after -= size
    for path, size in sizes:
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            _copy(answer, file, size)
            file.seek(0)
            yield MemberFile(path=path, file=file)  # type: ignore[arg-type]  # a file in all but its class


def _copy(source: IO[bytes], target: SpooledTemporaryFile[bytes], size: int) -> None:
    while size > 0 and (piece := source.read(min(size, IN_MEMORY_BYTES))):
        target.write(piece)
        size -= len(piece)
