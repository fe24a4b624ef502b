"""What a training of a whole model is given and what it gives back: files of its work folder. Without torch.

plan.json       the model that it begins with, and how it is trained
data.json       examples, and what held-out questions are judged with; people's words, gone with the folder
state.pt        weights and optimiser as of some step
before.json     how the model judges before; after.json: and after
model/          what was trained, in the layout of sentence-transformers
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PLAN, DATA, STATE, BEFORE, AFTER, MODEL = "plan.json", "data.json", "state.pt", "before.json", "after.json", "model"
PACKAGED = "packaged"  # in the place of a folder: multilingual-e5-small, of which one is made
RELATED = 0.5  # cosine of two questions, less what all questions have in common, from which one's passages may answer
# the other; the model's own cosines would not do: those of unrelated texts are .7 and more in some models

SCALES = (20.0, 30.0, 50.0, 70.0, 100.0)  # of cosines in the loss; models were trained with one of about this size
SCALED_EXAMPLES = 64  # with which the scale is chosen

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSettings:
    """How a model is trained."""

    epochs: int = 3
    batch: int = 16  # examples of a step
    rate: float = 2e-5  # the highest one, at the end of the warm-up; it falls to 0 from there
    warm_up: float = 0.1  # share of the steps
    tokens: int = 256  # that are read of a text
    examples: int = 1000  # at most

    def steps(self, batches: int) -> int:
        """Steps of so many batches an epoch."""
        return self.epochs * batches


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePlan:
    """The folder that a training begins with, how texts are given to the model, and the settings.

    `folder` may be PACKAGED: it is made then.
    """

    folder: str
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    settings: TuneSettings = field(default_factory=TuneSettings)
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question, a passage that answers it, and passages that do not, the hardest first."""

    question: str
    passage: str
    documents: tuple[int, ...]  # of all passages that answer: none of them is taught to be wrong
    negatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """A question about documents that no example is about."""

    question: str
    passages: tuple[int, ...]  # places of those that answer


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneData:
    """All texts of a training. `documents`: of each passage to find among."""

    examples: Sequence[Example]
    held_out: Sequence[HeldOut]
    passages: Sequence[str]
    documents: Sequence[int]


def plan_write(folder: Path, plan: TunePlan, data: TuneData) -> None:
    """Write what the process reads; whole files or none."""
    folder.mkdir(parents=True, exist_ok=True)
    json_write(folder / DATA, asdict(data))
    json_write(folder / PLAN, asdict(plan))


def plan_read(folder: Path) -> tuple[TunePlan, TuneData]:
    """What `plan_write` has written."""
    plan, data = json_read(folder / PLAN), json_read(folder / DATA)
    settings = TuneSettings(**plan.pop("settings"))
    examples = [
        Example(**{**row, "documents": tuple(row["documents"]), "negatives": tuple(row["negatives"])})
        for row in data["examples"]
    ]
    held_out = [HeldOut(question=row["question"], passages=tuple(row["passages"])) for row in data["held_out"]]
    return TunePlan(**plan, settings=settings), TuneData(
        examples=examples, held_out=held_out, passages=data["passages"], documents=data["documents"]
    )


def json_write(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    part.replace(path)


def json_read(path: Path) -> dict[str, Any]:
    """An object that `json_write` has written."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    return content


# ── the loss ────────────────────────────────────────────────────────────────────────────────────


def fitting_scale(cosines: npt.NDArray[np.float32], related: Bools) -> float:
    """The one of SCALES with which the model as it is has the least loss (temperature scaling, Guo et al. 2017).

    `cosines`: float32[n, n] of questions and passages, right ones on the diagonal. A scale that is not that of the
    model would first of all spread its vectors apart, and cost it what it knows.
    """
    masked = np.where(related & ~np.eye(len(related), dtype=bool), -1.0, cosines.astype(np.float64))
    losses = [
        float((np.log(np.exp(scale * (masked - 1)).sum(axis=1)) - scale * (np.diagonal(masked) - 1)).mean())
        for scale in SCALES
    ]
    return SCALES[int(np.argmin(losses))]


# ── batches ─────────────────────────────────────────────────────────────────────────────────────


def conflicts(examples: Sequence[Example], questions: npt.NDArray[np.float32]) -> Bools:
    """bool[n, n]: which two examples may not stand in one batch, where each one's passage is wrong for the others.

    `questions`: float32[n, d], L2-normalised, by the model before training. Those conflict that are about the same
    document, and those whose questions are alike.
    """
    rest = questions - questions.mean(axis=0)
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-9)
    related = rest @ rest.T >= RELATED
    of_document: dict[int, list[int]] = {}
    for place, example in enumerate(examples):
        for document in example.documents:
            of_document.setdefault(document, []).append(place)
    for places in of_document.values():
        related[np.ix_(places, places)] = True
    np.fill_diagonal(related, True)
    return np.asarray(related, dtype=bool)


def batches(related: Bools, *, size: int, seed: int) -> list[list[int]]:
    """Places of examples in batches of at most `size`, in an order by the seed; no two of a batch conflict.

    The fullest that come by going through the order again and again; the last ones may be small.
    """
    pending = np.random.default_rng(seed).permutation(len(related)).tolist()
    filled: list[list[int]] = []
    while pending:
        batch: list[int] = []
        barred = np.zeros(len(related), bool)
        rest: list[int] = []
        for place in pending:
            if len(batch) < size and not barred[place]:
                batch.append(place)
                barred |= related[place]
            else:
                rest.append(place)
        filled.append(batch)
        pending = rest
    return filled


def negatives(
    examples: Sequence[Example], related: Bools, batch: Sequence[int], *, epoch: int, seed: int
) -> Iterator[str]:
    """One wrong passage for each example of a batch: a hard one, another in each epoch, else another question's.

    That other question is one that is not related to any of the batch. "" where there is none.
    """
    draw = np.random.default_rng([seed, epoch, *batch])
    free = np.flatnonzero(~related[list(batch)].any(axis=0))
    for place in batch:
        hard = examples[place].negatives
        if hard:
            yield hard[epoch % len(hard)]
        else:
            yield examples[int(draw.choice(free))].passage if len(free) else ""
