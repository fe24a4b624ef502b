"""`python -m bench.scale.vectors --sizes "100000 300000"`: the vector arm alone, in a tenth of the time of bench-scale.

Passages have their vectors and no words. At each size index maintenance makes cells as in the product; then the nearest
passages are searched with all rights and with rights to a part, by the plan and by a scan, and compared with an exact
search. `--keep` leaves the database for another run, which measures what it finds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.__main__ import prepare
from bench.scale.__main__ import cache_folder, corpus_opened, note, sizes_parser

if TYPE_CHECKING:
    from bench.scale.load import Corpus
    from knowledge.backends import ScopedVectorIndex
    from ragcore.types import Query

SHARES = (0.5, 0.1, 0.01)
EVERYTHING = 1.0
HITS = 160  # as many as a search wants


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way through the vectors at one size, with rights to a share of the passages."""

    passages: int
    share: float
    way: str
    recall: float
    milliseconds: Sequence[float]  # by the clock
    processor: Sequence[float]  # milliseconds of processor time in PostgreSQL

    def as_row(self) -> str:
        times = (np.percentile(each, [50, 95]) for each in (self.milliseconds, self.processor))
        cells = [f"{self.passages:,}", f"{self.share:.0%}", self.way, f"{self.recall:.3f}"]
        return f"| {' | '.join([*cells, *(f'{p50:.0f} / {p95:.0f}' for p50, p95 in times)])} |"


def main() -> None:
    parser = sizes_parser("python -m bench.scale.vectors", __doc__)
    parser.add_argument("--questions", type=int, default=60)
    arguments = parser.parse_args()
    os.environ.setdefault("INDEX_MEMORY_MB", "4096")
    with ExitStack() as stack:
        prepare(stack, kept=arguments.keep)
        sizes = sorted(int(size) for size in arguments.sizes.split())
        print(
            run(
                folders=arguments.folders,
                sizes=sizes,
                questions=arguments.questions,
                cache=cache_folder(arguments.cache),
            )
        )


def run(*, folders: Sequence[Path], sizes: Sequence[int], questions: int, cache: Path, bases: int = 0) -> str:
    """A Markdown table; needs services and Django."""
    from bench.scale.measure import embedded, questions_chosen
    from knowledge import model_registry

    corpus = corpus_opened(folders, cache=cache, bases=bases, words=False)
    queries = embedded(questions_chosen(corpus, questions), model_registry.embedder())
    rows = ["| passages | rights to | way | recall@100 | ms p50 / p95 | processor ms in PostgreSQL |", "|---" * 6 + "|"]
    for size in sizes:
        note(f"{size} passages loaded in {corpus.grow(size):.0f} s")
        _maintained()
        for arm in _measured(corpus, queries):
            note(arm.as_row())
            rows.append(arm.as_row())
    return "\n".join(rows)


def _maintained() -> None:
    """What index maintenance does for cells."""
    from knowledge.indexes.index_maintenance import tables_analyse
    from knowledge.models import VectorCells
    from knowledge.services.vector_cells import cells_refresh

    start = time.perf_counter()
    tables_analyse()
    cells_refresh()
    note(f"maintenance: {time.perf_counter() - start:.0f} s")
    for row in VectorCells.objects.order_by("pk"):
        note(f"cells of {row.passages} vectors: {row.measured}")


def _measured(corpus: Corpus, queries: Sequence[Query]) -> list[Arm]:
    """Every share by the plan, and everything by a scan, too."""
    from bench.scale.measure import visible_of
    from knowledge.backends import ScopedVectorIndex
    from knowledge.indexes.vector_cells import CellState
    from knowledge.models import Document

    def index(sets: tuple[int, ...]) -> ScopedVectorIndex:
        return ScopedVectorIndex(corpus.scope, visible_of(corpus, sets), corpus.model)

    arms = [_arm(corpus, index(()), queries, EVERYTHING, None)]
    scan = index(())
    found = scan._search()
    scan.search = replace(found, cells=CellState(), space=replace(found.space, is_indexed=False))
    arms.append(_arm(corpus, scan, queries, EVERYTHING, None))
    for share in SHARES:
        sets = (corpus.narrow[share].pk,)
        documents = set(Document.objects.filter(sets__in=sets).values_list("pk", flat=True))
        arms.append(_arm(corpus, index(sets), queries, share, documents))
    return arms


def _arm(
    corpus: Corpus, index: ScopedVectorIndex, queries: Sequence[Query], share: float, documents: set[int] | None
) -> Arm:
    """Each question twice, of which the second time counts."""
    from bench.scale.measure import nearest_exactly, nearest_found, share_found
    from ragcore.embedding.vectors import question_vectors

    shares, milliseconds, processor, ways = [], [], [], []
    exact = nearest_exactly(corpus, question_vectors(queries), documents=documents)
    for nearest, query in zip(exact, queries, strict=True):
        nearest_found(index, query, HITS)
        start, used = time.perf_counter(), backend_ms()
        hits = nearest_found(index, query, HITS)
        milliseconds.append(1000 * (time.perf_counter() - start))
        processor.append(backend_ms() - used)
        ways.append(str(index.said["vector_plan"]["way"]))
        shares.append(share_found(nearest, {hit.chunk for hit in hits[: len(nearest)]}))
    return Arm(
        passages=corpus.made,
        share=share,
        way=max(set(ways), key=ways.count),
        recall=float(np.mean(shares)),
        milliseconds=milliseconds,
        processor=processor,
    )


def backend_ms() -> float:
    """Processor time of this connection's PostgreSQL process; 0 where it runs on another machine."""
    from django.db import connection

    connection.ensure_connection()
    times = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(times.read_text(encoding="ascii").split()[0]) / 1e6 if times.exists() else 0.0


if __name__ == "__main__":
    main()
