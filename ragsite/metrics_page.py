"""The page of `/metrics`: one process, or all web processes together.

Several processes keep values in files of PROMETHEUS_MULTIPROC_DIR (`prometheus_client.multiprocess`): counters and
histograms are sums, also of processes that have ended; gauges are those of living ones. What `prometheus_client` says
about memory and processor time of a process is missing there, so it is added here as sums over the living ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.db import DatabaseError, connection
from prometheus_client import REGISTRY, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from knowledge.disk_space import volumes
from knowledge.services.representation_retries import retries_counted
from ragsite.embedded.data_dir import is_running
from ragsite.env import env
from ragsite.web_server import READY_SUFFIX

logger = logging.getLogger(__name__)

COUNT_SECONDS = 2.0  # a page without this number is better than none while the database is away
_counting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metrics")

SMALLEST = "process_start_time_seconds"  # of all processes the earliest counts
SHARED_LIMIT = "process_max_fds"  # a limit of each process, no sum


def metrics_page() -> bytes:
    """In the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(RuledPassages())
    registry.register(DiskSpace())
    if env.PROMETHEUS_MULTIPROC_DIR is None:
        return generate_latest(REGISTRY) + generate_latest(registry)
    MultiProcessCollector(registry, str(env.PROMETHEUS_MULTIPROC_DIR))  # type: ignore[no-untyped-call]
    registry.register(WebProcesses(env.PROMETHEUS_MULTIPROC_DIR))
    return generate_latest(registry)


class RuledPassages(Collector):
    """Passages whose summaries or questions rules wrote because the language model did not, by reason and state.

    Counted when asked for: workers write them, which keep no metrics. Nothing where the database does not answer.
    """

    def collect(self) -> Iterator[Metric]:
        try:
            counted = _counting.submit(_count_passages).result(timeout=COUNT_SECONDS)
        except (DatabaseError, TimeoutError) as error:
            logger.warning("passages enriched by rules cannot be counted: %s", error or "the database is slow")
            return
        name = "ragsite_passages_by_rules"
        passages = Metric(name, "Passages that rules described in place of the language model", "gauge")
        for (reason, state), number in counted.items():
            passages.add_sample(name, {"reason": reason, "state": state}, number)
        yield passages


class DiskSpace(Collector):
    """Free and whole space of each file system that the product writes to, by what lies there."""

    def collect(self) -> Iterator[Metric]:
        free = Metric("ragsite_disk_free_bytes", "Free space where the product writes", "gauge")
        total = Metric("ragsite_disk_total_bytes", "Size of the file system where the product writes", "gauge")
        for volume in volumes():
            for place in volume.places:
                free.add_sample("ragsite_disk_free_bytes", {"place": place}, volume.free_bytes)
                total.add_sample("ragsite_disk_total_bytes", {"place": place}, volume.total_bytes)
        yield from (free, total)


def _count_passages() -> dict[tuple[str, str], int]:
    try:
        return retries_counted()
    finally:
        connection.close()


class WebProcesses(Collector):
    """`process_*` of all living web processes together, and their number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        pids = living_processes(self._folder)
        count = Metric("ragsite_web_processes", "Web processes that run", "gauge")
        count.add_sample("ragsite_web_processes", {}, len(pids))
        yield count
        yield from _together([_of_process(pid) for pid in pids])


def living_processes(folder: Path) -> list[int]:
    """Ids of the web processes that have been ready and run."""
    pids = (int(file.name.removesuffix(READY_SUFFIX)) for file in folder.glob(f"*{READY_SUFFIX}"))
    return sorted(pid for pid in pids if is_running(pid))


def _of_process(pid: int) -> list[Metric]:
    return list(ProcessCollector(pid=lambda: pid, registry=None).collect())


def _together(processes: Sequence[Sequence[Metric]]) -> Iterator[Metric]:
    """Metrics of several processes as one each; nothing where the system has no /proc."""
    for metrics in zip(*processes, strict=False):
        values = [sample.value for metric in metrics for sample in metric.samples]
        first = metrics[0]
        name = first.samples[0].name
        combine = {SMALLEST: min, SHARED_LIMIT: max}.get(name, sum)
        together = Metric(first.name, first.documentation, first.type)
        together.add_sample(name, {}, combine(values))
        yield together
