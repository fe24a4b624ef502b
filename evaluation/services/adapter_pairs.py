"""Pairs to train a set's query adapter with: from golden cases, votes, opened sources, and made of passages (D7).

All of them are read with the rights of who started the training, and only passages of the set that this person may
search count. What people have asked weighs more than what was made: made pairs are screened harder, and are no more
than people's where these are many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, get_args

import numpy as np
from django.db.models import QuerySet

from accounts.scope import Scope
from evaluation.models import GoldenCase
from evaluation.selectors import documents_by_name, golden_sets_about
from evaluation.services.useful_sources import UsefulAnswer, answers_opened, answers_voted_for
from knowledge import model_registry
from knowledge.models import Chunk, ChunkEdit, Document, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.services import retrieve
from knowledge.services.model_slots import background_model
from knowledge.types import RetrievalRequest
from ragcore.options import RepresentationOptions
from ragcore.representations import represent
from ragcore.text.near_duplicates import fingerprint, similarities, size
from ragcore.text.normalise import squeeze
from ragcore.text.question_pairs import MADE, Origin, QuestionPair, pairs_balance, pairs_screen
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft

ORIGINS: tuple[Origin, ...] = get_args(Origin)
MOST_GOLDEN = 20_000
CASES_BETWEEN = 100  # two calls of `alive`
MOST_MADE = 2_000
MOST_WRITTEN = 300  # passages for which a language model writes questions
MOST_WHOLE = 3  # passages of a document that all count where nothing says which one answers
QUESTIONS_ONLY = RepresentationOptions(sections=False, tables=False, captions=False, summaries=False, questions=True)
RELEVANT_DEPTH = 20  # passages of an own search among which a made pair's passage must be
HARD = 8  # passages with which a question is confused
COPY = 0.6  # Jaccard index from which a passage says the same as the right one


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """A passage of the set."""

    chunk: int
    document: int
    title: str
    heading_path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedPairs:
    """Pairs that are left after screening, what was dropped by reason, and the passages of the set."""

    pairs: list[QuestionPair]
    dropped: Mapping[str, int]
    passages: Mapping[int, PassageText]


def pairs_collect(
    *, scope: Scope, knowledge_set: KnowledgeSet, origins: Sequence[str], alive: Callable[[], None]
) -> CollectedPairs:
    """Pairs of these origins, screened and balanced. `alive` is called every few seconds, and may end it by raising."""
    passages = _passages(scope, knowledge_set)
    alive()
    collector = _Collector(scope, knowledge_set, passages, alive)
    makers = {
        "golden": collector.golden,
        "vote": collector.votes,
        "citation": collector.citations,
        "question": collector.questions,
        "heading": collector.headings,
        "title": collector.titles,
    }
    found = [pair for name, make in makers.items() if name in origins for pair in make()]
    alive()
    screened = pairs_screen(found)
    lengths = {chunk: len(passage.text) for chunk, passage in passages.items()}
    asked = sum(pair.origin not in MADE for pair in screened.kept)
    balanced = pairs_balance(screened.kept, lengths, most=min(MOST_MADE, asked or MOST_MADE))
    dropped = Counter(screened.dropped) + Counter(balanced.dropped) + collector.dropped
    return CollectedPairs(pairs=balanced.kept, dropped=dict(dropped), passages=passages)


def _passages(scope: Scope, knowledge_set: KnowledgeSet) -> dict[int, PassageText]:
    documents = documents_askable(scope=scope, sets=[knowledge_set.pk]).order_by().values("live_version_id")
    rows = Chunk.objects.filter(version_id__in=documents, retired=None).order_by("pk")
    names = ("pk", "version__document_id", "version__document__title", "heading_path", "text")
    return {
        pk: PassageText(chunk=pk, document=document, title=title, heading_path=tuple(path), text=text)
        for pk, document, title, path, text in rows.values_list(*names).iterator(chunk_size=2000)
    }


class _Collector:
    """One set's pairs, origin by origin."""

    def __init__(
        self, scope: Scope, home: KnowledgeSet, passages: Mapping[int, PassageText], alive: Callable[[], None]
    ) -> None:
        self.scope, self.home, self.passages, self.alive = scope, home, passages, alive
        self.dropped: Counter[str] = Counter()
        self._plain: dict[int, str] = {}  # passage → its text, squeezed
        self.of_document: dict[int, list[PassageText]] = defaultdict(list)
        for passage in passages.values():
            self.of_document[passage.document].append(passage)

    # ── what people have asked ──────────────────────────────────────────────────────────────────

    def golden(self) -> Iterator[QuestionPair]:
        """Cases that expect documents of the set, with the passages of these that hold the answer."""
        rows = GoldenCase.objects.filter(golden_set__in=golden_sets_about(knowledge_set=self.home))
        cases = list(rows.exclude(relevant=[]).filter(expects_refusal=False).order_by("pk")[:MOST_GOLDEN])
        named = documents_by_name(scope=self.scope, names=chain.from_iterable(case.relevant for case in cases))
        for at, case in enumerate(cases):
            if at % CASES_BETWEEN == 0:
                self.alive()
            documents = {one for name in case.relevant for one in named.get(name, ()) if one in self.of_document}
            chunks = [chunk for one in documents for chunk in self._answering(case, one)]
            if chunks:
                yield self._pair(case.question, chunks, "golden")
            elif documents:
                self.dropped["no_passage"] += 1

    def _answering(self, case: GoldenCase, document: int) -> list[int]:
        """The passages of a relevant document that a quotation or an answer of the case stands in; of a short
        document all where none does.
        """
        passages = self.of_document[document]
        if len(passages) == 1:
            return [passages[0].chunk]
        for texts in (case.passages, case.answers):
            wanted = [plain for text in texts if len(plain := squeeze(text)) > 1]
            found = [one.chunk for one in passages if any(plain in self._squeezed(one) for plain in wanted)]
            if found:
                return found
        return [one.chunk for one in passages] if len(passages) <= MOST_WHOLE else []

    def _squeezed(self, passage: PassageText) -> str:
        """Its text, squeezed once for all cases of its document."""
        if passage.chunk not in self._plain:
            self._plain[passage.chunk] = squeeze(passage.text)
        return self._plain[passage.chunk]

    def votes(self) -> Iterator[QuestionPair]:
        """Questions whose answers people found helpful, with the passages that the answers point to."""
        yield from self._cited(answers_voted_for(tenant_id=self.home.tenant_id, documents=self._askable()), "vote")

    def citations(self) -> Iterator[QuestionPair]:
        """Questions with the sources that people opened."""
        yield from self._cited(answers_opened(tenant_id=self.home.tenant_id, documents=self._askable()), "citation")

    def _askable(self) -> QuerySet[Document]:
        return documents_askable(scope=self.scope, sets=[self.home.pk])

    def _cited(self, answers: Iterable[UsefulAnswer], origin: Origin) -> Iterator[QuestionPair]:
        """Their questions with those of their sources that are passages of the set."""
        for answer in answers:
            chunks = [one.chunk_id for one in answer.citations if one.chunk_id in self.passages]
            if chunks:
                yield self._pair(answer.question, chunks, origin)

    # ── what is made ────────────────────────────────────────────────────────────────────────────

    def questions(self) -> Iterator[QuestionPair]:
        """Questions that owners gave passages, and such that a language model, or rules, write for passages."""
        edits = ChunkEdit.objects.filter(document__in=list(self.of_document), kind=ChunkEdit.Kind.QUESTIONS)
        by_text = {passage.text: passage for passage in self.passages.values()}
        for edit in edits.filter(state=ChunkEdit.State.APPLIED):
            passage = by_text.get(edit.anchor_text)
            for question in edit.questions if passage is not None else ():
                yield self._pair(question, [passage.chunk], "question")  # type: ignore[union-attr]
        model = background_model(is_patient=False)
        chosen = list(self.passages.values())
        chosen = chosen[:: max(1, -(-len(chosen) // (MOST_MADE if model is None else MOST_WRITTEN)))]
        drafts = [
            ChunkDraft(ordinal=at, text=one.text, tokens=1, heading_path=one.heading_path)
            for at, one in enumerate(chosen)
        ]
        made = represent(
            drafts,
            options=QUESTIONS_ONLY,
            model=model,
            tokenizer=model_registry.tokenizer(),
            counter=model_registry.counter(),
            alive=self.alive,
        )
        for entry in made.entries:
            if entry.kind == "question":
                yield self._pair(entry.text, [chosen[entry.ordinal].chunk], "question")

    def headings(self) -> Iterator[QuestionPair]:
        """The last heading above passages, with the title before it."""
        by_heading: dict[tuple[int, str], list[int]] = defaultdict(list)
        for one in self.passages.values():
            if one.heading_path and one.heading_path[-1] != one.title:
                by_heading[one.document, one.heading_path[-1]].append(one.chunk)
        for (document, heading), chunks in by_heading.items():
            if len(chunks) <= MOST_WHOLE:
                yield self._pair(f"{self.of_document[document][0].title} {heading}", chunks, "heading")

    def titles(self) -> Iterator[QuestionPair]:
        """Titles of documents that consist of few passages."""
        for passages in self.of_document.values():
            if passages[0].title and len(passages) <= MOST_WHOLE:
                yield self._pair(passages[0].title, [one.chunk for one in passages], "title")

    def _pair(self, question: str, chunks: Sequence[int], origin: Origin) -> QuestionPair:
        right = tuple(dict.fromkeys(chunks))
        documents = tuple(dict.fromkeys(self.passages[chunk].document for chunk in right))
        text = " ".join(question.split())
        return QuestionPair(question=text, chunks=right, documents=documents, origin=origin, language=language_of(text))


# ── what retrieval says of a pair ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Confused:
    """What an own search finds for a pair's question besides its passages, best first.

    `hard`: others, which are wrong; `masked`: such that may be right as well. `is_relevant`: a right one was found.
    """

    hard: tuple[int, ...]
    masked: tuple[int, ...]
    is_relevant: bool


def pair_confused(*, scope: Scope, set_id: int, pair: QuestionPair, passages: Mapping[int, PassageText]) -> Confused:
    """Ask the set the question of a pair, with the reranker.

    Filter of false negatives: a passage that says the same as a right one, or stands beside one in its document, is not
    taught to be wrong; for a made pair, whose passage nobody has judged, neither is one that the reranker puts first.
    """
    request = RetrievalRequest(
        query=pair.question,
        sets=(set_id,),
        top_k=RELEVANT_DEPTH,
        rerank=True,
        options={"query_adapter": 0, "set_embedder": 0, "deduplicate": False, "profile": False, "use_shift": 0.0},
    )
    found = [one.chunk for one in retrieve(scope=scope, request=request).state.candidates if one.chunk in passages]
    right = set(pair.chunks)
    places = [at for at, chunk in enumerate(found) if chunk in right]
    first = places[0] if places else len(found)
    others = [(at, chunk) for at, chunk in enumerate(found) if chunk not in right]
    prints = [fingerprint(passages[chunk].text) for chunk in pair.chunks]
    is_made = pair.origin in MADE
    masked: list[int] = []
    hard: list[int] = []
    for at, chunk in others:
        text = passages[chunk].text
        is_copy = any(_likeness(one, text) >= COPY for one in prints)
        beside = passages[chunk].document in pair.documents
        (masked if (is_made and at < first) or is_copy or beside else hard).append(chunk)
    return Confused(hard=tuple(hard[:HARD]), masked=tuple(masked), is_relevant=bool(places))


def _likeness(one: Any, text: str) -> float:
    other = fingerprint(text)
    return float(similarities(one, other[None, :], np.array([size(other)]))[0])
