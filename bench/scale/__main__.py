"""`make bench-scale N="100000 300000"`: searching in large corpora, on a database of its own.

Sizes are taken in ascending order; each extends the one before. Tables go to standard output, progress to standard
error.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.__main__ import prepare

if TYPE_CHECKING:
    from bench.scale.load import Corpus
    from bench.scale.measure import Timed

COUNTED_SHARE = 0.01  # of the documents, in which terms are counted for each question
STAGES = ("lexical", "vectors", "search.coarse", "search.fine", "load.passages", "rerank", "total")


@dataclass(kw_only=True)
class Row:
    """Everything measured at one size."""

    passages: int
    documents: int
    load_seconds: float
    build_seconds: float
    unfiltered: Timed
    filtered: dict[float, Timed] = field(default_factory=dict)
    recall: float
    overlap: float | None
    counting: Sequence[float]  # milliseconds
    sizes: dict[str, int]


def main() -> None:
    parser = sizes_parser("python -m bench.scale", __doc__)
    parser.add_argument("--questions", type=int, default=100)
    arguments = parser.parse_args()
    os.environ.setdefault("INDEX_MEMORY_MB", "4096")
    with ExitStack() as stack:
        prepare(stack, kept=arguments.keep)
        cache = cache_folder(arguments.cache)
        sizes = sorted(int(size) for size in arguments.sizes.split())
        print(run(folders=arguments.folders, sizes=sizes, questions=arguments.questions, cache=cache))


def run(*, folders: Sequence[Path], sizes: Sequence[int], questions: int, cache: Path, bases: int = 0) -> str:
    """Markdown tables; needs services and Django."""
    corpus = corpus_opened(folders, cache=cache, bases=bases)
    return tables([measured(corpus, size, questions) for size in sizes])


def sizes_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """What every bench of large corpora is told."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("folders", nargs="*", type=Path, help="public retrieval sets whose sentences are used")
    parser.add_argument("--sizes", required=True, help="passages, e.g. '100000 300000'")
    parser.add_argument("--cache", type=Path, help="a folder for vectors and the exported model, kept between runs")
    parser.add_argument("--keep", type=Path, help="a folder for the database: the next run finds it loaded")
    return parser


def corpus_opened(folders: Sequence[Path], *, cache: Path, bases: int = 0, words: bool = True) -> Corpus:
    """The corpus that the database holds; needs services and Django. `bases`: real texts; 0: the usual number."""
    from bench.scale.corpus import BASES, pool_made
    from bench.scale.load import Corpus
    from knowledge import model_registry

    corpus_bootstrap()
    embedder = model_registry.embedder()
    pool = pool_made(
        folders, embedder=embedder, tokenizer=model_registry.tokenizer(), cache=cache, bases=bases or BASES
    )
    note(f"{len(pool.bases)} real texts of {len(pool.texts)} sentences are embedded")
    return Corpus.opened(pool, model=embedder.model, words=words)


def cache_folder(cache: Path | None) -> Path:
    """Where vectors are kept; the exported model, too, where the folder is kept between runs."""
    data = Path(os.environ["DATA_DIR"])
    if cache is None:
        return data / "vectors"
    (cache / "models").mkdir(parents=True, exist_ok=True)
    if not (data / "models").exists():
        (data / "models").symlink_to((cache / "models").resolve())
    return cache


def corpus_bootstrap() -> None:
    from django.core.management import call_command

    call_command("bootstrap", "--demo", "0", verbosity=0, stdout=sys.stderr)


def measured(corpus: Corpus, size: int, questions: int) -> Row:
    """Grow to a size, build the index with the product's own task, and measure."""
    from bench.scale.load import SHARES
    from bench.scale.measure import counting_ms, embedded, overlap, questions_chosen, recall, sizes, timed
    from knowledge import model_registry
    from knowledge.indexes.index_maintenance import hnsw_is_valid, tables_analyse
    from knowledge.services.maintenance import vectors_merge

    load_seconds = corpus.grow(size)
    note(f"{size} passages loaded in {load_seconds:.0f} s")
    start = time.perf_counter()
    moved = vectors_merge()
    tables_analyse()
    build_seconds = time.perf_counter() - start
    note(f"{moved} entries indexed in {build_seconds:.0f} s; the index {'is' if hnsw_is_valid() else 'is not'} there")
    asked = questions_chosen(corpus, questions)
    row = Row(
        passages=size,
        documents=corpus.documents,
        load_seconds=load_seconds,
        build_seconds=build_seconds,
        unfiltered=timed(corpus, asked),
        recall=recall(corpus, embedded(asked, model_registry.embedder())),
        overlap=overlap(corpus, asked),
        counting=counting_ms(corpus, asked, sets=(corpus.narrow[COUNTED_SHARE].pk,)),
        sizes=sizes(),
    )
    note(f"unfiltered p95 {row.unfiltered.percentile('total', 95):.0f} ms")
    for share in SHARES:
        row.filtered[share] = timed(corpus, asked[: max(questions // 2, 5)], sets=(corpus.narrow[share].pk,))
        note(f"{share:.2%}: p95 {row.filtered[share].percentile('total', 95):.0f} ms")
    return row


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def tables(rows: Sequence[Row]) -> str:
    return "\n\n".join([_stages(rows), _filters(rows), _others(rows)])


def _table(head: str, rows: Sequence[Row], lines: Sequence[tuple[str, Sequence[str]]]) -> str:
    top = f"| {head} | " + " | ".join(f"{row.passages:,}" for row in rows) + " |"
    return "\n".join([top, "|---" * (len(rows) + 1) + "|", *(f"| {name} | {' | '.join(c)} |" for name, c in lines)])


def _stages(rows: Sequence[Row]) -> str:
    lines = [
        (name, [f"{r.unfiltered.percentile(name, 50):.0f} / {r.unfiltered.percentile(name, 95):.0f}" for r in rows])
        for name in STAGES
    ]
    ways = [", ".join(f"{arm}: {way}" for arm, way in sorted(r.unfiltered.ways.items())) for r in rows]
    return _table("no filter, ms p50 / p95", rows, [*lines, ("way", ways)])


def _filters(rows: Sequence[Row]) -> str:
    lines = []
    for share in rows[0].filtered:
        cells = []
        for row in rows:
            found = row.filtered[share]
            times = f"{found.percentile('total', 50):.0f} / {found.percentile('total', 95):.0f}"
            ratio = found.percentile("total", 95) / row.unfiltered.percentile("total", 95)
            cells.append(f"{times} ({ratio:.1f} ×, {found.hits:.0f} candidates, {found.ways.get('vectors', '')})")
        lines.append((f"{share:.2%}", cells))
    return _table("filter, total ms p50 / p95", rows, lines)


def _others(rows: Sequence[Row]) -> str:
    lines = [
        ("documents", [f"{row.documents:,}" for row in rows]),
        ("recall@100 of the vectors", [f"{row.recall:.3f}" for row in rows]),
        ("top 10 as bm25s", ["–" if row.overlap is None else f"{row.overlap:.3f}" for row in rows]),
        (
            f"weights within {COUNTED_SHARE:.0%}, ms p50 / p95",
            [f"{np.percentile(row.counting, 50):.0f} / {np.percentile(row.counting, 95):.0f}" for row in rows],
        ),
        ("loading, s", [f"{row.load_seconds:.0f}" for row in rows]),
        ("building the vector index, s", [f"{row.build_seconds:.0f}" for row in rows]),
        *((name, [f"{row.sizes[name] / 1e6:,.0f} MB" for row in rows]) for name in rows[0].sizes),
    ]
    return _table("quality, times, sizes", rows, lines)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
