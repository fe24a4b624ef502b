"""Jupyter notebooks (nbformat 3 and 4): texts as Markdown, programs and what they printed as code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ragcore.errors import CorruptDocumentError, RagError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.markdown import MarkdownParser
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.text.code_blocks import fence_code
from ragcore.types import Block, ParsedDocument

_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")


class NotebookParser:
    """Cells in their order. Pictures among the outputs are left out."""

    formats = (".ipynb",)
    media_types = {"application/x-ipynb+json": ".ipynb"}
    label = _("Jupyter notebooks")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError or CorruptDocumentError."""
        require_content(content, name=name)
        with coded_errors(name):
            try:
                notebook = json.loads(decode(content))
            except json.JSONDecodeError as problem:
                raise CorruptDocumentError("json", name=name, line=problem.lineno) from problem
            cells = notebook.get("cells") if isinstance(notebook, dict) else None
            if cells is None and isinstance(notebook, dict):
                cells = [cell for sheet in notebook.get("worksheets") or () for cell in sheet.get("cells") or ()]
            if not isinstance(cells, list):
                raise CorruptDocumentError(name=name, problem="no cells")
            language = _language(notebook)
            blocks = [block for cell in cells for block in _blocks(cell, language)]
            title = next((block.text for block in blocks if block.kind == "heading"), "")
            return build_document(blocks, name=name, title=title)


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata") or {}
    names = (metadata.get("language_info") or {}).get("name"), (metadata.get("kernelspec") or {}).get("language")
    return next((str(name).lower() for name in names if name), "python")


def _blocks(cell: dict[str, Any], language: str) -> Iterator[Block]:
    source = _joined(cell.get("source") or cell.get("input"))
    match cell.get("cell_type"):
        case "code":
            yield from _code(source, language)
            for output in cell.get("outputs") or ():
                yield from _code(_printed(output), "")
        case "heading":
            yield Block(kind="heading", text=source.strip(), level=min(max(int(cell.get("level") or 1), 1), 6))
        case "markdown" | "raw":
            try:
                yield from MarkdownParser().parse(source.encode(), name="cell.md").blocks
            except RagError:  # an empty cell
                return


def _code(text: str, language: str) -> Iterator[Block]:
    if text.strip():
        yield Block(kind="code", text=fence_code(text.strip("\n"), language))


def _printed(output: dict[str, Any]) -> str:
    """The text of an output, without the colours of a terminal."""
    data = output.get("data") or {}
    return _COLOURS.sub("", _joined(output.get("text") or data.get("text/plain") or output.get("traceback")))


def _joined(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")
