"""What all parsers share: library exceptions as coded errors, the check for empty files, and building the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from ragcore.errors import (
    CorruptDocumentError,
    EmptyDocumentError,
    PermanentError,
    RagError,
    ResourceLimitError,
    Sentence,
)
from ragcore.types import Block, ParsedDocument, Picture

# libxml2 reports lack of memory, entity bombs and absurd nesting as syntax errors
_LIMITS = ("memory allocation failed", "amplification", "excessive depth")
# neither white space nor a mark without width
_VISIBLE = re.compile("[^\\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


class UnsupportedFormatError(PermanentError):
    """No parser accepts files of this kind."""

    code = "unsupported_format"
    default_message = "Files of this format cannot be read."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "ending": "Files of the kind %(ending)s are not read. Readable are: %(readable)s.",
        "no_ending": "The name of this file has no ending that tells its format. Readable are: %(readable)s.",
    }


@contextmanager
def coded_errors(name: str) -> Iterator[None]:
    """Turn whatever a library raises into CorruptDocumentError or ResourceLimitError; coded errors pass."""
    try:
        yield
    except RagError:
        raise
    except (MemoryError, RecursionError) as problem:
        raise ResourceLimitError(name=name, problem=type(problem).__name__) from problem
    except Exception as problem:
        if any(reason in str(problem).lower() for reason in _LIMITS):
            raise ResourceLimitError(name=name, problem=str(problem)[:300]) from problem
        raise CorruptDocumentError(name=name, problem=f"{type(problem).__name__}: {problem}"[:300]) from problem


def require_content(content: bytes, *, name: str) -> None:
    """Raises EmptyDocumentError for a file of zero bytes."""
    if not content:
        raise EmptyDocumentError("no_bytes", name=name)


def build_document(
    blocks: Iterable[Block],
    *,
    name: str,
    title: str = "",
    pages: int | None = None,
    metadata: Mapping[str, str] | None = None,
    pictures: Sequence[Picture] = (),
    unread_pages: Sequence[int] = (),
) -> ParsedDocument:
    """A document of the blocks that have text.

    Raises EmptyDocumentError when none has, and no page or picture is left that character recognition may read.
    """
    filled = tuple(block for block in blocks if _VISIBLE.search(block.text))
    if not filled and not pictures and not unread_pages:
        raise EmptyDocumentError(name=name)
    return ParsedDocument(
        blocks=filled,
        title=title.strip(),
        pages=pages,
        metadata=dict(metadata or {}),
        pictures=tuple(pictures),
        unread_pages=tuple(unread_pages),
    )
