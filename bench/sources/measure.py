"""Runs over places whose items are known already."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import tenant_ensure_default
from knowledge.connectors import Item
from knowledge.models import Document, DocumentVersion, Source
from knowledge.services.sources import run_open, source_create
from knowledge.services.sources.connectors import listed_items
from work.models import Job
from work.runner import slice_run

ROWS_AT_ONCE = 2000
A_FOLDER = 1000  # files of each


def list_figures(source: Source, *, number: int, hashes: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A list of items that are all as they were: the bare list and a run, each in a program of its own.

    `hashes`: of the contents by id, where the source has contents.
    """
    documents_write(source, hashes or {})
    bare, run = one_list(source, "bare"), one_list(source, "run")
    report = source_report(source)
    assert report["found"] == report["unchanged"] == number, report
    return {
        "items": number,
        "bare_seconds": round(bare["seconds"], 2),
        "run_seconds": round(run["seconds"], 2),
        "ratio": round(run["seconds"] / bare["seconds"], 2),
        "processor_ratio": round(run["processor_seconds"] / bare["processor_seconds"], 2),
        "grown_megabytes": round((run["peak_bytes"] - bare["peak_bytes"]) / 1e6, 1),
    }


def one_list(source: Source, what: str) -> dict[str, float]:
    """See bench.sources.one_list."""
    command = [sys.executable, "-m", "bench.sources.one_list", str(source.pk), what]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def changed_figures(folder: Path, *, number: int, changed: int) -> dict[str, Any]:
    """A folder in which some files have other bytes."""
    files_write(folder, number)
    source = folder_source(folder)
    documents_write(source, hashes_of(folder))
    source_run(source)
    paths = sorted(folder.rglob("*.txt"))[:: number // changed][:changed]
    for path in paths:
        path.write_text(f"{path.name} has other words now.\n")
    since = timezone.now()
    run = seconds(lambda: source_run(source))
    report = source_report(source)
    touched = Document.objects.filter(source=source, updated__gte=since)
    names = {str(path.relative_to(folder)) for path in paths}
    return {
        "items": number,
        "run_seconds": round(run, 2),
        "read": report["changed"],
        "others_touched": touched.exclude(external_id__in=names).count(),
    }


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def files_write(folder: Path, number: int) -> None:
    for place in range(number):
        path = folder / f"{place // A_FOLDER:04}" / f"{place:06}.txt"
        if place % A_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"File {place} of the bench.\n")


def folder_source(folder: Path) -> Source:
    return source_of(kind="folder", name=folder.name, location=str(folder))


@contextmanager
def object_source(number: int) -> Iterator[Source]:
    """Objects of a storage that speaks S3; see bench.sources.objects."""
    command = [sys.executable, "-m", "bench.sources.objects", str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int((server.stdout or sys.stdin).readline())
            location = f"s3+http://127.0.0.1:{port}/bench"
            yield source_of(kind="storage", name="objects", location=location, allow_private=True)
        finally:
            server.terminate()


def source_of(*, kind: str, name: str, location: str, **options: Any) -> Source:
    owner = User.objects.filter(username="bench").first() or User.objects.create_superuser(
        username="bench", password=None, tenant=tenant_ensure_default(), clearance=4
    )
    options = {"delete_missing": True, "max_documents": 1_000_000, **options}
    values = {"name": name, "kind": kind, "location": location, "options": options}
    return source_create(scope=scope_for(owner), actor=owner, values=values)


def hashes_of(folder: Path) -> dict[str, str]:
    """Of all files below a folder, by their paths."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def documents_write(source: Source, hashes: Mapping[str, str]) -> None:
    """The rows that a first run would leave, without storing the files; the database has looked at them since."""
    items = [item for item in listed_items(source) if isinstance(item, Item)]
    for start in range(0, len(items), ROWS_AT_ONCE):
        rows = Document.objects.bulk_create(
            Document(
                tenant_id=source.tenant_id,
                source=source,
                external_id=item.external_id,
                title=item.name,
                sha256=hashes.get(item.external_id, ""),
                handled={"seen": dict(item.stamp)},
            )
            for item in items[start : start + ROWS_AT_ONCE]
        )
        DocumentVersion.objects.bulk_create(
            DocumentVersion(document=row, number=1, sha256=row.sha256, file_name=row.title, size_bytes=20)
            for row in rows
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def source_run(source: Source) -> None:
    """One run as the schedule starts it, in this process."""
    job = run_open(sources=[source], actor=source.owner, trigger="schedule")
    slice_run(job_id=Job.objects.get(arguments__job_id=job.pk).pk)


def source_report(source: Source) -> dict[str, Any]:
    """Of the last run."""
    report: dict[str, Any] = Source.objects.select_related("run__job").get(pk=source.pk).run.job.report  # type: ignore[union-attr]
    return report


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


def seconds(act: Any) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
