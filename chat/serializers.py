"""Answers and search results as JSON of the API (docs/api-questions.md)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from accounts.error_messages import stored_message
from chat.answering.metadata import build_trace
from chat.answering.passage_search import UnderstoodQuery
from chat.answering.progress import explain_reasons
from chat.answering.retrieval import SearchOutcome
from chat.answers.source_lines import edited_words, fact_title, replaced_words
from chat.models import FactCitation, Message, MessageCitation
from chat.types import AnswerRecord, AnswerRequest, CitationFormat, CitationRecord, to_plain
from knowledge.errors import UnmatchedFilterError
from knowledge.search_profile import Retrieved
from knowledge.selectors.filters import FilterChoices
from knowledge.types import Facet, FilterWarning
from ragcore.text.normalise import visible
from ragcore.types import Sentence

_MARKER = re.compile(r"(?:(?<![ \t])[ \t]+)?\[\d{1,3}\]")
_BUTTON = re.compile(r'(?:(?<![ \t])[ \t]+)?<button class="cite"[^<>]*>\d+</button>')
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")

# Metadata that only operators and the web pages use stays in the stored message.
_EMPTY_REASONING: dict[str, Any] = {
    "query_analysis": {},
    "agentic_steps": [],
    "iteration_details": [],
    "iterations": 1,
    "quality_score": None,
    "evidence": None,
    "retrieval_history": [],
    "compression_stats": {},
    "kg_context": None,
    "fact_chain": None,
}
_PUBLIC_METADATA = (
    *("total_time", "rewrite_time", "retrieve_time", "rerank_time", "generate_time", "first_token_time"),
    "thinking_time",
    *("chunks_found", "model", "tier", "choice", "usage", "usage_by_purpose", "cost", "strategy", "mode_used"),
    *("cache", "rewritten_queries", "options_sha256", "error_message", "stopped", "is_cut", "unused_options"),
    *("stage_times", "skipped_stages", "notes", "approved"),
)

AS_WRITTEN = UnderstoodQuery()


def serialize_answer(*, record: AnswerRecord, request: AnswerRequest, message: Message) -> dict[str, Any]:
    """The response of `POST /api/v1/rag/generate`. Fields whose stage did not run are null or empty."""
    cited = shown_citations(record, request)
    return {
        "answer": shown_text(record, request),
        "answer_html": record.html if request.include_inline else _BUTTON.sub("", record.html),
        "formatted_citations": citations_formatted(cited, request.citation_format),
        "status": record.status,
        "confidence": record.confidence,
        "message_id": str(message.pk),
        "parent_id": str(message.parent_id) if message.parent_id else None,
        "conversation_id": request.conversation_id or str(message.conversation_id),
        "citations": [serialize_citation(citation) for citation in cited],
        "sentences": [_sentence(sentence) for sentence in record.sentences],
        **_EMPTY_REASONING,
        **{name: record.reasoning[name] for name in _EMPTY_REASONING if name in record.reasoning},
        "retrieval_stats": dict(record.retrieval_stats),
        "metadata": serialize_metadata(record),
    }


def shown_text(record: AnswerRecord, request: AnswerRequest) -> str:
    """The text of an answer, without markers where the client wants none."""
    return record.text if request.include_inline else without_markers(record.text)


def shown_citations(record: AnswerRecord, request: AnswerRequest) -> tuple[CitationRecord, ...]:
    """The cited sources of an answer; () where the client wants none."""
    return record.cited if request.include_citations else ()


def serialize_citation(citation: CitationRecord) -> dict[str, Any]:
    """One citation of a response or of a `citations` event (docs/api-questions.md)."""
    return {
        "citation_num": citation.number,
        "chunk_id": citation.chunk_id if citation.chunk_id > 0 else None,
        "document_id": citation.document_id if citation.chunk_id > 0 else None,
        "attachment_id": citation.attachment or None,
        "fact_id": citation.fact or None,
        "version": citation.version,
        "external_id": citation.external_id,
        "title": cited_title(citation),
        "page": citation.page,
        "content": citation.content,
        "score": citation.score,
        "confidence": citation.confidence,
        "position": citation.position,
        "answer_segment": citation.segment,
        "weak": citation.weak,
        "relevance": citation.relevance,
        "edited": bool(citation.edited),
        "edited_at": citation.edited or None,
        "replaced_by": dict(citation.replaced_by) if citation.replaced_by else None,
    }


def serialize_metadata(record: AnswerRecord) -> dict[str, Any]:
    """The public part of the metadata; times in seconds."""
    metadata = record.metadata
    public = {name: getattr(metadata, name) for name in _PUBLIC_METADATA}
    reason, warnings = explain_reasons(metadata.choice), serialize_warnings(metadata.warnings)
    return {**public, "choice_reason": reason, "warnings": warnings}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {name: value for name, value in to_plain(sentence).items() if name != "reason_data"}


def serialize_warnings(warnings: Iterable[FilterWarning]) -> list[dict[str, str]]:
    """Warnings in the language of the caller."""
    return [
        {
            "code": warning.code,
            "field": warning.field,
            "message": stored_message(UnmatchedFilterError.code, warning.message, warning.data),
        }
        for warning in warnings
    ]


def without_markers(text: str) -> str:
    """The text without `[n]`; for clients that want no inline citations."""
    return _MARKER.sub("", text)


def citations_formatted(citations: Sequence[CitationRecord], form: CitationFormat) -> str:
    """The list of sources as Markdown, HTML or plain text; empty without citations."""
    if not citations:
        return ""
    if form == "html":
        items = "".join(f'<li value="{c.number}">{html.escape(_named(c))}</li>' for c in citations)
        return f'<ol class="sources">{items}</ol>'
    if form == "plain":
        return "\n".join(f"[{c.number}] {_named(c)}" for c in citations)
    return "\n".join(f"- [{c.number}] {_escaped(_named(c))}" for c in citations)


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def cited_title(citation: CitationRecord) -> str:
    """The title of a source, for a fact where it is from, in the language of the caller."""
    return fact_title(citation.external_id) if citation.fact else citation.title


def _named(citation: CitationRecord) -> str:
    name = " ".join(visible(cited_title(citation) or citation.external_id or f"#{citation.document_id}").split())
    name = f"{name}, p. {citation.page}" if citation.page is not None else name
    name = f"{name} ({edited_words(datetime.fromisoformat(citation.edited))})" if citation.edited else name
    return f"{name} ({replaced_words(citation.replaced_by['title'])})" if citation.replaced_by else name


def serialize_hits(retrieved: Retrieved, *, trace: bool, understood: UnderstoodQuery = AS_WRITTEN) -> dict[str, Any]:
    """The response of `retrieve`. The trace lists only what passed the user's own rights."""
    outcome = SearchOutcome(retrieved=retrieved, seconds=0.0)
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
                "score": candidate.last_score,
                "scores": dict(candidate.scores),
                "replaced_by": retrieved.replaced_by.get(passage.document),
            }
            for passage, candidate in outcome.hits
        ],
        "relevant": retrieved.relevant,
        "searched": retrieved.searched,
        "warnings": serialize_warnings(retrieved.warnings),
        "timings_ms": dict(retrieved.timings_ms),
        "metadata": {
            "understood": understood.understood,
            "rewritten_queries": list(understood.queries),
            "rewrite_method": understood.method,
            "history_turns": understood.turns,
        },
        "trace": build_trace(outcome, complete=True) if trace else {},
    }


def serialize_sources(rows: Iterable[MessageCitation | FactCitation]) -> list[dict[str, Any]]:
    """The sources of an answer as the second form lists them, cited or not. A fact has no id of a passage."""
    return [
        {
            "id": None,
            "title": fact_title(row.file),
            "content": row.excerpt,
            "score": row.score,
            "source": row.file,
            "citation_id": row.number,
        }
        if isinstance(row, FactCitation)
        else {
            "id": row.chunk_id,
            "title": row.document.title,
            "content": row.chunk.text,
            "score": row.score,
            "source": row.document.external_id or row.document.title,
            "citation_id": row.number,
        }
        for row in rows
    ]


def serialize_source_citations(rows: Iterable[MessageCitation | FactCitation]) -> list[dict[str, Any]]:
    """The citations of an answer as the second form lists them."""
    return [
        {
            "citation_num": row.number,
            "source_id": None if isinstance(row, FactCitation) else row.chunk_id,
            "confidence": row.confidence,
        }
        for row in rows
        if row.cited
    ]


def serialize_filter_choices(choices: FilterChoices) -> dict[str, Any]:
    """The response of `filters`. `kind` of an attribute: number and day can be asked for by range."""
    return {
        "axes": [
            {
                "axis": axis.axis,
                "name": axis.name,
                "sets": [
                    {
                        "id": knowledge_set.id,
                        "code": knowledge_set.code,
                        "name": knowledge_set.name,
                        "documents": knowledge_set.documents,
                    }
                    for knowledge_set in axis.sets
                ],
                "more": axis.more,
            }
            for axis in choices.axes
        ],
        "tags": _serialize_facet(choices.tags),
        "attributes": {
            "values": [
                {
                    "code": attribute.name,
                    "name": choices.names.get(attribute.name, attribute.name),
                    "kind": attribute.kind,
                    "documents": attribute.documents,
                    **_serialize_facet(attribute.values),
                }
                for attribute in choices.attributes.attributes
            ],
            "more": choices.attributes.more,
        },
        "counted": {"documents": choices.counted, "newest_only": choices.is_sample},
    }


def _serialize_facet(facet: Facet) -> dict[str, Any]:
    return {
        "values": [{"value": facet_value.value, "documents": facet_value.documents} for facet_value in facet.values],
        "more": facet.more,
    }
