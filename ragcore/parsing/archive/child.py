"""The unpacking process: the archive on standard input, its members on standard output (parser.py starts it)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from ragcore.errors import RagError, ResourceLimitError
from ragcore.parsing.archive.parser import archive_members
from ragcore.parsing.archive.safe_zip import ArchiveLimits
from ragcore.parsing.sandbox.child import write_answer
from ragcore.parsing.sandbox.confine import confine
from ragcore.parsing.sandbox.process import LIMIT_EXIT
from ragcore.parsing.sandbox.serialization import dump_error


def main() -> int:
    """Set the limits, then unpack."""
    order = json.loads(sys.argv[1])
    name = str(order["name"])
    confine(**order["limits"])
    try:
        members = archive_members(sys.stdin.buffer.read(), name=name, limits=ArchiveLimits(**order["archive"]))
        head = json.dumps({"members": [[member.path, len(member.content)] for member in members]}).encode()
        answer = iter([head + b"\n", *(member.content for member in members)])
    except RagError as problem:
        answer = iter([dump_error(problem) + b"\n"])
    except MemoryError:
        answer = iter([dump_error(ResourceLimitError(name=name, problem="memory")) + b"\n"])
    return _write_parts(answer)


def _write_parts(parts: Iterator[bytes]) -> int:
    try:
        for part in parts:
            write_answer(part)
    except OSError:  # larger than the limit on output
        return LIMIT_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main())
