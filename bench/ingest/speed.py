"""Parts a, b and f: the embedder alone, the pipeline beside it, the memory of the workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from bench.ingest.embedders import Embedders, embedders
from bench.ingest.figures import Figure, note
from bench.ingest.parsing import text_pdf
from bench.ingest.pipeline import (
    ALL_REPRESENTATIONS,
    Desk,
    ingestion_program,
    memory_of_pdf,
    models_loaded,
    pipeline_run,
    texts_embedded,
    wait_for_quiet,
    workers,
)
from bench.ingest.texts import Text
from bench.process_figures import processor_seconds
from ragsite.embedded.processes import Process
from ragsite.embedded.programs import INGESTION_PROCESSES

GOAL_DEFAULT, GOAL_FOLDER, GOAL_THREE, GOAL_MEMORY_GB = 0.85, 0.8, 0.6, 1.5


@dataclass
class Speeds:
    """Repetitions for one way of representing texts, each with texts of its own: copies would be compared for long."""

    name: str
    goal: float
    desk: Desk
    batches: Sequence[Sequence[Text]]  # one a repetition
    programs: Sequence[Process]  # that do the work
    alone: list[float] = field(default_factory=list)
    pipeline: list[float] = field(default_factory=list)
    documents: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)  # time of the embedder alone over that of the programs

    def measure(self, embedders: Embedders, number: int) -> None:
        """Pipeline and embedder one after the other, so that other load on the machine meets both."""
        before = processor_seconds(self.programs)
        done = pipeline_run(self.desk, self.batches[number], f"{self.name}-{number}")
        in_pipeline = processor_seconds(self.programs) - before
        wait_for_quiet()
        embedded = texts_embedded(done)
        before = processor_seconds(embedders.processes)
        self.alone.append(embedders.speed(embedded))
        self.processor.append((processor_seconds(embedders.processes) - before) / in_pipeline)
        self.pipeline.append(len(embedded) / done.seconds)
        self.documents.append(done.documents / done.seconds)
        speeds = f"alone {self.alone[-1]:.1f}, pipeline {self.pipeline[-1]:.1f} texts/s, {self.processor[-1]:.2f}"
        note(f"{self.name}: {speeds}, load of the machine {os.getloadavg()[0]:.1f}")

    def figures(self) -> list[Figure]:
        alone = f"embedder alone, {self.name}, {_alone()[0]} processes"
        ratios = [a / b for a, b in zip(self.pipeline, self.alone, strict=True)]
        over = f"pipeline over embedder alone, {self.name}"
        return [
            Figure(part="a", name=alone, unit="texts/s", values=self.alone),
            Figure(part="b", name=f"pipeline, {self.name}", unit="embedded texts/s", values=self.pipeline),
            Figure(part="b", name=f"pipeline, {self.name}", unit="documents/s", values=self.documents),
            Figure(part="b", name=over, unit="ratio", values=ratios, goal=self.goal),
            Figure(part="b", name=f"the same in processor time, {self.name}", unit="ratio", values=self.processor),
        ]


def speed_figures(texts: Sequence[Text], *, warm_up: int, repeat: int, large_pages: int, parts: str) -> list[Figure]:
    """What was asked for of a, b and f; the texts are shared out among the repetitions."""
    figures: list[Figure] = []
    desk = Desk.made("bench-default", {})
    warm, texts = texts[:warm_up], texts[warm_up:]
    with workers() as running:
        ways = _ways(desk, texts, repeat, running) if set(parts) & set("ab") else []
        pipeline_run(desk, warm, "warm")
        wait_for_quiet()
        if ways:
            _repeat(ways)
        if is_folder_model():
            loads = [float(models_loaded())]
            name = "times that the model was loaded"
            figures.append(Figure(part="b", name=name, unit="", values=loads, goal=1, less_is_better=True))
        if "f" in parts:
            figures += _memory_figures(desk, running, large_pages)
    return [figure for way in ways for figure in way.figures()] + figures


def _repeat(ways: Sequence[Speeds]) -> None:
    """All ways in turn, so that no way has the quiet hour for itself."""
    processes, environment = _alone()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedders(
            processes=processes,
            niceness=ingestion_program().niceness,
            environment=environment,
            folder=Path(folder),
        ) as alone,
    ):
        for number in range(max(len(way.batches) for way in ways)):
            for way in ways:
                if number < len(way.batches):
                    way.measure(alone, number)


def is_folder_model() -> bool:
    """Whether EMBEDDER names a model that the process of models holds."""
    return settings.EMBEDDER.startswith("sentence_transformers:")


def _alone() -> tuple[int, Mapping[str, str]]:
    """Processes of the embedder alone and their environment: as many as have the model while documents are ingested."""
    passive = {"OMP_WAIT_POLICY": "PASSIVE"}  # as the process of models has it
    return (1, passive) if is_folder_model() else (INGESTION_PROCESSES, ingestion_program().environment)


def _ways(desk: Desk, texts: Sequence[Text], repeat: int, programs: Sequence[Process]) -> list[Speeds]:
    """With all representations a text is several entries: half of the repetitions take as long."""
    three = Desk.made("bench-three", ALL_REPRESENTATIONS)
    size = len(texts) // (repeat + (repeat + 1) // 2)
    batches = [texts[start : start + size] for start in range(0, len(texts) - size + 1, size)]
    return [
        Speeds(
            "default representations",
            GOAL_FOLDER if is_folder_model() else GOAL_DEFAULT,
            desk,
            batches[:repeat],
            programs,
        ),
        Speeds("summaries, questions, captions", GOAL_THREE, three, batches[repeat:], programs),
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
