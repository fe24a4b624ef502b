"""`python -m bench.scale.cells --sizes "100000 300000" --cache DIR`: what cells hold and compare, from vectors alone.

No database and no clock: passages as `make bench-scale` makes them are divided into cells, the reach is measured with
every other question, and the rest of the questions says what searches with it hold of the hundred nearest by an exact
search, and how much they compare. So the load of the machine does not matter. DIR keeps vectors and the exported model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.scale.corpus import SEED, Draft, Pool, draft_made, pool_made, vectors_made
from ragcore.embedding.cells import (
    PER_CELL,
    WIDER,
    Cells,
    CellTally,
    Divider,
    Nearest,
    cell_count,
    cells_fit,
    normalised,
    reach_measured,
)
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.ports import FloatArray

BATCH = 20_000
RECALL_AT = 100
WANTED_HITS = 160  # of a search: its worst hit says how far it looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One size."""

    passages: int
    cells: int
    seconds: float  # of processor time, to make cells and to divide everything
    reach: float
    recall: np.ndarray  # by question
    compared: np.ndarray  # share of the vectors, by question

    def as_row(self) -> str:
        compared = f"{np.mean(self.compared):.1%}, {np.percentile(self.compared, 95):.1%}"
        recall = f"{np.mean(self.recall):.3f}, {np.percentile(self.recall, 5):.3f}"
        return f"| {self.passages:,} | {self.cells:,} | {self.seconds:.0f} | {self.reach} | {recall} | {compared} |"


class NoWords:
    """Words are not asked for here."""

    def terms(self, text: str) -> list[str]:
        del text
        return []

    def words(self, text: str) -> list[str]:
        del text
        return []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale.cells", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="public retrieval sets whose sentences are used")
    parser.add_argument("--sizes", required=True, help="passages, e.g. '100000 300000'")
    parser.add_argument("--questions", type=int, default=160)
    parser.add_argument("--cache", type=Path, required=True, help="a folder for vectors and the exported model")
    arguments = parser.parse_args()
    (arguments.cache / "models").mkdir(parents=True, exist_ok=True)
    embedder = EmbeddedEmbedder(arguments.cache / "models")
    pool = pool_made(arguments.folders, embedder=embedder, tokenizer=NoWords(), cache=arguments.cache)
    places = np.random.default_rng(3).choice(len(pool.questions), arguments.questions, replace=False)
    questions = embedder.embed_queries([pool.questions[place] for place in places])
    print("| passages | cells | s to make | reach | recall@100: mean, worst 5 % | compared: mean, 95 % |")
    print("|---" * 6 + "|")
    for size in sorted(int(size) for size in arguments.sizes.split()):
        print(figures_of(list(batches(pool, size)), questions).as_row(), flush=True)


def batches(pool: Pool, passages: int) -> Iterator[np.ndarray]:
    """float16[n, 768] of so many passages."""
    for first in range(0, passages, BATCH):
        drafts: list[Draft] = [
            draft_made(pool, number, words=False) for number in range(first, min(first + BATCH, passages))
        ]
        yield vectors_made(pool, drafts, first=first).astype(np.float16)


def figures_of(stored: Sequence[np.ndarray], questions: FloatArray) -> Figures:
    """Divide the vectors, measure the reach with every other question, and look with it for the rest."""
    total = sum(len(part) for part in stored)
    start = time.process_time()
    divider, tally = _made(stored, total)
    seconds = time.process_time() - start
    nearest = Nearest.of(len(questions), limit=min(WIDER * RECALL_AT, total))
    for part in stored:
        vectors = normalised(part.astype(np.float32))
        start = time.process_time()
        numbers = divider.cells(vectors)
        seconds += time.process_time() - start
        tally.add(vectors, numbers)
        nearest.add(questions @ vectors.T, numbers)
    cells = tally.cells()
    measured = Nearest(nearest.limit, nearest.scores[1::2], nearest.cells[1::2])
    asked = Nearest(nearest.limit, nearest.scores[::2], nearest.cells[::2])
    reach = reach_measured(cells, questions[1::2], measured, depth=RECALL_AT).reach
    recall, compared = _looked(cells, questions[::2], asked, reach)
    return Figures(
        passages=total, cells=len(cells), seconds=seconds, reach=reach, recall=recall, compared=compared / total
    )


def _made(stored: Sequence[np.ndarray], total: int) -> tuple[Divider, CellTally]:
    """The cells of a sample, as index maintenance makes them."""
    count = cell_count(total)
    places = np.sort(np.random.default_rng(SEED).choice(total, min(total, PER_CELL * count), replace=False))
    sample = normalised(np.concatenate(stored)[places].astype(np.float32))
    centres, projection = cells_fit(sample, count=count)
    return Divider.of(centres, projection), CellTally.of(centres)


def _looked(cells: Cells, questions: FloatArray, nearest: Nearest, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """For each question the share of its hundred nearest in the cells looked into, and the vectors in these."""
    needed = cells.bounds(questions, reach=reach) >= nearest.worst(WANTED_HITS)[:, None]
    held = np.take_along_axis(needed, nearest.cells[:, :RECALL_AT], axis=1).mean(axis=1)
    return held, needed @ cells.sizes


if __name__ == "__main__":
    main()
