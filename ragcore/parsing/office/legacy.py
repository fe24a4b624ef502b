"""Old office formats, and office files under a wrong name.

LibreOffice converts .doc, .xls, .ppt and .rtf in a sandboxed process that has no network, no privileges and no files
but a temporary folder. It is optional: without it `convert_in_sandbox` raises ConverterMissingError. The content
decides about the format, not the name: under old endings often stand web pages, tables that a program exported "for
Excel", or the new formats.
"""

from __future__ import annotations

import re
import shutil
from pathlib import PurePath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Literal

from ragcore.errors import ConverterMissingError, CorruptDocumentError, PasswordProtectedError
from ragcore.labels import gettext_noop as _
from ragcore.parsing import format_of, parser_for
from ragcore.parsing.office.package import COMPOUND_FILE, ZIP
from ragcore.parsing.parser_errors import require_content
from ragcore.parsing.sandbox.process import SandboxLimits, run_in_sandbox
from ragcore.parsing.sandbox.serialization import load_document
from ragcore.types import ParsedDocument

_TARGETS: dict[str, Target] = {
    ".doc": "docx",
    ".wps": "docx",
    ".rtf": "docx",
    ".xls": "xlsx",
    ".et": "xlsx",
    ".ppt": "pptx",
    ".dps": "pptx",
}
_MODERN = (".docx", ".xlsx", ".xlsm", ".pptx")
_STREAMS = {".doc": "WordDocument", ".ppt": "PowerPoint Document", ".xls": "Workbook"}
_MEMBERS = {".docx": b"word/document", ".pptx": b"ppt/presentation", ".xlsx": b"xl/workbook", ".odt": b"content.xml"}
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_HEAD_BYTES = 4096
_OFFICE_XML = re.compile(rb'progid="(Word\.Document|Excel\.Sheet)"|urn:schemas-microsoft-com:office:(spreadsheet)"')
_HTML = re.compile(rb"<(?:!doctype html|html|head|body|table|meta|div|style)\b", re.IGNORECASE)
_MHTML = re.compile(rb"^MIME-Version:.*^Content-Type: multipart/related", re.DOTALL | re.MULTILINE | re.IGNORECASE)
Target = Literal["docx", "xlsx", "pptx", "pdf"]
# LibreOffice holds about 220 MB and maps three times that; sandbox/confine.py allows half of the addresses as data
CONVERT_LIMITS = SandboxLimits(
    memory_bytes=1024 * 1024 * 1024, cpu_seconds=60, wall_seconds=60.0, output_bytes=64 * 1024 * 1024
)
_MODULE = "ragcore.parsing.office.convert_child"
_PROGRAMS = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")


class LegacyParser:
    """Converts, then reads like the new format. Best called through `sandbox.parse_in_sandbox`."""

    formats = (".doc", ".wps", ".rtf", ".xls", ".et", ".ppt", ".dps")
    media_types = {
        "application/rtf": ".rtf",
        "text/rtf": ".rtf",
        "application/msword": ".doc",
        "application/vnd.ms-excel": ".xls",
        "application/vnd.ms-powerpoint": ".ppt",
    }
    label = _("older Office files")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises ConverterMissingError and what the parser of the new format raises."""
        content, name = convert_legacy(content, name=name)
        return parser_for(name).parse(content, name=name)


def convert_legacy(content: bytes, *, name: str) -> tuple[bytes, str]:
    """The document in a format that a parser reads, and a name with its ending; unchanged for other formats.

    Idempotent. Raises UnsupportedFormatError, EmptyDocumentError, ConverterMissingError, CorruptDocumentError,
    PasswordProtectedError or ResourceLimitError.
    """
    ending = format_of(name)
    if ending not in _TARGETS and not (ending in _MODERN and content.startswith(COMPOUND_FILE)):
        return content, name
    require_content(content, name=name)
    actual = _actual_ending(content, ending, name)
    if actual not in _TARGETS:
        return content, str(PurePath(name).with_suffix(actual))
    target = _TARGETS[actual]
    if not converter_available():
        raise ConverterMissingError("save_as", name=name, format=f".{target}")
    try:
        converted = convert_in_sandbox(content, name=str(PurePath(name).with_suffix(actual)), to=target)
    except (PermissionError, FileNotFoundError) as problem:  # inside a contained process, as members of archives are
        raise ConverterMissingError("save_as", name=name, format=f".{target}") from problem
    return converted, str(PurePath(name).with_suffix(f".{target}"))


def _actual_ending(content: bytes, ending: str, name: str) -> str:
    """The ending that fits the content; the format of the name is tried first where one file contains others."""
    if content.startswith(COMPOUND_FILE):
        if _ENCRYPTED in content:
            raise PasswordProtectedError(name=name)
        expected = _target_family(ending)
        for old, stream in sorted(_STREAMS.items(), key=lambda item: item[0] != expected):
            if stream.encode("utf-16-le") in content:
                return old
        if "Book\0".encode("utf-16-le") in content:  # Excel 5 and 95
            return ".xls"
    elif content.startswith(ZIP):
        expected = f".{_TARGETS[ending]}"
        for new, member in sorted(_MEMBERS.items(), key=lambda item: item[0] != expected):
            if member in content:
                return new
    else:
        return _text_ending(content, ending, name)
    raise CorruptDocumentError(name=name, problem="no office document inside")


def _target_family(ending: str) -> str:
    """The old ending of the same program: .docx belongs to .doc."""
    target = _TARGETS.get(ending, ending.removeprefix(".")[:4].replace("xlsm", "xlsx"))
    return {"docx": ".doc", "xlsx": ".xls", "pptx": ".ppt"}[target]


def _text_ending(content: bytes, ending: str, name: str) -> str:
    head = content[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip()
    if head.startswith(rb"{\rtf"):
        return ".rtf"
    if b"<?xml" in head and (match := _OFFICE_XML.search(head)):
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise CorruptDocumentError(name=name, problem="entities in an office document")
        return ".doc" if match[1] == b"Word.Document" else ".xls"
    if _MHTML.search(head):
        return ".eml"
    if _HTML.search(head):
        return ".html"
    if ending in (".xls", ".et") and b"\t" in head and _is_text(head):
        return ".tsv"
    raise CorruptDocumentError(name=name, problem="no office document")


def _is_text(head: bytes) -> bool:
    return not any(byte < 9 or 13 < byte < 27 for byte in head)


def converter_available() -> bool:
    """Whether LibreOffice is installed here."""
    return _program() is not None


def convert_in_sandbox(content: bytes, *, name: str, to: Target, limits: SandboxLimits = CONVERT_LIMITS) -> bytes:
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
        answer = run_in_sandbox(_MODULE, source, target, order=order, name=name, limits=limits)
    head, _, converted = answer.partition(b"\n")
    try:
        if head != b"{}":
            load_document(head)  # raises the error that the process reported
    except ValueError as problem:
        raise CorruptDocumentError(name=name, problem="the converter gave no answer") from problem
    return converted


def pdf_rendition(content: bytes, *, name: str) -> bytes | None:
    """A document as PDF, for pictures of its pages; None where LibreOffice is not installed.

    Raises CorruptDocumentError, PasswordProtectedError or ResourceLimitError.
    """
    return convert_in_sandbox(content, name=name, to="pdf") if converter_available() else None


def _program() -> str | None:
    for name in _PROGRAMS:
        if path := shutil.which(name):
            return path
    return None
