"""`make bench-churn N=20000`: ten rounds in which a fifth of the documents goes and as many come, with a reader beside
it.

After each round the vectors found are compared with those of an index that was built from nothing, and while the
indexes are built anew a reader notes the longest time that a search took.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.__main__ import prepare
from bench.scale.__main__ import cache_folder, corpus_opened, note

if TYPE_CHECKING:
    from bench.scale.load import Corpus
    from ragcore.types import Query

ROUNDS = 10
SHARE = 0.2
QUESTIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: recall of the searches as they are, of those with a fresh index, and how long a reader waited."""

    number: int
    recall: float
    fresh: float
    longest_ms: float
    searches: int
    drift: int

    def as_row(self) -> str:
        kept = self.recall / self.fresh if self.fresh else 1.0
        cells = [str(self.number), f"{self.recall:.3f}", f"{self.fresh:.3f}", f"{kept:.3f}"]
        return f"| {' | '.join([*cells, f'{self.longest_ms:.0f}', str(self.searches), str(self.drift)])} |"


@dataclass
class Reader:
    """Searches in a thread of its own until it is told to stop."""

    corpus: Corpus
    questions: Sequence[str]
    milliseconds: list[float] = field(default_factory=list)
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Reader:
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join(60)
        if self.error is not None:
            raise self.error

    def _read(self) -> None:
        from django.db import connections

        from knowledge.services import retrieve
        from knowledge.types import RetrievalRequest

        number = 0
        try:
            while not self.over.is_set():
                start = time.perf_counter()
                question = self.questions[number % len(self.questions)]
                retrieve(scope=self.corpus.scope, request=RetrievalRequest(query=question))
                self.milliseconds.append(1000 * (time.perf_counter() - start))
                number += 1
        except Exception as error:  # noqa: BLE001 - raised where the reader is waited for
            self.error = error
        finally:
            connections.close_all()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale.churn", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="public retrieval sets whose sentences are used")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cache", type=Path, help="a folder for vectors and the exported model, kept between runs")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        prepare(stack)
        cache = cache_folder(arguments.cache)
        print(run(folders=arguments.folders, size=arguments.size, rounds=arguments.rounds, cache=cache))


def run(*, folders: Sequence[Path], size: int, rounds: int, cache: Path, bases: int = 0) -> str:
    """A Markdown table with a row a round; needs services and Django."""
    from bench.scale.measure import embedded, questions_chosen
    from knowledge import model_registry
    from knowledge.indexes import search_space
    from knowledge.services import maintenance

    corpus = corpus_opened(folders, cache=cache, bases=bases)
    maintenance.MERGE_FROM, maintenance.BULK_FROM = (
        size // 4,
        size // 2,
    )  # large for its size, and fed row by row afterwards
    search_space.NEAR_START = -1e9  # what is measured is the index, whatever an exact scan would cost
    note(f"{size} passages loaded in {corpus.grow(size):.0f} s")
    maintenance.vectors_merge()
    questions = questions_chosen(corpus, QUESTIONS)
    queries = embedded(questions, model_registry.embedder())
    rows = [_round(corpus, number, questions, queries) for number in range(1, rounds + 1)]
    head = "| round | recall@100 | of a fresh index | ratio | longest search, ms | searches | differences |"
    return "\n".join([head, "|---" * 7 + "|", *(row.as_row() for row in rows)])


def _round(corpus: Corpus, number: int, questions: Sequence[str], queries: Sequence[Query]) -> Round:
    """Delete and load a fifth, feed the index row by row, measure; then build it anew and measure again."""
    from bench.scale.measure import recall
    from knowledge.indexes.index_maintenance import entries_purge
    from knowledge.services.maintenance import index_check, indexes_rebuild, vectors_merge

    corpus.replace(SHARE)
    with Reader(corpus, questions) as reader:
        entries_purge(age_seconds=0, limit=1_000_000)
        while vectors_merge():
            pass
        worn = recall(corpus, queries)
        for _ in indexes_rebuild():
            pass
    done = Round(
        number=number,
        recall=worn,
        fresh=recall(corpus, queries),
        longest_ms=max(reader.milliseconds, default=0.0),
        searches=len(reader.milliseconds),
        drift=len(index_check()),
    )
    note(done.as_row())
    return done


if __name__ == "__main__":
    main()
