"""A parsed document, or why there is none, as JSON between the parsing process and its parent."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ragcore import errors
from ragcore.errors import RagError
from ragcore.types import Block, Box, ParsedDocument

_ERRORS: dict[str, type[RagError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RagError)
}


def dump_document(document: ParsedDocument) -> bytes:
    """UTF-8 JSON; lone surrogates, which no JSON reader accepts, become question marks."""
    return json.dumps({"document": asdict(document)}, ensure_ascii=False).encode("utf-8", errors="replace")


def dump_error(problem: RagError) -> bytes:
    data = {"code": problem.code, "message": problem.message, "data": dict(problem.data)}
    return json.dumps({"error": data}, default=str).encode()


def load(raw: bytes) -> ParsedDocument:
    """The document, or raises the error that the process reported. Raises ValueError for anything else.

    The sender may have been taken over by the file that it read, so each value is checked.
    """
    answer = json.loads(raw)
    if not isinstance(answer, dict):
        raise ValueError("not an answer of the parsing process")
    if "error" in answer:
        raise _error(answer["error"])
    try:
        return _document(answer["document"])
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError("not a document of the parsing process") from problem


def _error(said: Any) -> RagError:
    kind = _ERRORS.get(str(said["code"]), errors.CorruptDocumentError)
    return kind(str(said["message"]), **{str(key): value for key, value in said["data"].items() if key != "message"})


def _document(said: Any) -> ParsedDocument:
    return ParsedDocument(
        blocks=tuple(_block(block) for block in said["blocks"]),
        title=str(said["title"]),
        pages=int(said["pages"]) if said["pages"] is not None else None,
        metadata={str(key): str(value) for key, value in said["metadata"].items()},
    )


def _block(said: Any) -> Block:
    box = said["box"]
    return Block(
        kind=_kind(said["kind"]),
        text=str(said["text"]),
        level=int(said["level"]),
        page=int(said["page"]) if said["page"] is not None else None,
        box=Box(page=int(box["page"]), **{key: float(box[key]) for key in ("x0", "y0", "x1", "y1")}) if box else None,
    )


def _kind(said: Any) -> Any:
    if said not in ("heading", "paragraph", "list", "table", "code", "formula", "image"):
        raise ValueError(f"unknown kind of block {said!r}")
    return said
