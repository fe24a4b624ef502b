"""Files to Markdown blocks: one parser for each format, found by the ending of the file name.

A parser is a class in any module below this package. It has the method of `ports.DocumentParser` and declares, as
literals and in this order:

    formats = (".html", ".htm")               # file name endings with the dot, lower case
    media_types = {"text/html": ".html"}      # optional: the ending for content that arrives without a usable name
    label = _("HTML")                         # optional: what people call these files

Nothing else registers it. The declarations are read from the source text, because importing a parser imports its
library: the web process needs the list of formats and no library, and each file may be parsed in a fresh process that
needs one library (see sandbox/parse.py).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from ragcore.parsing.parser_errors import UnsupportedFormatError
from ragcore.types import ParsedDocument

if TYPE_CHECKING:  # ragcore.ports imports numpy, which a parsing process does not need
    from ragcore.ports import DocumentParser

_FOLDER = Path(__file__).parent
# A syntax tree of these modules would take ten times as long, in every parsing process
_PARSER_CLASS = re.compile(
    r"^class (?P<name>\w+).*\n(?:(?!\S).*\n)*?"
    r"    formats = (?P<formats>\([^)]*\))\n(?:    media_types = (?P<media_types>\{[^}]*\})\n)?"
    r"(?:    label = _\(\"(?P<label>[^\"]*)\"\)\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Declaration:
    """Where a parser class is, and what it declares."""

    module: str  # dotted name
    class_name: str
    formats: tuple[str, ...]
    media_types: Mapping[str, str]
    label: str


def _declarations() -> Iterator[_Declaration]:
    """The parsers below this package, by module name."""
    for path in sorted(_FOLDER.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "    formats = (" not in source:
            continue
        module = ".".join((__name__, *path.relative_to(_FOLDER).with_suffix("").parts))
        for match in _PARSER_CLASS.finditer(source):
            formats, media_types = ast.literal_eval(match["formats"]), ast.literal_eval(match["media_types"] or "{}")
            yield _Declaration(module, match["name"], formats, media_types, match["label"] or formats[0].strip("."))


_PARSERS = {ending: declared for declared in _declarations() for ending in declared.formats}

SUPPORTED_FORMATS: tuple[str, ...] = tuple(sorted(_PARSERS))  # file name endings with the dot, lower case

# what people call the formats, an English message id -> the endings
FORMAT_ENDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        label: tuple(ending for ending, parser in _PARSERS.items() if parser.label == label)
        for label in sorted({parser.label for parser in _PARSERS.values()}, key=str.casefold)
    }
)

# media type -> file name ending, of all parsers
MEDIA_TYPE_ENDINGS: Mapping[str, str] = MappingProxyType(
    {media_type: ending for parser in _PARSERS.values() for media_type, ending in parser.media_types.items()}
)


def format_of(name: str) -> str:
    """The ending of a file name, lower case with the dot. Raises UnsupportedFormatError."""
    ending = PurePath(name).suffix.lower()
    if ending not in _PARSERS:
        reason = "ending" if ending.strip(".") else "no_ending"
        readable = tuple(FORMAT_ENDINGS)
        raise UnsupportedFormatError(reason, name=name, ending=ending, supported=SUPPORTED_FORMATS, readable=readable)
    return ending


def parser_for(name: str) -> DocumentParser:
    """The parser for a file name. Raises UnsupportedFormatError."""
    declared = _PARSERS[format_of(name)]
    return _load(declared.module, declared.class_name)


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Parse a file in this process. Untrusted files belong in `sandbox.parse.parse_in_sandbox`.

    Raises UnsupportedFormatError, EmptyDocumentError (with `needs_ocr=True` for scans), CorruptDocumentError,
    PasswordProtectedError, ResourceLimitError, UnsafeArchiveError or ConverterMissingError, and nothing else.
    """
    return parser_for(name).parse(content, name=name)


@cache
def _load(module: str, class_name: str) -> DocumentParser:
    return cast("DocumentParser", getattr(import_module(module), class_name)())
