"""Files to Markdown blocks: one parser per format, found by the ending of the name (D9).

A parser's module, and with it its library, is imported when the first file of its format arrives, because
each file may be parsed in a fresh process (see sandbox/parse.py).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from ragcore.errors import UnsupportedFormatError
from ragcore.types import ParsedDocument

if TYPE_CHECKING:  # ragcore.ports imports numpy, which a parsing process does not need
    from ragcore.ports import DocumentParser

_PARSERS = {
    ".txt": "text:TextParser",
    ".log": "text:TextParser",
    ".md": "markdown:MarkdownParser",
    ".markdown": "markdown:MarkdownParser",
    ".html": "html.parser:HtmlParser",
    ".htm": "html.parser:HtmlParser",
    ".pdf": "pdf.parser:PdfParser",
    ".docx": "office.docx:DocxParser",
    ".pptx": "office.pptx:PptxParser",
    ".xlsx": "office.xlsx:XlsxParser",
    ".xlsm": "office.xlsx:XlsxParser",
    ".csv": "csv:CsvParser",
    ".tsv": "csv:CsvParser",
    ".odt": "office.odf:OdtParser",
    ".ods": "office.odf:OdsParser",
    ".odp": "office.odf:OdpParser",
    **dict.fromkeys((".doc", ".wps", ".rtf", ".xls", ".et", ".ppt", ".dps"), "office.legacy:LegacyParser"),
    ".epub": "html.epub:EpubParser",
    ".eml": "mail.eml:EmlParser",
    ".msg": "mail.msg:MsgParser",
    ".zip": "archive.parser:ArchiveParser",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif"), "image.parser:ImageParser"),
}

SUPPORTED_FORMATS: tuple[str, ...] = tuple(_PARSERS)  # file name endings with the dot, lower case


def format_of(name: str) -> str:
    """The ending of a file name, lower case with the dot. Raises UnsupportedFormatError."""
    ending = PurePath(name).suffix.lower()
    if ending not in _PARSERS:
        raise UnsupportedFormatError(name=name, ending=ending, supported=SUPPORTED_FORMATS)
    return ending


def parser_for(name: str) -> DocumentParser:
    """The parser for a file name. Raises UnsupportedFormatError."""
    return _load(_PARSERS[format_of(name)])


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Read a file in this process; files from strangers belong in `sandbox.parse.parse_contained`.

    Raises UnsupportedFormatError, EmptyDocumentError (with `needs_ocr=True` for scans), CorruptDocumentError,
    PasswordProtectedError, ResourceLimitError, UnsafeArchiveError or ConverterMissingError, and nothing else.
    """
    return parser_for(name).parse(content, name=name)


@cache
def _load(target: str) -> DocumentParser:
    module, _, attribute = target.partition(":")
    return cast("DocumentParser", getattr(import_module(f"{__name__}.{module}"), attribute)())
