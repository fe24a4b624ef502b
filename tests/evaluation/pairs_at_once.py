"""Pairs of a set collected at once: by the product, and plainly, with all passages in memory, to compare with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from accounts.scope import Scope
from evaluation.models import GoldenCase
from evaluation.selectors import documents_by_name, golden_sets_about
from evaluation.services.adapter_pairs import (
    MOST_GOLDEN,
    MOST_MADE,
    MOST_WHOLE,
    MOST_WRITTEN,
    QUESTIONS_ONLY,
    CollectedPairs,
    PairCollection,
)
from evaluation.services.useful_sources import UsefulAnswer, answers_opened, answers_voted_for
from knowledge import model_registry
from knowledge.models import Chunk, ChunkEdit, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.services.model_slots import background_model
from ragcore.representations import represent
from ragcore.text.normalise import squeeze
from ragcore.text.question_pairs import MADE, Origin, QuestionPair, pairs_balance, pairs_screen
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    chunk: int
    document: int
    title: str
    heading_path: tuple[str, ...]
    text: str


def pairs_collect(*, scope: Scope, knowledge_set: KnowledgeSet, origins: Sequence[str]) -> CollectedPairs:
    """As a training does, without an end between."""
    collection = PairCollection(scope=scope, home=knowledge_set, origins=origins)
    while not collection.is_over:
        collection.advance()
    return collection.result()


def pairs_at_once(
    *, scope: Scope, knowledge_set: KnowledgeSet, origins: Sequence[str], most: int = MOST_MADE
) -> tuple[list[QuestionPair], dict[str, int]]:
    """Pairs, and what was dropped by reason. `most`: made pairs that stay."""
    passages = _passages(scope, knowledge_set)
    collector = _Collector(scope, knowledge_set, passages)
    makers = {
        "golden": collector.golden,
        "vote": collector.votes,
        "citation": collector.citations,
        "question": collector.questions,
        "heading": collector.headings,
        "title": collector.titles,
    }
    found = [pair for name, make in makers.items() if name in origins for pair in make()]
    screened = pairs_screen(found)
    lengths = {chunk: len(passage.text) for chunk, passage in passages.items()}
    asked = sum(pair.origin not in MADE for pair in screened.kept)
    balanced = pairs_balance(screened.kept, lengths, most=min(most, asked or most))
    dropped = Counter(screened.dropped) + Counter(balanced.dropped) + collector.dropped
    return balanced.kept, dict(dropped)


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

    def __init__(self, scope: Scope, home: KnowledgeSet, passages: Mapping[int, PassageText]) -> None:
        self.scope, self.home, self.passages = scope, home, passages
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
        for case in cases:
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

    def _askable(self):
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
            alive=lambda: None,
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
