"""Labels of wrong answers: how they were given, and the list that holds them.

`labelled.tsv` has one line for each wrong answer of the product without a language model: name of the set, id of the
question there, class, sub-cause, reason in the labeller's own words. It holds no text of the sets. Every label was
given by reading the question, the passages that bear the answer, the accepted answers, the answer of the product with
its sources, and the places of the bearing passages in every ranking; before the diagnosis was run on any of them.

**Which answers are listed.** Questions are drawn at random with a seed. Listed is what an automatic comparison calls
wrong: refused though answerable; answered though the set says that nothing answers it; none of the accepted answers in
the answer (of a long accepted answer: less than SAID of its keywords). Answers that say the right thing in other words
are labelled `right` and count for nothing.

**How a label is chosen.** The questions below are asked in this order, and the first yes decides. With several bearing
passages it is asked of the one with the part that is missing. The names are those of Leung et al. 2025; where the paper
leaves the boundary open, it is drawn here.

1. `right` / `right`: a person who asked would be content with the answer.
2. `none` / `wrong reference`: the accepted answer does not answer the question, or the passage contradicts it.
3. `question` / `ambiguous question`: standing alone the question does not say what it is about (no name, or one that
   several documents share), and another document answers its words as well as the bearing passage does.
4. `knowledge_gap` / `missing document`: an answer is expected, and no passage of the corpus has it.
5. `chunking` / `overchunking`: the answer stands partly in one passage and partly in its neighbour.
   `chunking` / `context mismatch`: the passage has the answer, but what says whom or what it is about was cut off.
   `chunking` / `underchunking`: a long passage on many subjects of which the question's one is a small part.
6. `retrieval`: it is no source of the answer, and the search had not found it or had it below its ten best.
   `missed retrieval`: the passage says it in other words than the question. `low relevance`: it shares the words of the
   question, and what was found instead is not closer to it. `semantic drift`: what was found instead shares more of the
   question's words, about something else.
7. `reranking`: it is no source, though the search had it among its ten best. `low recall`: its place became too low.
   `low precision`: it was dropped as a repetition of another passage.
8. `generation`: it was among the sources.
   `abstention failure`: not answered all the same; or answered where the set says that a refusal is right.
   `fabricated content`, `parametric overreliance`: something that no source says, with and without citing one.
   `chronological inconsistency`, `numerical error`: another date or figure than the source has for the same thing.
   `contextual misalignment`: true sentences of other passages, which do not answer; nothing of the bearing one.
   `misinterpretation`: the bearing passage is quoted, and what is quoted reads as an answer but is not the right one.
   `incomplete answer`: the bearing passage is quoted on the subject of the question, and the sentence or the part of it
   that answers is missing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragcore.training.answer_sets import half_of

LIST = Path(__file__).parent / "labelled.tsv"
RIGHT = "right"
CAUSES: dict[str, frozenset[str]] = {
    RIGHT: frozenset({RIGHT}),
    "none": frozenset({"wrong reference"}),
    "question": frozenset({"ambiguous question"}),
    "knowledge_gap": frozenset({"missing document"}),
    "chunking": frozenset({"overchunking", "context mismatch", "underchunking"}),
    "retrieval": frozenset({"missed retrieval", "low relevance", "semantic drift"}),
    "reranking": frozenset({"low recall", "low precision"}),
    "generation": frozenset(
        {
            "abstention failure",
            "fabricated content",
            "parametric overreliance",
            "chronological inconsistency",
            "numerical error",
            "contextual misalignment",
            "misinterpretation",
            "incomplete answer",
        }
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One question whose answer was wrong, and why."""

    set: str
    question: str  # id in the set
    cause: str
    subcause: str
    reason: str

    @property
    def half(self) -> int:
        """0: the diagnosis may be improved by looking at it. 1: only measured. By the id alone."""
        return half_of(f"{self.set}/{self.question}")

    @property
    def is_failure(self) -> bool:
        return self.cause not in (RIGHT, "none")


def labels_read(path: Path = LIST) -> list[Label]:
    """The list in its order. Raises ValueError for a cause that the guide does not have, and for a question twice."""
    labels = list(_rows(path))
    for label in labels:
        if label.subcause not in CAUSES.get(label.cause, ()):
            raise ValueError(f"{label.set} {label.question}: no such cause: {label.cause}, {label.subcause}")
    if len({(label.set, label.question) for label in labels}) < len(labels):
        raise ValueError("a question is labelled twice")
    return labels


def _rows(path: Path) -> Iterator[Label]:
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield Label(
                set=row["set"],
                question=row["question"],
                cause=row["class"],
                subcause=row["subcause"],
                reason=row["reason"],
            )
