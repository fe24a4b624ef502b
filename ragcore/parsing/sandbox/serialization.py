"""Parsed documents and errors as JSON between the parsing process and its parent."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import Any

from ragcore import errors
from ragcore.errors import RagError
from ragcore.types import Block, Box, ParsedDocument, Picture

_ERRORS: dict[str, type[RagError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RagError)
}


_PICTURE_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
MAX_STYLE = 64  # characters
PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff")


def dump_document(document: ParsedDocument) -> bytes:
    """UTF-8 JSON; lone surrogates, which no JSON reader accepts, become question marks."""
    values = asdict(document)
    for picture in values["pictures"]:
        picture["content"] = b64encode(picture["content"]).decode()
    return json.dumps({"document": values}, ensure_ascii=False).encode("utf-8", errors="replace")


def dump_error(problem: RagError) -> bytes:
    data = {"code": problem.code, "reason": problem.reason, "data": dict(problem.data)}
    return json.dumps({"error": data}, default=str).encode()


def load_document(raw: bytes) -> ParsedDocument:
    """The document, or raises the error that the process reported. Raises ValueError for anything else.

    The sender may have been taken over by the file that it read, so each value is checked.
    """
    answer = json.loads(raw)
    if not isinstance(answer, dict):
        raise ValueError("not an answer of the parsing process")
    try:
        if "error" not in answer:
            return _load_document(answer["document"])
        reported = _load_error(answer["error"])
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError("not a document of the parsing process") from problem
    raise reported


def _load_error(values: Any) -> RagError:
    kind = _ERRORS.get(str(values["code"]), errors.CorruptDocumentError)
    reason = str(values["reason"])
    return kind(reason if reason in kind.reasons else "", **{str(key): value for key, value in values["data"].items()})


def _load_document(values: Any) -> ParsedDocument:
    return ParsedDocument(
        blocks=tuple(_load_block(block) for block in values["blocks"]),
        title=str(values["title"]),
        pages=int(values["pages"]) if values["pages"] is not None else None,
        metadata={str(key): str(value) for key, value in values["metadata"].items()},
        pictures=tuple(_load_picture(picture) for picture in values["pictures"]),
        unread_pages=tuple(int(page) for page in values["unread_pages"]),
    )


def _load_picture(values: Any) -> Picture:
    if not _PICTURE_NAME.fullmatch(str(values["name"])) or values["media_type"] not in PICTURE_TYPES:
        raise ValueError("not a picture of the parsing process")
    return Picture(
        name=str(values["name"]),
        media_type=str(values["media_type"]),
        content=b64decode(values["content"], validate=True),
        page=int(values["page"]) if values["page"] is not None else None,
        alt=str(values["alt"]),
    )


def _load_block(values: Any) -> Block:
    box = values["box"]
    return Block(
        kind=_check_kind(values["kind"]),
        text=str(values["text"]),
        level=int(values["level"]),
        page=int(values["page"]) if values["page"] is not None else None,
        style=str(values["style"])[:MAX_STYLE],
        box=Box(page=int(box["page"]), **{key: float(box[key]) for key in ("x0", "y0", "x1", "y1")}) if box else None,
    )


def _check_kind(kind: Any) -> Any:
    if kind not in ("heading", "paragraph", "list", "table", "code", "formula", "image"):
        raise ValueError(f"unknown kind of block {kind!r}")
    return kind
