"""Texts to train a whole embedding model with, and to judge it with: of the pairs of a set, and of answers in use.

A quarter of the documents is held out: no text of theirs is trained, nor a question about them. Of answers that people
found helpful there are three kinds of examples: the question with the answer, with passages that the answer points to,
and other forms of the question with these passages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from accounts.scope import Scope
from evaluation.services.adapter_passages import PassageText, SetPassages
from evaluation.services.trainings import groups_of
from evaluation.services.useful_sources import answer_texts, answers_voted_for
from evaluation.training_errors import ModelTrainingError
from knowledge.models import KnowledgeSet
from knowledge.services.representations import indexed_text
from ragcore.text.question_pairs import MADE, folds_of, question_fault
from ragcore.training.whole_model.plan import Example, HeldOut, TuneData

FOLDS = 4
LEAST_REFERENCE = 50  # characters of a passage that an answer points to
LEAST_ANSWER = 10
MOST_OF_QUESTION = 3  # passages of one question
MOST_NEGATIVES = 3
MOST_PASSAGES = 1000  # to find among
LEAST_HELD_OUT = 10
LEAST_EXAMPLES = 16
FROM_USE = ("vote", "citation")
_MARKERS = re.compile(r"\s*\[\d{1,3}\]")
_MARKDOWN = re.compile(r"[*_`#>|]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """An example with its place among all of them: people's first, then by a hash, which does not follow their age."""

    example: Example
    origin: str

    @property
    def order(self) -> tuple[bool, bytes]:
        text = f"{self.example.question}\n{self.example.passage}"
        return self.origin in MADE, sha256(text.encode("utf-8", "replace")).digest()


def tune_data(
    *, scope: Scope, home: KnowledgeSet, stored: Sequence[Mapping[str, Any]], origins: Sequence[str], most: int
) -> tuple[TuneData, dict[str, Any]]:
    """What a training reads, with counts of it. `stored`: pairs as `NegativesSearch` has them.

    Raises ModelTrainingError where too little is left to train or to judge with.
    """
    maker = _Maker(scope=scope, home=home, stored=stored)
    pairs = [*maker.examples(), *(maker.of_use() if "vote" in origins else ())]
    unique = {(pair.example.question, pair.example.passage): pair for pair in pairs}
    ordered = sorted(unique.values(), key=lambda pair: pair.order)
    chosen = ordered[:most]
    passages, held_out = maker.to_judge()
    if len(held_out) < LEAST_HELD_OUT:
        raise ModelTrainingError("documents")
    if len(chosen) < LEAST_EXAMPLES:
        raise ModelTrainingError("few", found=len(chosen), least=LEAST_EXAMPLES)
    data = TuneData(
        examples=[pair.example for pair in chosen],
        held_out=held_out,
        passages=[maker.text(passage) for passage in passages],
        documents=[passage.document for passage in passages],
    )
    figures = {
        "examples": dict(Counter(pair.origin for pair in chosen)),
        "left_out": len(ordered) - len(chosen),
        "held_out": len(held_out),
        "passages": len(passages),
    }
    return data, figures


class _Maker:
    """Examples of the pairs of a set."""

    def __init__(self, *, scope: Scope, home: KnowledgeSet, stored: Sequence[Mapping[str, Any]]) -> None:
        self.home, self.stored = home, stored
        self.passages = SetPassages(scope=scope, set_id=home.pk)
        self.groups = groups_of(document for row in stored for document in row["documents"])
        groups = [[self._group(document) for document in row["documents"]] for row in stored]
        self.touches = folds_of(groups, folds=FOLDS, seed=home.code)
        if self.touches.shape[1] < 2:
            raise ModelTrainingError("documents")
        self.held: set[Hashable] = {
            group for of_pair, touch in zip(groups, self.touches, strict=True) if touch[0] for group in of_pair
        } - {group for of_pair, touch in zip(groups, self.touches, strict=True) if not touch[0] for group in of_pair}
        chunk_ids = {chunk for row in stored for chunk in (*row["chunks"], *row["hard"][:MOST_NEGATIVES])}
        self.texts = self.passages.texts(sorted(chunk_ids))

    def _group(self, document: int) -> Hashable:
        return self.groups.get(document, document)

    def _is_held(self, document: int) -> bool:
        return self._group(document) in self.held

    def text(self, passage: PassageText) -> str:
        """As it is embedded."""
        return indexed_text(title=passage.title, heading_path=passage.heading_path, text=passage.text)

    def examples(self) -> Iterator[_Pair]:
        """Of pairs about documents that are not held out."""
        for row in self.stored:
            if any(self._is_held(document) for document in row["documents"]):
                continue
            hard = [self.texts[chunk] for chunk in row["hard"][:MOST_NEGATIVES] if chunk in self.texts]
            negatives = tuple(self.text(passage) for passage in hard if not self._is_held(passage.document))
            right = [self.texts[chunk] for chunk in row["chunks"][:MOST_OF_QUESTION] if chunk in self.texts]
            for passage in right:
                if row["origin"] in FROM_USE and len(passage.text) <= LEAST_REFERENCE:
                    continue
                example = Example(
                    question=row["question"],
                    passage=self.text(passage),
                    documents=tuple(row["documents"]),
                    negatives=negatives,
                )
                yield _Pair(example=example, origin=row["origin"])

    def of_use(self) -> Iterator[_Pair]:
        """Of answers that people found helpful: the answer itself, and other forms of the question."""
        answers = answers_voted_for(tenant_id=self.home.tenant_id, documents=self.passages.documents())
        by_message = {answer.message: answer for answer in answers}
        for message, text, forms in answer_texts(list(by_message)):
            answer = by_message[message]
            documents = tuple(dict.fromkeys(row.document_id for row in answer.citations if row.document_id is not None))
            if any(self._is_held(document) for document in documents):
                continue
            plain = " ".join(_MARKDOWN.sub("", _MARKERS.sub("", text)).split())
            if answer.is_whole and len(plain) >= LEAST_ANSWER:
                example = Example(question=answer.question, passage=plain, documents=documents)
                yield _Pair(example=example, origin="answer")
            chunks = [row.chunk_id for row in answer.citations if row.chunk_id is not None][:MOST_OF_QUESTION]
            references = [row for row in self.passages.texts(chunks).values() if len(row.text) > LEAST_REFERENCE]
            for form in forms:
                if form == answer.question or question_fault(form) not in ("", "pointing"):
                    continue
                for passage in references:
                    example = Example(question=form, passage=self.text(passage), documents=documents)
                    yield _Pair(example=example, origin="form")

    def to_judge(self) -> tuple[list[PassageText], list[HeldOut]]:
        """Passages to find among, and held-out questions: those that people have asked, where there are enough."""
        rows = [row for row in self.stored if all(self._is_held(document) for document in row["documents"])]
        typed_rows = [row for row in rows if row["origin"] not in MADE]
        rows = typed_rows if len(typed_rows) >= LEAST_HELD_OUT else rows
        right = {chunk for row in rows for chunk in row["chunks"] if chunk in self.texts}
        rest = [chunk for chunk in self.passages.every(MOST_PASSAGES) if chunk not in right]
        chosen = self.passages.texts([*sorted(right), *rest[: max(0, MOST_PASSAGES - len(right))]])
        place = {chunk: at for at, chunk in enumerate(chosen)}
        held_out = [
            HeldOut(question=row["question"], passages=places)
            for row in rows
            if (places := tuple(place[chunk] for chunk in row["chunks"] if chunk in place))
        ]
        return list(chosen.values()), held_out
