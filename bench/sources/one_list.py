"""Lists or runs one source in a program of its own, so that peaks of memory can be compared.

`python -m bench.sources.one_list SOURCE bare|run` prints the shortest of TURNS in seconds, the processor time of that
turn in this program, and the peak of resident memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import django

TURNS = 2


def main() -> None:
    source_id, what = int(sys.argv[1]), sys.argv[2]
    django.setup()
    from bench.sources.measure import source_run
    from knowledge.models import Source
    from knowledge.services.sources.connectors import listed_items

    source = Source.objects.select_related("owner").get(pk=source_id)
    acts: dict[str, Callable[[], object]] = {
        "bare": lambda: sum(1 for _ in listed_items(source)),
        "run": lambda: source_run(source),
    }
    turns = []
    for _turn in range(TURNS):
        begun, used = time.perf_counter(), time.process_time()
        acts[what]()
        turns.append((time.perf_counter() - begun, time.process_time() - used))
    best, processor = min(turns)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": best, "processor_seconds": processor, "peak_bytes": peak}))


if __name__ == "__main__":
    main()
