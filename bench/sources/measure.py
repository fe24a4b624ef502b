"""Runs over folders of files that are known already."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from django.utils import timezone

from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import tenant_ensure_default
from knowledge.connectors import Item
from knowledge.models import Document, DocumentVersion, Source
from knowledge.services.sources import run_open, source_create
from knowledge.services.sources.folders import folder_items
from work.models import Job
from work.runner import slice_run

ROWS_AT_ONCE = 2000
A_FOLDER = 1000  # files of each


def list_figures(folder: Path, *, number: int) -> dict[str, Any]:
    """A list of files that are all as they were."""
    files_write(folder, number)
    source = source_of(folder)
    documents_write(source, folder)
    bare = [seconds(lambda: sum(1 for _ in folder_items(folder)))]
    before = peak_reset()
    run = [seconds(lambda: source_run(source))]
    grown = peak() - before
    bare.append(seconds(lambda: sum(1 for _ in folder_items(folder))))
    run.append(seconds(lambda: source_run(source)))
    report = source_report(source)
    assert report["found"] == report["unchanged"] == number, report
    return {
        "items": number,
        "bare_seconds": round(min(bare), 2),
        "run_seconds": round(min(run), 2),
        "ratio": round(min(run) / min(bare), 2),
        "grown_megabytes": round(grown / 1e6, 1),
    }


def changed_figures(folder: Path, *, number: int, changed: int) -> dict[str, Any]:
    """A folder in which some files have other bytes."""
    files_write(folder, number)
    source = source_of(folder)
    documents_write(source, folder)
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


def source_of(folder: Path) -> Source:
    owner = User.objects.filter(username="bench").first() or User.objects.create_superuser(
        username="bench", password=None, tenant=tenant_ensure_default(), clearance=4
    )
    values = {
        "name": folder.name,
        "kind": "folder",
        "location": str(folder),
        "options": {"delete_missing": True, "max_documents": 1_000_000},
    }
    return source_create(scope=scope_for(owner), actor=owner, values=values)


def documents_write(source: Source, folder: Path) -> None:
    """The rows that a first run would leave, without storing the files."""
    items = [item for item in folder_items(folder) if isinstance(item, Item)]
    for start in range(0, len(items), ROWS_AT_ONCE):
        rows = Document.objects.bulk_create(
            Document(
                tenant_id=source.tenant_id,
                source=source,
                external_id=item.external_id,
                title=item.name,
                sha256=hashlib.sha256((folder / item.external_id).read_bytes()).hexdigest(),
                handled={"seen": dict(item.stamp)},
            )
            for item in items[start : start + ROWS_AT_ONCE]
        )
        DocumentVersion.objects.bulk_create(
            DocumentVersion(document=row, number=1, sha256=row.sha256, file_name=row.title, size_bytes=20)
            for row in rows
        )


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


def peak_reset() -> int:
    """The peak of memory begins anew; bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
