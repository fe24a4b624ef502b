"""What is broken, one stage for one question: corpus, rights, index, ranking or text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from unittest import mock

from django.db import connection

from accounts.models import User
from accounts.selectors import scope_for
from bench.retrieval import work_off
from chat.models import Message
from knowledge import model_registry
from knowledge.models import Chunk, Document, KnowledgeSet
from knowledge.services import document_delete, documents_bulk
from knowledge.services.documents import document_update
from knowledge.services.edits import chunk_disable
from ragcore.chunking import splitter_for
from ragcore.metrics.quality import contains_gold
from ragcore.options import ChunkingOptions
from ragcore.ports import ChunkSplitter, RerankInput, RerankScore, TokenCounter
from ragcore.reranking.linear import LinearReranker
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query, squeeze
from ragcore.text.sentences import split_sentences
from ragcore.types import ChunkDraft, ParsedDocument, Query

FAR = -50.0  # score of a passage that a broken reranker puts last
_DIGITS = re.compile(r"\d+")

Cause = tuple[str, str, str]

SPOIL_TERMS = """
UPDATE knowledge_indexentry SET bm25 = '{}/1000000000'::sparsevec,
    coarse = (SELECT array_agg(sin(n * 7919))::real[]::vector(384)::halfvec(384) FROM generate_series(1, 384) n)
WHERE chunk_id = %s
"""
SPOIL_VECTORS = """
UPDATE knowledge_wholevector SET
    vector = (SELECT array_agg(sin(n * 7919))::real[]::vector(768)::halfvec(768) FROM generate_series(1, 768) n)
WHERE chunk_id = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with the document that answers it."""

    question: str
    answers: tuple[str, ...]
    document: Document
    chunk: Chunk  # of this document; it holds an accepted answer

    def row(self, text: str, sets: Sequence[int]) -> dict[str, object]:
        """The document with another text, as a line of a bulk load."""
        document = self.document
        return {"external_id": document.external_id, "title": document.title, "text": text, "sets": sets}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What was broken: asked with `request`, inside of `broken`; `answered` changes the stored answer."""

    cause: Cause
    question: str = ""  # in place of the case's
    request: dict[str, object] = field(default_factory=dict)
    broken: AbstractContextManager[object] = field(default_factory=nullcontext)
    answered: Callable[[Message], None] = lambda message: None
    document: Document | None = None  # in place of the case's
    keeps_sources: bool = False  # it is a failure only if the passage was among the sources
    needs_other: bool = False  # and another document, too


@dataclass(kw_only=True)
class Corpus:
    """What can be broken: the documents, who administers them, and sets for those that come again."""

    admin: User
    other: KnowledgeSet  # with documents that answer nothing
    small: KnowledgeSet  # that cuts documents into small passages


Plant = Callable[[Corpus, Case], Planted | None]


def load(actor: User, rows: Iterable[Mapping[str, object]]) -> None:
    """Store documents, fields of a line of a bulk load each, and wait until they can be found."""
    lines = [json.dumps(row).encode() for row in rows]
    work_off(documents_bulk(scope=scope_for(actor), actor=actor, lines=lines).job_id)


# ── what is broken: corpus, rights, index ─────────────────────────────────────────────────────────


def removed(world: Corpus, case: Case) -> Planted:
    document_delete(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk)
    return Planted(cause=("knowledge_gap", "missing document", "no passage"))


def overwritten(world: Corpus, case: Case) -> Planted | None:
    """A newer version leaves out the sentences that answer."""
    sentences = [s for s in split_sentences(case.chunk.text) if not contains_gold(s, case.answers)]
    if len(sentences) < 2 or contains_gold(" ".join(sentences), case.answers):
        return None
    load(world.admin, [case.row(" ".join(sentences), list(case.document.sets.values_list("pk", flat=True)))])
    return Planted(cause=("knowledge_gap", "missing document", "stale version"))


def hidden(world: Corpus, case: Case) -> Planted:
    document_update(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk, clearance=3)
    return Planted(cause=("permission", "not visible", "rights"))


def filtered(world: Corpus, case: Case) -> Planted:
    return Planted(cause=("retrieval", "missed retrieval", "filter"), request={"sets": (world.other.pk,)})


def disabled(world: Corpus, case: Case) -> Planted:
    chunk_disable(scope=scope_for(world.admin), actor=world.admin, chunk_id=case.chunk.pk)
    return Planted(cause=("retrieval", "missed retrieval", "disabled passage"))


def unindexed_words(world: Corpus, case: Case) -> Planted:
    """The entries of the passage lose their terms and get vectors of nothing, as after wrong tokenisation."""
    with connection.cursor() as cursor:
        cursor.execute(SPOIL_TERMS, [case.chunk.pk])
        cursor.execute(SPOIL_VECTORS, [case.chunk.pk])
    return Planted(cause=("retrieval", "missed retrieval", "tokenisation"))


def other_words(world: Corpus, case: Case) -> Planted | None:
    """The question says in words that nobody else uses what the passage says in its own."""
    shared = [word for word in keywords(case.question, model_registry.tokenizer()) if squeeze(word) in _plain(case)]
    if len(shared) < 2:
        return None
    question = normalise_query(case.question).lower()
    for number, word in enumerate(sorted(shared, key=len, reverse=True)):
        question = question.replace(word, f" zyq{chr(97 + number % 26)}x ")
    return Planted(cause=("retrieval", "missed retrieval", "missing synonym"), question=question)


def _plain(case: Case) -> str:
    return squeeze(f"{case.document.title} {case.chunk.text}")


def split(world: Corpus, case: Case) -> Planted | None:
    """The document comes again, and a bad splitter cuts it in the middle of its answer."""
    answer = max((a for a in case.answers if a in case.chunk.text), key=len, default="")
    if len(answer) < 6:
        return None
    text = case.chunk.text
    document_delete(scope=scope_for(world.admin), actor=world.admin, document_id=case.document.pk)
    with cut_within(answer):
        load(world.admin, [case.row(text, [world.small.pk])])
    again = Document.objects.filter(external_id=case.document.external_id, deleted=None).first()
    texts = list(Chunk.objects.filter(version=again.live_version_id).values_list("text", flat=True)) if again else []
    if again is None or any(contains_gold(one, case.answers) for one in texts):
        return None
    return Planted(cause=("chunking", "overchunking", "split"), document=again)


@contextmanager
def cut_within(answer: str) -> Iterator[None]:
    """Whatever is ingested meanwhile is cut in the middle of this answer, too."""
    module = "knowledge.services.ingestion.chunk_and_represent.splitter_for"

    def bad(options: ChunkingOptions, counter: TokenCounter) -> ChunkSplitter:
        return _BadSplitter(splitter_for(options, counter), counter, answer)

    with mock.patch(module, bad):
        yield


@dataclass(frozen=True)
class _BadSplitter:
    """Cuts as another splitter does, and in the middle of an answer."""

    splitter: ChunkSplitter
    counter: TokenCounter
    answer: str

    def split(self, document: ParsedDocument) -> list[ChunkDraft]:
        pieces: list[ChunkDraft] = []
        for draft in self.splitter.split(document):
            at = draft.text.find(self.answer)
            cut = at + len(self.answer) // 2 if at >= 0 else len(draft.text)
            texts = [text for text in (draft.text[:cut], draft.text[cut:]) if text]
            pieces += [replace(draft, text=text, tokens=self.counter.count(text)) for text in texts]
        return [replace(piece, ordinal=ordinal) for ordinal, piece in enumerate(pieces)]


# ── the ranking ───────────────────────────────────────────────────────────────────────────────────


@contextmanager
def scores_changed(document: int, change: Callable[[float, float], float]) -> Iterator[None]:
    """The reranker gives passages of a document another score: `change(own, best of the others)`."""
    score = LinearReranker.score

    def changed(self: LinearReranker, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        found = score(self, query, candidates)
        others = [one.score for one, c in zip(found, candidates, strict=True) if c.passage.document != document]
        best = max(others, default=0.0)
        return [
            RerankScore(score=change(one.score, best), detail=one.detail) if c.passage.document == document else one
            for one, c in zip(found, candidates, strict=True)
        ]

    with mock.patch.object(LinearReranker, "score", changed):
        yield


def demoted(world: Corpus, case: Case) -> Planted:
    broken = scores_changed(case.document.pk, lambda own, best: FAR)
    return Planted(cause=("reranking", "low recall", "reranker"), broken=broken)


# ── the text ──────────────────────────────────────────────────────────────────────────────────────


def refused(world: Corpus, case: Case) -> Planted:
    return Planted(
        cause=("generation", "abstention failure", "answerability"),
        answered=_written("The documents do not say.", status="refused", support=None),
        keeps_sources=True,
    )


def wrong_figure(world: Corpus, case: Case) -> Planted | None:
    """The sentence that answers, with another figure."""
    sentence = _answering(case)
    figures = [figure for answer in case.answers for figure in _DIGITS.findall(answer)]
    if not figures or figures[0] not in sentence or not sentence:
        return None
    wrong = str(int(figures[0]) + 17)
    year = re.fullmatch(r"(?:1[89]|20)\d\d", figures[0]) is not None
    subcause = "chronological inconsistency" if year else "numerical error"
    return Planted(
        cause=("generation", subcause, ""),
        answered=_written(f"{sentence.replace(figures[0], wrong)} [1]", support="unsupported"),
        keeps_sources=True,
    )


def invented(world: Corpus, case: Case) -> Planted:
    text = "It was agreed upon by the committee in a secret meeting, as everybody knows. [1]"
    return Planted(
        cause=("generation", "fabricated content", ""),
        answered=_written(text, support="unsupported"),
        keeps_sources=True,
    )


def from_memory(world: Corpus, case: Case) -> Planted:
    def written(message: Message) -> None:
        _written("It is generally known to be quite different.", support="unsupported")(message)
        message.citations.update(cited=False)

    return Planted(cause=("generation", "parametric overreliance", ""), answered=written, keeps_sources=True)


def beside_the_point(world: Corpus, case: Case) -> Planted:
    """A true sentence of another source."""

    def written(message: Message) -> None:
        other = message.citations.exclude(document=case.document).order_by("number").first()
        assert other is not None
        sentence = (split_sentences(other.excerpt) or [other.excerpt])[0]
        _written(f"{sentence} [{other.number}]", support="supported")(message)
        message.citations.update(cited=False)
        message.citations.filter(pk=other.pk).update(cited=True)

    cause = ("generation", "contextual misalignment", "")
    return Planted(cause=cause, answered=written, keeps_sources=True, needs_other=True)


def _answering(case: Case) -> str:
    return next((s for s in split_sentences(case.chunk.text) if contains_gold(s, case.answers)), "")


def _written(text: str, *, status: str = "answered", support: str | None) -> Callable[[Message], None]:
    """The stored answer says this instead."""
    sentences = [{"text": text, "support": support}] if support else []

    def write(message: Message) -> None:
        Message.objects.filter(pk=message.pk).update(answer=text, status=status, sentences=sentences)

    return write


KINDS: dict[str, Plant] = {
    "document removed": removed,
    "newer version without the answer": overwritten,
    "hidden by clearance": hidden,
    "other set asked": filtered,
    "passage disabled": disabled,
    "entries without words": unindexed_words,
    "question in unknown words": other_words,
    "answer cut in two": split,
    "reranker puts it last": demoted,
    "refused": refused,
    "wrong figure": wrong_figure,
    "invented": invented,
    "without sources": from_memory,
    "another source told": beside_the_point,
}
