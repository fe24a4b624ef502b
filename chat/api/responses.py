"""Response schemas for the API description and tests; responses are not filtered through them.

New fields may be added at any time, so clients must not fail on fields that they do not know.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Out(BaseModel):
    """Values as they are sent."""

    model_config = ConfigDict(extra="allow")


class HitOut(Out):
    chunk_id: int
    document_id: int
    external_id: str
    title: str
    content: str
    page: int | None
    heading_path: list[str]
    score: float
    scores: dict[str, float] = Field(description="By stage or arm; higher is better, scales differ.")
    replaced_by: dict[str, Any] | None = Field(description="document_id, title, external_id of what replaces it.")


class WarningOut(Out):
    code: str
    field: str
    message: str


class SearchedWithOut(Out):
    understood: str | None = Field(description="The question without its conversation; null: as it was asked.")
    rewritten_queries: list[str] = Field(description="Other forms that were searched with, that one first.")
    rewrite_method: str = Field(
        description="That made them; `auto` is decided: `related`, `hyde`, or `history`, the conversation's words."
    )
    history_turns: int = Field(description="Earlier turns that the question was understood with.")


class RetrieveOut(Out):
    hits: list[HitOut] = Field(description="Best first, one a chunk.")
    relevant: bool = Field(description="False: neither words nor meaning come near enough for an answer.")
    searched: int = Field(description="Passages that were searched.")
    warnings: list[WarningOut]
    timings_ms: dict[str, float]
    metadata: SearchedWithOut
    trace: dict[str, Any]


class CitationOut(Out):
    citation_num: int
    chunk_id: int | None = Field(description="null: a passage of an attached file, or an imported fact.")
    document_id: int | None
    attachment_id: str | None = Field(description="The attached file that it quotes; null: a document.")
    fact_id: int | None = Field(description="The imported fact that it is, from the file `external_id`; null: none.")
    version: int
    external_id: str
    title: str
    page: int | None
    content: str = Field(description="The first 200 characters.")
    score: float
    confidence: float = Field(description="0 to 1.")
    position: int = Field(description="Characters before its first marker in the answer.")
    answer_segment: str
    weak: bool
    relevance: float | None = Field(description="0 to 1: that the source answers the question; null: not judged.")
    edited: bool = Field(description="An owner changed the text of the passage: the original document says otherwise.")
    edited_at: str | None = Field(description="When; null: the text is as in the document.")
    replaced_by: dict[str, Any] | None = Field(description="document_id, title, external_id of what replaces it.")


class PictureOut(Out):
    id: str
    url: str = Field(description="Below the address of the site; GET with a key of the scope `ask`.")
    caption: str = Field(description="The words at the picture in the document; may be empty.")
    alt: str = Field(description="What it shows, for who does not see it.")
    document_id: int
    document: str = Field(description="Title of the document.")
    page: int | None
    citation_num: int = Field(description="The source in whose passage it stands.")


class SentenceOut(Out):
    text: str
    support: str = Field(description="supported, weak or unsupported.")
    reason: str | None
    risk: str | None
    citations: list[int]
    quoted: bool | None = Field(description="Whether its words stand in a cited source as they are.")
    relevance: float | None = Field(
        description="0 to 1: that a quoted sentence answers the question; null: not judged."
    )


class UsageOut(Out):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    reasoning_tokens: int = Field(0, description="Those of the completion that a model thought before it wrote.")


class ApprovedOut(Out):
    id: str
    by: str = Field(description="Name of the reviewer; empty where the account is gone.")
    at: str = Field(description="Date, YYYY-MM-DD.")


class MetadataOut(Out):
    """Times in seconds; what did not happen is null or empty."""

    total_time: float
    rewrite_time: float | None
    retrieve_time: float | None
    rerank_time: float | None
    generate_time: float | None
    first_token_time: float | None
    thinking_time: float | None = Field(None, description="In which a model thought before it wrote.")
    stage_times: dict[str, float] | None
    chunks_found: int
    model: str
    usage: UsageOut = Field(description="Of all requests to language models, also for texts that nobody sees.")
    usage_by_purpose: dict[str, Any] | None = Field(description="The same by purpose, with the cost of each.")
    cost: float | None = Field(description="In the currency of the price table; null where a price is not known.")
    tier: str | None
    choice: list[str] | None = Field(description="Codes: why this way and this tier.")
    choice_reason: str = Field(description="The same in words, in the language of the caller.")
    strategy: str
    mode_used: str
    cache: str = Field(description="none, exact or semantic.")
    approved: ApprovedOut | None = Field(description="Who has approved this answer; null for a computed one.")
    rewritten_queries: list[str]
    options_sha256: str
    error_message: str | None
    stopped: bool
    is_cut: bool | None = Field(description="Whether the answer ends at max_tokens.")
    unused_options: list[str]
    skipped_stages: dict[str, str] | None
    notes: list[str] | None
    warnings: list[WarningOut]


class EvidenceOut(Out):
    confidence: float
    status: str = Field(description="excellent, good, adequate or insufficient.")
    relevant: float = Field(description="The same confidence of the passages with words of the question alone.")
    covered: list[str] = Field(description="Categories that some passage covers: of its document, or by its words.")
    missing: list[str] = Field(description="Those of the five categories that none covers.")
    missing_words: list[str] = Field(description="Words of the question that no passage has.")


class GenerateOut(Out):
    answer: str = Field(description="Markdown with [n] markers.")
    answer_html: str = Field(description="The same, sanitised.")
    formatted_citations: str
    status: str = Field(
        description="answered, refused, search_results, degraded, conversation or stopped (before there was any text)."
    )
    confidence: float = Field(description="0 to 1.")
    message_id: str
    parent_id: str | None = Field(description="The message that this one follows; null for a first one.")
    conversation_id: str
    citations: list[CitationOut]
    pictures: list[PictureOut] = Field(
        description="Of cited passages, where the question asks for one or the sentence names it; at most four."
    )
    sentences: list[SentenceOut]
    query_analysis: dict[str, Any]
    agentic_steps: list[dict[str, Any]]
    iteration_details: list[dict[str, Any]]
    iterations: int
    quality_score: float | None
    evidence: EvidenceOut | None
    retrieval_history: list[Any] = Field(description="`round`, `query`, `chunks` and `relevant` of each search.")
    kg_context: Any
    fact_chain: dict[str, Any] | None = Field(
        description="Facts among the sources: `question_type`, `chain`, `answers`, `facts`; null where there are none."
    )
    retrieval_stats: dict[str, int]
    compression_stats: dict[str, Any]
    metadata: MetadataOut


class AttachmentOut(Out):
    id: str
    name: str
    size_bytes: int
    state: str = Field(description="reading, ready or failed.")
    progress: dict[str, int] = Field(description="`done` of `total` pages and pictures that OCR reads.")
    pages: int | None
    conversation_id: str | None = Field(description="null: no question has been asked with it yet.")
    can_retry: bool = Field(description="A passing fault has kept it from being read: it can be read again.")
    error: dict[str, str] | None = Field(
        description="Why it failed; while it is still being read: what it waits for before it is tried again."
    )


class SharedLinkOut(Out):
    id: str
    path: str = Field(description="The page that colleagues open, below the address of the site.")
    message_id: str
    whole: bool = Field(description="Also the turns before the answer.")
    created: str
    expires: str
    revoked: str | None
    opened: int = Field(description="How often others opened it.")


class SharedLinkListOut(Out):
    results: list[SharedLinkOut]


class SharedOut(Out):
    turns: list[dict[str, Any]] = Field(
        description="question, `parts` with `html` or the number of `withheld` sentences, and `sources`: only what "
        "rests on sources that the caller may read."
    )
    left_out: int = Field(description="Earlier turns of a long conversation that are not shown.")


class AttachmentListOut(Out):
    results: list[AttachmentOut]


class FaultOut(Out):
    code: str
    message: str


class DependencyOut(Out):
    state: str = Field(description="up, down or not_configured.")
    latency_ms: float


class HealthOut(Out):
    status: str = Field(description="ok, degraded (something optional is down) or down.")
    dependencies: dict[str, DependencyOut]
    answering: list[str] = Field(description="Who writes answers, in order, of those that are up.")


class AxisOut(Out):
    axis: str
    name: str
    sets: list[dict[str, Any]]
    more: int


class ValuesOut(Out):
    values: list[dict[str, Any]] = Field(description="The most frequent ones, with their numbers of documents.")
    more: int


class FiltersOut(Out):
    axes: list[AxisOut]
    tags: ValuesOut
    attributes: ValuesOut
    counted: dict[str, Any]


class FilterCountOut(Out):
    documents: int
    passages: int
    warnings: list[WarningOut]


class BatchItemOut(Out):
    """`result` or `error`."""

    index: int
    result: GenerateOut | None = None
    error: FaultOut | None = None


class BatchOut(Out):
    results: list[BatchItemOut]


class SourceOut(Out):
    id: int | None = Field(description="null: an imported fact, which is no passage.")
    title: str
    content: str
    score: float
    source: str
    citation_id: int


class SourceCitationOut(Out):
    citation_num: int
    source_id: int | None
    confidence: float


class QueryOut(Out):
    answer: str
    sources: list[SourceOut]
    query: str
    rewritten_query: str = Field(description="The first other form that was searched with, else the question.")
    retrieved_count: int = Field(description="Passages that the answer could be written from.")
    generation_time: float | None
    citations: list[SourceCitationOut]
    pictures: list[PictureOut]
    metadata: dict[str, Any]


class ChatMessageOut(Out):
    role: str
    content: str
    context: dict[str, Any]


class ChoiceOut(Out):
    index: int
    message: ChatMessageOut
    finish_reason: str


class CompletionDetailsOut(Out):
    reasoning_tokens: int


class CompletionUsageOut(Out):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: CompletionDetailsOut


class CompletionOut(Out):
    id: str
    object: str
    created: int
    model: str
    choices: list[ChoiceOut]
    usage: CompletionUsageOut


class EmbeddingOut(Out):
    object: str
    index: int
    embedding: list[float] | str = Field(description="Numbers, or base64 of 32-bit floats, little-endian.")


class EmbeddingsOut(Out):
    object: str
    model: str
    data: list[EmbeddingOut]
    usage: dict[str, int]


class KnowledgeRecordOut(Out):
    content: str
    score: float = Field(description="0 to 1: probability that the passage answers the question.")
    title: str
    metadata: dict[str, Any]


class KnowledgeRecordsOut(Out):
    records: list[KnowledgeRecordOut] = Field(description="Best first.")


class ModelOut(Out):
    id: str
    object: str


class ModelsOut(Out):
    object: str
    data: list[ModelOut]


def response_schema(model: type[BaseModel], status: int = 200) -> dict[str, Any]:
    """`openapi_extra` of an operation that answers with this model."""
    schema = model.model_json_schema()
    plain = _inlined(schema, schema.get("$defs", {}))
    return {"responses": {status: {"description": "OK", "content": {"application/json": {"schema": plain}}}}}


def event_stream_schema(text: str) -> dict[str, Any]:
    """`openapi_extra` of an operation that answers with server-sent events."""
    parts = {"id": {"type": "string"}, "data": {"type": "string", "description": "JSON with `type`, or [DONE]."}}
    event = {"type": "object", "description": text, "required": ["data"], "properties": parts}
    content = {"text/event-stream": {"schema": event}}
    return {"responses": {200: {"description": "Server-sent events", "content": content}}}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its references replaced by what they point to; none of them is recursive."""
    if isinstance(schema, list):
        return [_inlined(inner, definitions) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    return {key: _inlined(inner, definitions) for key, inner in schema.items() if key != "$defs"}
