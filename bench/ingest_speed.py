"""Parts a, b and f: the embedder alone, the pipeline beside it, the memory of the workers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.embedder import alone
from bench.ingest_figures import Figure
from bench.ingest_parsing import text_pdf
from bench.ingest_pipeline import (
    ALL_REPRESENTATIONS,
    Desk,
    memory_of_pdf,
    pipeline_run,
    texts_embedded,
    worker_niceness,
    workers,
)
from bench.ingest_texts import Text

GOAL_DEFAULT, GOAL_THREE, GOAL_MEMORY_GB = 0.85, 0.6, 1.5
WARM_UP = 32  # texts, until every worker has loaded its models
PROCESSES = 2  # that embed, as in production


@dataclass
class Speeds:
    """Repetitions for one way of representing texts."""

    name: str
    goal: float
    desk: Desk
    embedded: Sequence[str]  # what the pipeline hands to the embedder
    alone_one: list[float] = field(default_factory=list)
    alone_all: list[float] = field(default_factory=list)
    pipeline: list[float] = field(default_factory=list)
    documents: list[float] = field(default_factory=list)

    def repeat(self, texts: Sequence[Text], number: int, folder: Path) -> None:
        """Embedder and pipeline one after the other, so that other load on the machine meets both."""
        niceness = worker_niceness()
        self.alone_one.append(alone(self.embedded, processes=1, niceness=niceness, folder=folder))
        self.alone_all.append(alone(self.embedded, processes=PROCESSES, niceness=niceness, folder=folder))
        done = pipeline_run(self.desk, texts, f"{self.name}-{number}")
        self.pipeline.append(len(self.embedded) / done.seconds)
        self.documents.append(done.documents / done.seconds)

    def figures(self) -> list[Figure]:
        best = [max(pair) for pair in zip(self.alone_one, self.alone_all, strict=True)]
        return [
            Figure(part="a", name=f"embedder alone, {self.name}, one process", unit="texts/s", values=self.alone_one),
            Figure(
                part="a",
                name=f"embedder alone, {self.name}, {PROCESSES} processes",
                unit="texts/s",
                values=self.alone_all,
            ),
            Figure(part="b", name=f"pipeline, {self.name}", unit="embedded texts/s", values=self.pipeline),
            Figure(part="b", name=f"pipeline, {self.name}", unit="documents/s", values=self.documents),
            Figure(
                part="b",
                name=f"pipeline over embedder alone (the faster one), {self.name}",
                unit="ratio",
                values=[a / b for a, b in zip(self.pipeline, best, strict=True)],
                goal=self.goal,
            ),
        ]


def speed_figures(texts: Sequence[Text], *, repeat: int, large_pages: int, parts: str) -> list[Figure]:
    """What was asked for of a, b and f."""
    figures: list[Figure] = []
    desk = Desk.made("bench-default", {})
    with tempfile.TemporaryDirectory() as folder:
        ways = _ways(desk, texts) if set(parts) & set("ab") else []
        with workers() as running:
            pipeline_run(desk, texts[:WARM_UP], "warm")
            for number in range(repeat):
                for way in ways:
                    way.repeat(texts, number, Path(folder))
            if "f" in parts:
                figures += _memory_figures(desk, running, large_pages)
    return [figure for way in ways for figure in way.figures()] + figures


def _ways(desk: Desk, texts: Sequence[Text]) -> list[Speeds]:
    three = Desk.made("bench-three", ALL_REPRESENTATIONS)
    return [
        Speeds("default representations", GOAL_DEFAULT, desk, texts_embedded(desk, texts, "seen-default")),
        Speeds("summaries, questions, captions", GOAL_THREE, three, texts_embedded(three, texts, "seen-three")),
    ]


def _memory_figures(desk: Desk, running: Sequence, pages: int) -> list[Figure]:
    """The whole family of worker processes counts, with shared memory counted once."""
    peak, seconds = memory_of_pdf(desk, text_pdf(pages, seed=5), running)
    return [
        Figure(
            part="f",
            name=f"peak memory of all workers, PDF of {pages} pages",
            unit="GB",
            values=[peak / 1e9],
            goal=GOAL_MEMORY_GB,
            less_is_better=True,
        ),
        Figure(part="f", name=f"PDF of {pages} pages until searchable", unit="s", values=[seconds]),
    ]
