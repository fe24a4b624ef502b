"""Pairs to train a set's query adapter with: from golden cases, votes, opened sources, and made of passages.

All of them are read with the rights of who started the training, and only passages of the set that this person may
search count. What people have asked weighs more than what was made: made pairs are screened harder, and are no more
than people's where these are many.

They are collected a step at a time; what there is after a step can be stored, and another process goes on from there.
A set may have millions of passages: these are read a few at a time (`adapter_passages`), and of made pairs, of which
MOST_MADE stay, those MOST_CANDIDATES with the lowest hashes of their questions are kept, a sample that does not depend
on the order. What must be compared with everything is compared within that.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import heappush, heappushpop
from itertools import chain
from typing import Any, get_args

from accounts.scope import Scope
from evaluation.models import GoldenCase
from evaluation.selectors import documents_by_name, golden_sets_about
from evaluation.services.adapter_passages import SetPassages
from evaluation.services.useful_sources import UsefulAnswer, answers_opened, answers_voted_for
from knowledge import model_registry
from knowledge.models import ChunkEdit, KnowledgeSet
from knowledge.selectors.training_vectors import summaries_after
from knowledge.services.model_slots import background_model
from ragcore.options import RepresentationOptions
from ragcore.representations import GIVE_UP_AFTER, represent
from ragcore.text.normalise import squeeze
from ragcore.text.question_pairs import MADE, Origin, QuestionPair, pairs_balance, pairs_screen
from ragcore.text.scripts import language_of
from ragcore.types import ChunkDraft

ORIGINS: tuple[Origin, ...] = get_args(Origin)
PHASES = {  # origin → the phases in which its pairs are collected, in this order
    "golden": ("golden",),
    "vote": ("vote",),
    "citation": ("citation",),
    "question": ("edits", "written"),
    "summary": ("summary",),
    "heading": ("heading",),
    "title": ("title",),
}
MOST_GOLDEN = 20_000
CASES_AT_ONCE = 100
EDITS_AT_ONCE = 200
SUMMARIES_AT_ONCE = 500
WRITTEN_AT_ONCE = 12  # passages
MOST_MADE = 2_000
MOST_WRITTEN = 300  # passages for which a language model writes questions
MOST_CANDIDATES = 10_000  # made pairs that are screened
MOST_WHOLE = 3  # passages of a document that all count where nothing says which one answers
QUESTIONS_ONLY = RepresentationOptions(tables=False, summaries=False, questions=True)

Key = tuple[float, ...]  # the place of a made pair among all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedPairs:
    """Pairs that are left after screening, and what was dropped by reason."""

    pairs: list[QuestionPair]
    dropped: dict[str, int]


@dataclass(slots=True)
class PairSample:
    """The pairs with the lowest hashes of all that were offered, at most `most` (bottom-k sampling)."""

    most: int
    offered: int = 0
    _heap: list[tuple[int, Key, QuestionPair]] = field(default_factory=list)

    def add(self, key: Key, pair: QuestionPair) -> None:
        """Offer a pair; keys are all different."""
        self.offered += 1
        item = (-_hash(pair), key, pair)
        if len(self._heap) < self.most:
            heappush(self._heap, item)
        else:
            heappushpop(self._heap, item)

    def pairs(self) -> list[QuestionPair]:
        """By their keys."""
        return [pair for _key, pair in self.items()]

    def items(self) -> list[tuple[Key, QuestionPair]]:
        """With their keys, by these."""
        return sorted(((key, pair) for _hash, key, pair in self._heap), key=lambda item: item[0])

    @property
    def left_out(self) -> int:
        """How many were offered and not kept."""
        return self.offered - len(self._heap)


@dataclass(slots=True)
class _State:
    """What is stored between two steps. `place`: within the phase, of which `phases` has the present one first."""

    phases: list[str]
    place: int = 0
    cases: int = 0  # golden ones that were read
    asked: list[QuestionPair] = field(default_factory=list)
    made: PairSample = field(default_factory=lambda: PairSample(MOST_CANDIDATES))
    dropped: Counter[str] = field(default_factory=Counter)
    chosen: list[int] | None = None  # passages for which questions are written
    by_model: bool = False


class PairCollection:
    """The pairs of a set as far as they are collected."""

    def __init__(
        self, *, scope: Scope, home: KnowledgeSet, origins: Sequence[str] = (), stored: bytes | None = None
    ) -> None:
        self.scope, self.home = scope, home
        self.passages = SetPassages(scope=scope, set_id=home.pk)
        self._state = (
            _State([phase for name, phases in PHASES.items() if name in origins for phase in phases])
            if stored is None
            else _unpacked(stored)
        )

    @property
    def is_over(self) -> bool:
        """Whether all pairs are collected."""
        return not self._state.phases

    @property
    def found(self) -> int:
        """Pairs so far, before screening."""
        return len(self._state.asked) + self._state.made.offered

    def packed(self) -> bytes:
        """What another process goes on with, as `stored`."""
        return _packed(self._state)

    def advance(self) -> None:
        """One step: some cases, documents or passages."""
        steps: dict[str, Callable[[], int | None]] = {
            "golden": self._golden,
            "vote": self._votes,
            "citation": self._citations,
            "edits": self._edits,
            "written": self._written,
            "summary": self._summaries,
            "heading": self._headings,
            "title": self._titles,
        }
        place = steps[self._state.phases[0]]()
        if place is None:
            self._state.phases.pop(0)
        self._state.place = place or 0

    def result(self) -> CollectedPairs:
        """All pairs, screened and balanced."""
        state = self._state
        screened = pairs_screen([*state.asked, *state.made.pairs()])
        typed_pairs = sum(pair.origin not in MADE for pair in screened.kept)
        lengths = self.passages.lengths(pair.chunks[0] for pair in screened.kept if pair.origin in MADE)
        balanced = pairs_balance(screened.kept, lengths, most=min(MOST_MADE, typed_pairs or MOST_MADE))
        dropped = Counter(screened.dropped) + Counter(balanced.dropped) + state.dropped
        if state.made.left_out:
            dropped["balance"] += state.made.left_out
        return CollectedPairs(pairs=balanced.kept, dropped=dict(dropped))

    # ── what people have asked ──────────────────────────────────────────────────────────────────

    def _golden(self) -> int | None:
        """Cases that expect documents of the set, with the passages of these that hold the answer."""
        state = self._state
        rows = GoldenCase.objects.filter(golden_set__in=golden_sets_about(knowledge_set=self.home))
        rows = rows.exclude(relevant=[]).filter(expects_refusal=False, pk__gt=state.place).order_by("pk")
        cases = list(rows[: min(CASES_AT_ONCE, MOST_GOLDEN - state.cases)])
        documents_of_names = documents_by_name(
            scope=self.scope, names=chain.from_iterable(case.relevant for case in cases)
        )
        with_passages = self.passages.with_passages(chain.from_iterable(documents_of_names.values()))
        for case in cases:
            documents = {
                document_id
                for name in case.relevant
                for document_id in documents_of_names.get(name, ())
                if document_id in with_passages
            }
            right = {chunk: document_id for document_id in documents for chunk in self._answering(case, document_id)}
            if right:
                state.asked.append(_pair(case.question, right, "golden"))
            elif documents:
                state.dropped["no_passage"] += 1
        state.cases += len(cases)
        return cases[-1].pk if cases else None

    def _answering(self, case: GoldenCase, document: int) -> list[int]:
        """The passages of a relevant document that a quotation or an answer of the case stands in; of a short
        document all where none does.
        """
        passages = self.passages.squeezed(document)
        if len(passages) == 1:
            return [passages[0][0]]
        for texts in (case.passages, case.answers):
            answer_texts = [plain for text in texts if len(plain := squeeze(text)) > 1]
            answering_chunks = [
                chunk for chunk, passage_text in passages if any(plain in passage_text for plain in answer_texts)
            ]
            if answering_chunks:
                return answering_chunks
        return [chunk for chunk, _said in passages] if len(passages) <= MOST_WHOLE else []

    def _votes(self) -> None:
        """Questions whose answers people found helpful, with the passages that the answers point to."""
        conditions: dict[str, Any] = {"tenant_id": self.home.tenant_id, "documents": self.passages.documents()}
        self._cited(answers_voted_for(**conditions), "vote")

    def _citations(self) -> None:
        """Questions with the sources that people opened."""
        conditions: dict[str, Any] = {"tenant_id": self.home.tenant_id, "documents": self.passages.documents()}
        self._cited(answers_opened(**conditions), "citation")

    def _cited(self, answers: Iterable[UsefulAnswer], origin: Origin) -> None:
        """Their questions with those of their sources that are passages of the set; all at once, they are not many."""
        questions = [(answer.question, [citation.chunk_id for citation in answer.citations]) for answer in answers]
        document_by_chunk = self.passages.document_of(chain.from_iterable(chunks for _question, chunks in questions))
        for question, chunks in questions:
            if right := {chunk: document_by_chunk[chunk] for chunk in chunks if chunk in document_by_chunk}:
                self._state.asked.append(_pair(question, right, origin))

    # ── what is made ────────────────────────────────────────────────────────────────────────────

    def _edits(self) -> int | None:
        """Questions that owners gave passages."""
        documents = self.passages.documents().order_by().values("pk")
        rows = ChunkEdit.objects.filter(document__in=documents, kind=ChunkEdit.Kind.QUESTIONS)
        rows = rows.filter(state=ChunkEdit.State.APPLIED, pk__gt=self._state.place).order_by("pk")
        edits = list(rows[:EDITS_AT_ONCE])
        with_passages = self.passages.with_passages(edit.document_id for edit in edits)
        passage_of = self.passages.by_text({edit.anchor_text for edit in edits if edit.document_id in with_passages})
        for edit in edits:
            if edit.document_id not in with_passages or edit.anchor_text not in passage_of:
                continue
            chunk, document = passage_of[edit.anchor_text]
            for at, question in enumerate(edit.questions):
                key = (0, 0, -edit.updated.timestamp(), -edit.pk, at)  # the latest first
                self._state.made.add(key, _pair(question, {chunk: document}, "question"))
        return edits[-1].pk if edits else None

    def _written(self) -> int | None:
        """Such that a language model, or rules, write for passages."""
        state, model = self._state, background_model(is_patient=False)
        if state.chosen is None:
            state.by_model = model is not None
            state.chosen = self.passages.every(MOST_WRITTEN if state.by_model else MOST_MADE)
        some = state.chosen[state.place : state.place + WRITTEN_AT_ONCE]
        text_by_chunk = self.passages.texts(some)
        chosen = [text_by_chunk[chunk] for chunk in some if chunk in text_by_chunk]
        drafts = [
            ChunkDraft(ordinal=at, text=passage.text, tokens=1, heading_path=passage.heading_path)
            for at, passage in enumerate(chosen)
        ]
        representation = represent(
            drafts,
            options=QUESTIONS_ONLY,
            model=model if state.by_model else None,
            tokenizer=model_registry.tokenizer(),
            counter=model_registry.counter(),
            alive=lambda: None,
        )
        state.by_model = state.by_model and representation.counts.get("model.unavailable", 0) < GIVE_UP_AFTER
        for at, entry in enumerate(representation.entries):
            if entry.kind == "question":
                passage = chosen[entry.ordinal]
                self._state.made.add(
                    (0, 1, state.place, at), _pair(entry.text, {passage.chunk: passage.document}, "question")
                )
        after = state.place + len(some)
        return after if after < len(state.chosen) else None

    def _summaries(self) -> int | None:
        """What the index says of a passage in short, for the passage."""
        whose: dict[str, Any] = {"scope": self.scope, "set_id": self.home.pk}
        rows = summaries_after(self._state.place, **whose, most=SUMMARIES_AT_ONCE)
        for entry, chunk, document, text in rows:
            self._state.made.add((3, entry), _pair(text, {chunk: document}, "summary"))
        return rows[-1][0] if rows else None

    def _headings(self) -> int | None:
        """The last heading above passages, with the title before it."""
        documents, last = self.passages.headings_after(self._state.place)
        for document, passages in documents.items():
            by_heading: dict[str, dict[int, int]] = defaultdict(dict)
            for passage in passages:
                if passage.heading_path and passage.heading_path[-1] != passage.title:
                    by_heading[passage.heading_path[-1]][passage.chunk] = document
            for heading, right in by_heading.items():
                if len(right) <= MOST_WHOLE:
                    pair = _pair(f"{passages[0].title} {heading}", right, "heading")
                    self._state.made.add((1, pair.chunks[0]), pair)
        return last

    def _titles(self) -> int | None:
        """Titles of documents that consist of few passages."""
        documents, last = self.passages.headings_after(self._state.place)
        for document, passages in documents.items():
            if passages[0].title and len(passages) <= MOST_WHOLE:
                pair = _pair(passages[0].title, {passage.chunk: document for passage in passages}, "title")
                self._state.made.add((2, pair.chunks[0]), pair)
        return last


def _pair(question: str, right: dict[int, int], origin: Origin) -> QuestionPair:
    """`right`: chunk → document of the passages that answer."""
    text = " ".join(question.split())
    documents = tuple(dict.fromkeys(right.values()))
    return QuestionPair(
        question=text, chunks=tuple(right), documents=documents, origin=origin, language=language_of(text)
    )


def _hash(pair: QuestionPair) -> int:
    return int.from_bytes(sha256(pair.question.encode("utf-8", "replace")).digest()[:8])


# ── as it is stored ─────────────────────────────────────────────────────────────────────────────


def _packed(state: _State) -> bytes:
    packed_sample = {
        "phases": state.phases,
        "place": state.place,
        "cases": state.cases,
        "asked": [pair_values(pair) for pair in state.asked],
        "made": [[key, pair_values(pair)] for key, pair in state.made.items()],
        "offered": state.made.offered,
        "dropped": dict(state.dropped),
        "chosen": state.chosen,
        "by_model": state.by_model,
    }
    return zlib.compress(json.dumps(packed_sample, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def _unpacked(stored: bytes) -> _State:
    content = json.loads(zlib.decompress(stored).decode("utf-8", "surrogatepass"))
    sample = PairSample(MOST_CANDIDATES)
    for key, values in content["made"]:
        sample.add(tuple(key), pair_of(values))
    sample.offered = content["offered"]
    return _State(
        phases=content["phases"],
        place=content["place"],
        cases=content["cases"],
        asked=[pair_of(values) for values in content["asked"]],
        made=sample,
        dropped=Counter(content["dropped"]),
        chosen=content["chosen"],
        by_model=content["by_model"],
    )


def pair_values(pair: QuestionPair) -> dict[str, Any]:
    """A pair as plain values."""
    return {
        "question": pair.question,
        "chunks": list(pair.chunks),
        "documents": list(pair.documents),
        "origin": pair.origin,
        "language": pair.language,
    }


def pair_of(values: dict[str, Any]) -> QuestionPair:
    """The pair of `pair_values`; what else the values have is left out."""
    return QuestionPair(
        question=values["question"],
        chunks=tuple(values["chunks"]),
        documents=tuple(values["documents"]),
        origin=values["origin"],
        language=values["language"],
    )
