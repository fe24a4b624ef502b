"""Unpacking archives of strangers in a process that may not harm anyone (D9)."""

from __future__ import annotations

import json
from dataclasses import asdict
from tempfile import TemporaryFile

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.archive.parser import Member
from ragcore.parsing.archive.safe_zip import DEFAULT_ARCHIVE_LIMITS, ArchiveLimits
from ragcore.parsing.sandbox.process import ParseLimits, run_contained
from ragcore.parsing.sandbox.serialization import load

UNPACK_LIMITS = ParseLimits(memory_bytes=768 * 1024 * 1024, output_bytes=300 * 1024 * 1024)


def unpack_contained(
    content: bytes,
    *,
    name: str,
    limits: ParseLimits = UNPACK_LIMITS,
    archive: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
) -> list[Member]:
    """Like `archive_members`, in a fresh process without network, programs or files.

    Raises what `archive_members` raises, and ResourceLimitError.
    """
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        order = {"archive": asdict(archive)}
        answer = run_contained("ragcore.parsing.archive.child", source, target, order=order, name=name, limits=limits)
    try:
        return _members(answer)
    except (ValueError, KeyError, TypeError) as problem:
        raise CorruptDocumentError(name=name, problem="the unpacking process gave no answer") from problem


def _members(answer: bytes) -> list[Member]:
    """The members that the process reported; it may have been taken over by the archive, so sizes are checked."""
    head, _, body = answer.partition(b"\n")
    said = json.loads(head)
    if "error" in said:
        load(head)  # raises it
    members: list[Member] = []
    start = 0
    for path, size in said["members"]:
        if not isinstance(path, str) or not isinstance(size, int) or not 0 <= size <= len(body) - start:
            raise ValueError("not a member of the unpacking process")
        members.append(Member(path=path, content=body[start : start + size]))
        start += size
    return members
