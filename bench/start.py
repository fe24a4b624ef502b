"""`python -m bench.start`: what a start of the product takes, with each packaged embedding model.

For each round and model: `make run` in an empty folder with the demo, until GET /health answers 200 and until every
document is searchable; the memory of all processes once they rest (sum of PSS); a second start. The last line is one
JSON object: model -> medians.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psycopg

from bench.process_figures import family_of, processor_seconds, resident_bytes
from ragsite.embedded.data_dir import Runtime
from ragsite.embedded.processes import free_port, wait_until
from ragsite.embedded.supervisor import is_healthy

MODELS = {"embedded_e5": "", "embedded": "embedded"}  # -> EMBEDDER of a new site that begins with it
LONGEST_SECONDS = 600
REST_SECONDS = 90  # after the last document: what is not needed any more has ended
UNREAD = "SELECT count(*) FROM knowledge_document WHERE live_version_id IS NULL AND deleted IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Seconds since the command, and the memory of all processes."""

    ready: float
    searchable: float
    processor: float  # seconds of all processes until then
    gigabytes: float
    later: float  # the second start until it is ready


def main() -> None:
    """Measure in turn, so that what else the machine does meets both models."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.start", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    given = parser.parse_args()
    starts: dict[str, list[Start]] = {name: [] for name in given.models}
    for _round in range(given.rounds):
        for name in given.models:
            starts[name].append(_measured(MODELS[name]))
            print(name, asdict(starts[name][-1]), flush=True)
    print(json.dumps({name: _medians(found) for name, found in starts.items()}))


def _medians(starts: list[Start]) -> dict[str, float]:
    rows = [asdict(start) for start in starts]
    return {name: round(median(row[name] for row in rows), 2) for name in rows[0]}


def _measured(embedder: str) -> Start:
    with tempfile.TemporaryDirectory(prefix="ragsite-start-", ignore_cleanup_errors=True) as folder:
        data_dir = Path(folder) / "data"
        with _product(data_dir, embedder) as (product, url, seconds):
            ready = _reached(lambda: is_healthy(url), seconds)
            searchable = _reached(lambda: _is_searchable(data_dir), seconds)
            processor = round(processor_seconds([product]), 1)
            time.sleep(REST_SECONDS)
            memory = sum(resident_bytes(each) for each in family_of([product.pid]))
        with _product(data_dir, embedder) as (_again, url, seconds):
            later = _reached(lambda: is_healthy(url), seconds)
    return Start(ready=ready, searchable=searchable, processor=processor, gigabytes=memory / 1e9, later=later)


@contextmanager
def _product(data_dir: Path, embedder: str) -> Iterator[tuple[subprocess.Popen[bytes], str, Callable[[], float]]]:
    """Its process, its address, and the seconds since its start. Ends it as Ctrl-C does."""
    port = free_port()
    environment = {**os.environ, "DATA_DIR": str(data_dir), "PORT": str(port), "DEMO": "1", "EMBEDDER": embedder}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "ragsite.embedded"], env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process, f"http://127.0.0.1:{port}/", lambda: time.perf_counter() - begin
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _reached(is_there: Callable[[], bool], seconds: Callable[[], float]) -> float:
    if not wait_until(is_there, seconds=LONGEST_SECONDS):
        raise SystemExit(f"not reached within {LONGEST_SECONDS} s")
    return round(seconds(), 1)


def _is_searchable(data_dir: Path) -> bool:
    with psycopg.connect(Runtime.read(data_dir).database_url or "") as connection:
        row = connection.execute(UNREAD).fetchone()
    return row is not None and row[0] == 0


if __name__ == "__main__":
    main()
