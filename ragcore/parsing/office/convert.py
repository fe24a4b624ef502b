"""Formats that only LibreOffice reads, converted by it in a contained process (D9).

LibreOffice is optional: without it `convert_contained` says so. The process has no network, no rights and no files
but a folder of its own, which disappears with it; see convert_child.py for how the program is started.
"""

from __future__ import annotations

import shutil
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Literal

from ragcore.errors import ConverterMissingError, CorruptDocumentError
from ragcore.parsing.sandbox.process import ParseLimits, run_contained
from ragcore.parsing.sandbox.serialization import load

Target = Literal["docx", "xlsx", "pptx", "pdf"]

# LibreOffice holds about 220 MB and maps three times that; sandbox/confine.py allows half of the addresses as data
CONVERT_LIMITS = ParseLimits(
    memory_bytes=1024 * 1024 * 1024, cpu_seconds=60, wall_seconds=60.0, output_bytes=64 * 1024 * 1024
)
_MODULE = "ragcore.parsing.office.convert_child"
_PROGRAMS = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")


def converter_available() -> bool:
    """Whether LibreOffice is installed here."""
    return _program() is not None


def convert_contained(content: bytes, *, name: str, to: Target, limits: ParseLimits = CONVERT_LIMITS) -> bytes:
    """A document in another format.

    The ending of `name` tells LibreOffice what the content is. Macros never run, links are never followed.
    Raises ConverterMissingError, CorruptDocumentError (LibreOffice cannot read it), PasswordProtectedError or
    ResourceLimitError.
    """
    program = _program()
    if program is None:
        raise ConverterMissingError(name=name)
    with TemporaryDirectory(prefix="convert-") as folder, TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        order = {"program": program, "folder": folder, "to": to}
        answer = run_contained(_MODULE, source, target, order=order, name=name, limits=limits)
    head, _, converted = answer.partition(b"\n")
    try:
        if head != b"{}":
            load(head)  # raises the error that the process reported
    except ValueError as problem:
        raise CorruptDocumentError(name=name, problem="the converter gave no answer") from problem
    return converted


def pdf_rendition(content: bytes, *, name: str) -> bytes | None:
    """A document as PDF, for pictures of its pages; None where LibreOffice is not installed.

    Raises CorruptDocumentError, PasswordProtectedError or ResourceLimitError.
    """
    return convert_contained(content, name=name, to="pdf") if converter_available() else None


def _program() -> str | None:
    for name in _PROGRAMS:
        if found := shutil.which(name):
            return found
    return None
