"""What the core needs from outside, as protocols; tests/contracts has suites for those with several implementations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from ragcore.graph_port import EntityGraph
from ragcore.types import (
    ChunkDraft,
    DocumentFacts,
    Expansion,
    Hit,
    Language,
    NamedDocument,
    NameMention,
    ParsedDocument,
    Passage,
    PassageHead,
    Pixels,
    Query,
    RecognisedLine,
    Source,
    Usage,
    UseHint,
)
from ragcore.types.sentence_vectors import HeadedSentence, SentenceVectors

FloatArray = npt.NDArray[np.float32]
A = TypeVar("A")
B = TypeVar("B")


# ── the four abstractions ───────────────────────────────────────────────────────────────────────


class DocumentParser(Protocol):
    """Turns the bytes of one format into Markdown blocks."""

    formats: tuple[str, ...]  # file name endings with the dot, lower case

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises CorruptDocumentError, PasswordProtectedError or EmptyDocumentError."""
        ...


class ChunkSplitter(Protocol):
    """Cuts a parsed document into chunks that cover its text in order."""

    def split(self, document: ParsedDocument) -> list[ChunkDraft]: ...


class LLMGenerator(Protocol):
    """Writes an answer from numbered sources; yields text as it comes, the last event carries the usage."""

    name: str

    def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """Raises ModelUnavailableError before the first event, or `Interrupted` is set on the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart:
    """A part of a quoted answer. `lead`: Markdown in front of it; `otherwise`: in its place where nothing is said."""

    question: str
    sources: tuple[Source, ...]
    lead: str = ""
    otherwise: str = ""
    is_summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """All that a generator may use."""

    question: str
    sources: tuple[Source, ...]
    messages: tuple[ChatMessage, ...] = ()  # rendered prompt for language models; extractive ignores it
    language: Language = "other"
    style: str = "report"
    temperature: float = 0.2
    max_tokens: int = 1000
    is_thorough: bool = False  # a model that can think before it writes does so at length
    further_sources: tuple[Source, ...] = ()  # see AnswerState
    whole_versions: frozenset[int] = frozenset()  # of documents all of whose tables are among the sources
    is_follow_up: bool = False  # it takes its subject from its conversation, and its answer is short
    earlier_question: str = ""  # the question behind the one before it, in a conversation; only quoted answers have it
    parts: tuple[AnswerPart, ...] = ()  # in place of one answer from all sources; only quoted answers have them


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationEvent:
    """A piece of the answer, or of the `reasoning` before it. The final event has usage and perhaps `interrupted`."""

    text: str = ""
    final: bool = False
    usage: Usage = Usage()
    interrupted: bool = False  # the model server closed the stream before the end, or said nothing for too long
    reasoning: str = ""


# ── below them ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: str  # system | user | assistant | tool
    content: str
    fields: tuple[tuple[str, Any], ...] = ()  # further ones: calls of tools, and which call a result belongs to


class ChatModel(Protocol):
    """A chat completion endpoint."""

    name: str

    def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """Raises ModelUnavailableError when no first token comes after the retries."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. Thread-safe; loads its weights on first use, once per process."""

    model: str  # stable id, stored with every vector
    dimensions: int  # 768; the first 384 are a usable prefix

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 768], L2-normalised, row i for text i."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 768], L2-normalised."""
        ...

    def trust(self, cjk_share: float) -> float:
        """How far the vectors can be relied on for text with this share of CJK, 0 to 1; caps the vector weight."""
        ...


@runtime_checkable
class SentenceEmbedder(Protocol):
    """An embedder that also gives each sentence a vector as its passage says it. Thread-safe."""

    model: str
    sentence_space: str  # of those vectors: of another name, they cannot be compared

    def embed_sentences(self, sentences: Sequence[HeadedSentence]) -> FloatArray:
        """float32[n, 384], L2-normalised, of the sentences of one passage in order; comparable with the first 384
        numbers of `embed_queries`, once those are normalised."""
        ...


class Tokenizer(Protocol):
    """Text to search terms."""

    def terms(self, text: str) -> list[str]:
        """Words and CJK bigrams for the lexical index, in order, repeats kept."""
        ...

    def words(self, text: str) -> list[str]:
        """Words only (what features.md calls a word), in order, repeats kept."""
        ...


class TokenCounter(Protocol):
    """Counts model tokens; never less than the model would."""

    def count(self, text: str) -> int: ...

    def truncate(self, text: str, limit: int) -> str:
        """The longest prefix of at most `limit` tokens, cut at a word or sentence where possible."""
        ...


class LexicalIndex(Protocol):
    """BM25 over the entries that the bound scope may see."""

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        """Best first; score is BM25 (k1 1.2, b 0.75), above 0."""
        ...

    def search_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        """What `search` finds for each query, in one round trip."""
        ...

    def weights(self, query: Query) -> dict[str, float]:
        """idf of the query's terms that occur in the corpus; where several languages have a term, the larger one."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours over the entries that the bound scope may see."""

    def is_exact(self) -> bool:
        """Whether `exact_many` costs less than `coarse_many` and `fine`: where few whole vectors are compared."""
        ...

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        """Up to `limit` chunks for each query, best first by cosine of the whole vectors.

        Of all of them, or of those parts of the index that can hold the nearest ones. Queries have been embedded, here
        and below: `Query.vector` is float32[768].
        """
        ...

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        """Best first by cosine of the 384-d prefix, or of the whole vector."""
        ...

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        """What `coarse` finds for each query, in one round trip."""
        ...

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        """Cosine of the 384-d prefix of each of these chunks, best first."""
        ...

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        """Exact 768-d cosine among these chunks, best first."""
        ...


class PassageStore(Protocol):
    """Texts of chunks that the bound scope may see; others are left out silently."""

    def load(self, chunks: Sequence[int]) -> dict[int, Passage]: ...

    def neighbours(self, chunks: Sequence[int], *, around: int) -> list[Passage]:
        """Up to `around` passages before and after each chunk, of its version and under its headings, each once."""
        ...

    def siblings(self, chunks: Sequence[int], *, max_tokens: int) -> list[tuple[Passage, ...]]:
        """All passages of each section of which more than half, and at least two, are `chunks`, in reading order.

        A section of more than `max_tokens` is left out.
        """
        ...


class FuzzyIndex(Protocol):
    """Terms and titles that look like given ones, among those of passages that the bound scope may see."""

    def unseen(self, words: Sequence[str]) -> set[str]:
        """Those of the terms that occur in no passage."""
        ...

    def alike(self, words: Sequence[str], *, limit: int) -> dict[str, dict[str, float]]:
        """Up to `limit` terms that may have been meant by each word, with their likeness in (0, 1), best first."""
        ...

    def between(self, pairs: Sequence[str], *, before: str, after: str, limit: int) -> dict[str, int]:
        """Characters that stand between two texts in passages with all these pairs of characters, with their number."""
        ...

    def titles(self, text: str, *, least: float) -> list[Hit]:
        """The first passages of documents with a title near to a text, from this word similarity on, best first."""
        ...


class NameIndex(Protocol):
    """File names and folders of documents that the bound scope may see."""

    def named(self, mentions: Sequence[NameMention]) -> Sequence[Sequence[NamedDocument]]:
        """For each mention the documents with the most specific of its keys, or else with all of its words."""
        ...


class FactsIndex(Protocol):
    """What is known of documents and passages besides their texts, for the bound scope; others are left out."""

    def documents(self, documents: Sequence[int]) -> dict[int, DocumentFacts]: ...

    def heads(self, chunks: Sequence[int]) -> dict[int, PassageHead]:
        """What stands above chunks, and the language that they are in."""
        ...


class SentenceIndex(Protocol):
    """Vectors of the sentences of passages that the bound scope may see."""

    def question_vector(self, text: str) -> FloatArray:
        """float32[384], L2-normalised, to be compared with those of sentences."""
        ...

    def vectors(self, chunks: Sequence[int]) -> dict[int, SentenceVectors]: ...  # those that have none are left out


class UseIndex(Protocol):
    """What people did with passages for similar questions, in the sets that the bound scope asks."""

    def hints(self, query: Query, chunks: Sequence[int]) -> Sequence[UseHint]:
        """Hints for some of these passages, several for one where it helped with several kinds of questions."""
        ...


class Reranker(Protocol):
    """Scores question-passage pairs."""

    @property
    def name(self) -> str: ...

    @property
    def cliff(self) -> float:
        """Gap between neighbours from which the rest is cut, on this reranker's scale."""
        ...

    def score(self, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        """One score a candidate, higher is better, in the order given. Thread-safe."""
        ...


@runtime_checkable
class AbsoluteScores(Protocol):
    """A Reranker whose scores mean the same for every question."""

    @property
    def low(self) -> float:
        """A passage with a score below it hardly answers the question."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankInput:
    passage: Passage
    arms: Mapping[str, float]  # scores so far, e.g. lexical, dense, coarse, fuse.rsf


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankScore:
    score: float
    detail: Mapping[str, float] = field(default_factory=dict)


class TextRecogniser(Protocol):
    """Reads text from pictures. Thread-safe."""

    name: str

    def recognise(self, pixels: Pixels) -> list[RecognisedLine]:
        """Lines in reading order, none where there is no text.

        Raises RecognitionUnavailableError, ResourceLimitError.
        """
        ...


class QueryLexicon(Protocol):
    """The published terms of one search."""

    def knows(self, word: str) -> bool:
        """Whether a term of the index is the name of something; then it is not misspelt."""
        ...

    def meant(self, word: str) -> Sequence[Expansion]:
        """What a misspelt word stands for, likeliest first; () where nothing is near."""
        ...


class Together(Protocol):
    """Runs two searches that do not need each other."""

    def __call__(self, first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]: ...


def one_after_the_other(first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]:
    """The simplest way."""
    return first(), second()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a pipeline run may use, bound to one scope. Missing optional ports are None."""

    lexical: LexicalIndex
    vectors: VectorIndex
    passages: PassageStore
    embedder: Embedder
    tokenizer: Tokenizer
    reranker: Reranker | None = None
    second_reranker: Reranker | None = None  # orders where the first one fails
    fuzzy: FuzzyIndex | None = None
    names: NameIndex | None = None
    facts: FactsIndex | None = None
    lexicon: QueryLexicon | None = None
    graph: EntityGraph | None = None
    use: UseIndex | None = None  # None: use takes no part in the ranking
    sentences: SentenceIndex | None = None  # None: the embedder gives no vectors of sentences
    together: Together = one_after_the_other
    backend_note: Mapping[str, Any] = field(default_factory=dict)  # who answered the searches; stages note it
