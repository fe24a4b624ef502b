"""Files from strangers are parsed in a process of their own with limits on memory, time, output and network (D9)."""

from __future__ import annotations

from tempfile import TemporaryFile

from ragcore.errors import CorruptDocumentError
from ragcore.parsing import format_of
from ragcore.parsing.office.legacy import modernised
from ragcore.parsing.sandbox.process import DEFAULT_LIMITS, ParseLimits, run_contained
from ragcore.parsing.sandbox.serialization import load
from ragcore.types import ParsedDocument

__all__ = ["ParseLimits", "needs_containment", "parse_contained", "run_contained"]

SMALL_BYTES = 256 * 1024
_HARMLESS = frozenset({".txt", ".log", ".md", ".markdown", ".html", ".htm"})  # no nested or compressed structure


def needs_containment(name: str, size: int) -> bool:
    """False for small text formats, which the caller may parse itself: a process costs about 0.1 s.

    Raises UnsupportedFormatError.
    """
    return format_of(name) not in _HARMLESS or size >= SMALL_BYTES


def parse_contained(content: bytes, *, name: str, limits: ParseLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Like `parse`, in a fresh process that may not harm anyone.

    Raises what `parse` raises; ResourceLimitError when a limit was reached; CorruptDocumentError with the
    signal when the process crashed. A file of an old office program is converted first, in a process of its own.
    """
    content, name = modernised(content, name=name)  # no process for a format that nobody can read
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        answer = run_contained("ragcore.parsing.sandbox.child", source, target, order={}, name=name, limits=limits)
    try:
        return load(answer)
    except ValueError as problem:
        raise CorruptDocumentError(name=name, problem="the parser gave no answer") from problem
