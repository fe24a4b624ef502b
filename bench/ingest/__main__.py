"""`make bench-ingest`: how fast documents become searchable, part by part, against the goals.

a the embedder alone · b the whole pipeline with real workers · c storing · d reading PDFs · e the packaged embedder
beside PyTorch · f memory. With EMBEDDER=sentence_transformers:FOLDER, a and b are of that model. All on the same
generated texts, or on those of a public set (DATA). The table goes to standard output, every repetition to a JSON file.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.__main__ import prepare

if TYPE_CHECKING:
    from bench.ingest.figures import Figure
    from bench.ingest.texts import Text

PARTS = "abcdef"
WARM_UP = 32  # texts, until every worker has loaded its models


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of everything; `scaled` keeps at least what a figure needs to mean something."""

    texts: int = 300  # of each repetition of the pipeline
    compared: int = 150  # texts of part e
    rows: int = 3000
    pages: int = 100
    large_pages: int = 1000
    repeat: int = 5

    @classmethod
    def scaled(cls, factor: float, repeat: int) -> Sizes:
        full = cls()
        return cls(
            texts=max(int(full.texts * factor), 4),
            compared=max(int(full.compared * factor), 8),
            rows=max(int(full.rows * factor), 100),
            pages=max(int(full.pages * factor), 3),
            large_pages=max(int(full.large_pages * factor), 5),
            repeat=repeat,
        )

    @property
    def needed(self) -> int:
        """Texts for all repetitions, of which those with all representations are half as many, and to warm up."""
        return WARM_UP + self.texts * (self.repeat + (self.repeat + 1) // 2)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a public retrieval set instead of generated texts")
    parser.add_argument("--size", type=float, default=1.0, help="1: as documented; 0.1: a quick look")
    parser.add_argument("--repeat", type=int, default=Sizes().repeat)
    parser.add_argument("--parts", default=PARTS, help="only these, e.g. bd")
    parser.add_argument("--models", type=Path, help="a folder for the exported model, to be kept between runs")
    parser.add_argument("--out", type=Path, default=Path("bench-ingest.json"))
    arguments = parser.parse_args()
    with ExitStack() as stack:
        prepare(stack)
        if arguments.models:
            arguments.models.mkdir(parents=True, exist_ok=True)
            (Path(os.environ["DATA_DIR"]) / "models").symlink_to(arguments.models.resolve())
        sizes = Sizes.scaled(arguments.size, arguments.repeat)
        print(run(folder=arguments.folder, sizes=sizes, parts=arguments.parts, out=arguments.out))


def run(*, folder: Path | None, sizes: Sizes, parts: str, out: Path) -> str:
    """A Markdown table; needs services and Django. `folder`: a public set."""
    from django.core.management import call_command

    from bench.ingest.figures import note, table, write_json
    from bench.ingest.texts import texts_made, texts_read

    call_command("bootstrap", "--demo", "0", verbosity=0)
    texts = texts_read(folder, limit=sizes.needed) if folder else texts_made(sizes.needed)
    figures: list[Figure] = []
    steps: dict[str, Callable[[], list[Figure]]] = {
        "c": lambda: _store(sizes),
        "d": lambda: _parsing(sizes),
        "e": lambda: _comparison(texts[: sizes.compared], sizes),
        "abf": lambda: _speed(texts, sizes, parts),
    }
    for names, step in steps.items():
        if set(names) & set(parts):
            found = step()
            figures += found
            for figure in found:
                note(figure.as_row())
    figures.sort(key=lambda figure: figure.part)
    about = {"texts": folder.name if folder else "generated", "cores": os.cpu_count(), "machine": platform.processor()}
    write_json(out, figures, **about, load=os.getloadavg()[0])
    return table(figures)


def _store(sizes: Sizes) -> list[Figure]:
    from bench.ingest.store import store_figures

    return store_figures(rows=sizes.rows, repeat=sizes.repeat)


def _parsing(sizes: Sizes) -> list[Figure]:
    from bench.ingest.parsing import parsing_figures

    return parsing_figures(pages=sizes.pages, repeat=sizes.repeat)


def _comparison(texts: Sequence[Text], sizes: Sizes) -> list[Figure]:
    from django.conf import settings

    from bench.ingest.embedders import comparison_figures

    return comparison_figures(texts, models=Path(settings.DATA_DIR) / "models", repeat=sizes.repeat)


def _speed(texts: Sequence[Text], sizes: Sizes, parts: str) -> list[Figure]:
    from bench.ingest.speed import speed_figures

    return speed_figures(texts, warm_up=WARM_UP, repeat=sizes.repeat, large_pages=sizes.large_pages, parts=parts)


if __name__ == "__main__":
    main()
