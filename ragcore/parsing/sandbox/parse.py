"""Parses untrusted files in a process of their own, with limits on memory, time, output and network."""

from __future__ import annotations

import threading
from tempfile import TemporaryFile

from ragcore.deadline import DeadlinePassedError, deadline
from ragcore.errors import CorruptDocumentError
from ragcore.parsing import format_of, parse
from ragcore.parsing.office.legacy import convert_legacy
from ragcore.parsing.sandbox.process import DEFAULT_LIMITS, POLICY, SandboxLimits, run_in_sandbox
from ragcore.parsing.sandbox.serialization import load_document
from ragcore.types import ParsedDocument

__all__ = ["SandboxLimits", "needs_sandbox", "parse_in_sandbox", "parse_small", "run_in_sandbox"]

SMALL_BYTES = 256 * 1024
SMALL_SECONDS = 5.0  # far more than any honest file of that size takes
_HARMLESS = frozenset({".txt", ".log", ".md", ".markdown", ".html", ".htm"})  # no nested or compressed structure


def needs_sandbox(name: str, size: int) -> bool:
    """False for small text formats, which the caller may parse itself: a process costs about 0.1 s.

    True for all where confinement is required. Raises UnsupportedFormatError.
    """
    return format_of(name) not in _HARMLESS or size >= SMALL_BYTES or POLICY.required


def parse_small(content: bytes, *, name: str, seconds: float = SMALL_SECONDS) -> ParsedDocument | None:
    """Like `parse`, but None when it takes longer, or in a thread where no deadline can be set.

    Such a file belongs in `parse_in_sandbox`, whose limits hold for whatever it does. Raises what `parse` raises.
    """
    if threading.current_thread() is not threading.main_thread():  # signals reach no other thread
        return None
    try:
        with deadline(seconds):
            return parse(content, name=name)
    except DeadlinePassedError:
        return None


def parse_in_sandbox(content: bytes, *, name: str, limits: SandboxLimits = DEFAULT_LIMITS) -> ParsedDocument:
    """Like `parse`, in a fresh process with limited resources and privileges.

    Raises what `parse` raises; ResourceLimitError when a limit was reached; CorruptDocumentError with the
    signal when the process crashed; SandboxUnavailableError. A file of an old office program is converted first,
    in a process of its own.
    """
    content, name = convert_legacy(content, name=name)  # no process for a format that nobody can read
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        answer = run_in_sandbox("ragcore.parsing.sandbox.child", source, target, order={}, name=name, limits=limits)
    try:
        return load_document(answer)
    except ValueError as problem:
        raise CorruptDocumentError(name=name, problem="the parser gave no answer") from problem
