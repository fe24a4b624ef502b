"""What the tools take and give; the limits are those of the HTTP API (D38)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from chat.api.schemas import QueryText, SetId, Word

SOURCE_CHARACTERS = 20_000  # of one answer of fetch_source; a longer text is read on with `offset`

Question = Annotated[
    QueryText, Field(description="A question or search words, in Chinese or English; 1 to 2000 characters.")
]
Sets = Annotated[
    list[SetId | Word] | None,
    Field(
        max_length=100,
        description="Ids or codes of the knowledge sets to look in (see list_sets); left out: all that you may read.",
    ),
]
TopK = Annotated[int, Field(ge=1, le=50, description="Passages to return, 1 to 50.")]
DocumentId = Annotated[
    SetId | None, Field(description="Id of a document, from a hit or a citation: its whole text is returned.")
]
ChunkId = Annotated[
    SetId | None, Field(description="Id of a passage, from a hit or a citation: only this passage is returned.")
]
Offset = Annotated[
    int, Field(ge=0, le=10**9, description="Character of the text to begin at; use next_offset of the last call.")
]


class HitOut(BaseModel):
    """One passage."""

    chunk_id: int
    document_id: int
    external_id: str
    title: str
    page: int | None
    heading_path: list[str]
    content: str
    score: float = Field(description="Of the last stage of the search; higher is better, comparable within one search.")


class SearchOut(BaseModel):
    """Passages, best first."""

    hits: list[HitOut]
    relevant: bool = Field(description="False: nothing fits well; the passages may not answer the question.")
    warnings: list[dict[str, str]]


class AnswerOut(BaseModel):
    """A cited answer."""

    answer: str = Field(description="Markdown; [n] points to citation_num of a citation.")
    status: str = Field(
        description="answered; refused: not in the documents; search_results: nothing fits well; degraded: put "
        "together from sentences because the language model failed; conversation: no question."
    )
    confidence: float = Field(description="0 to 1, higher is better.")
    citations: list[dict[str, Any]]
    warnings: list[dict[str, str]]
    message_id: str


class SourceOut(BaseModel):
    """The text of a passage or of a document."""

    document_id: int
    chunk_id: int | None
    external_id: str
    title: str
    page: int | None
    heading_path: list[str]
    text: str = Field(description=f"At most {SOURCE_CHARACTERS} characters, from `offset` on; documents as Markdown.")
    offset: int
    next_offset: int | None = Field(description="Where to read on; null at the end.")
    total_characters: int


class SetOut(BaseModel):
    """A knowledge set."""

    id: int
    code: str
    name: str
    axis: str = Field(description="1: common knowledge, X: capability, Y: organisation.")
    description: str


class SetsOut(BaseModel):
    """Knowledge sets that the caller may read."""

    sets: list[SetOut]
