"""Search results and the second form of answers as JSON (api.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chat.models import MessageCitation
from chat.services.finding import Found, final_score
from chat.services.finishing import trace_of
from chat.services.passages import Asked
from chat.services.presenting import warnings_present
from knowledge.types import Retrieved

AS_WRITTEN = Asked()


def hits_present(retrieved: Retrieved, *, trace: bool, asked: Asked = AS_WRITTEN) -> dict[str, Any]:
    """The response of `retrieve`. The trace lists only what passed the asker's own rights."""
    found = Found(retrieved=retrieved, seconds=0.0)
    return {
        "hits": [
            {
                "chunk_id": passage.chunk,
                "document_id": passage.document,
                "external_id": passage.external_id,
                "title": passage.title,
                "content": passage.text,
                "page": passage.page,
                "heading_path": list(passage.heading_path),
                "score": final_score(candidate),
                "scores": dict(candidate.scores),
            }
            for passage, candidate in found.hits
        ],
        "relevant": retrieved.relevant,
        "searched": retrieved.searched,
        "warnings": warnings_present(retrieved.warnings),
        "timings_ms": dict(retrieved.timings_ms),
        "metadata": {
            "understood": asked.understood,
            "rewritten_queries": list(asked.queries),
            "rewrite_method": asked.method,
            "history_turns": asked.turns,
        },
        "trace": trace_of(found, complete=True) if trace else {},
    }


def sources_present(rows: Iterable[MessageCitation]) -> list[dict[str, Any]]:
    """The sources of an answer as the second form lists them, cited or not."""
    return [
        {
            "id": row.chunk_id,
            "title": row.document.title,
            "content": row.chunk.text,
            "score": row.score,
            "source": row.document.external_id or row.document.title,
            "citation_id": row.number,
        }
        for row in rows
    ]


def source_citations(rows: Iterable[MessageCitation]) -> list[dict[str, Any]]:
    """The citations of an answer as the second form lists them."""
    return [
        {"citation_num": row.number, "source_id": row.chunk_id, "confidence": row.confidence}
        for row in rows
        if row.cited
    ]
