"""OpenDocument texts (.odt) in reading order (D9). See odf_sheets.py and odf_slides.py for the other programs."""

from __future__ import annotations

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.office.odf_text import OFFICE, TextReader, list_marks
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import Element, Package
from ragcore.parsing.parser_errors import coded_errors, finished, require_content
from ragcore.types import ParsedDocument

_DC = "{http://purl.org/dc/elements/1.1/}"


class OdtParser:
    """Headings, paragraphs, lists, tables, notes and pictures; page headers, remarks and deleted text are left out."""

    formats = (".odt",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="text")
            blocks = [*reader.blocks(body), *reader.note_blocks()]
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            metadata = document_metadata(reader.package)
            return finished(
                blocks,
                name=name,
                title=metadata.pop("title", "") or heading,
                metadata=metadata | reader.shelf.metadata(),
                pictures=reader.shelf.pictures(),
            )


def open_document(content: bytes, *, name: str, kind: str) -> tuple[TextReader, Element]:
    """A reader and the body of a package: "text", "spreadsheet" or "presentation".

    Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError, ResourceLimitError, UnsafeArchiveError.
    """
    require_content(content, name=name)
    check_package(content, name=name)
    package = Package(content)
    root = package.xml("content.xml")
    body = root.find(f"{OFFICE}body/{OFFICE}{kind}") if root is not None else None
    if body is None:
        raise CorruptDocumentError(name=name, problem=f"no {kind} inside")
    return TextReader(package, list_marks(package.xml("styles.xml"), root)), body


def document_metadata(package: Package) -> dict[str, str]:
    """Title, author and subject as far as the file has them."""
    root = package.xml("meta.xml")
    if root is None:
        return {}
    said = {
        key: (root.findtext(f".//{_DC}{tag}") or "").strip()
        for key, tag in (("title", "title"), ("author", "creator"), ("subject", "subject"))
    }
    return {key: value for key, value in said.items() if value}
