"""Sources, folders and pages for these tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from accounts.models import User
from knowledge.models import Document, IngestJob, Source
from knowledge.services.sources import source_create, source_run_start
from tests.factories import scope_of
from work.models import Job
from work.runner import slice_run


def folder_source(owner: User, folder: Path, name: str = "shelf", **values: Any) -> Source:
    given = {"name": name, "kind": "folder", "location": str(folder), **values}
    return source_create(scope=scope_of(owner), actor=owner, values=given)


def sync_run(*, job_id: int, in_turn: bool = True) -> IngestJob:
    """Let a worker run the sources of an ingestion job, or fetch its page."""
    slice_run(job_id=work_of(job_id).pk, in_turn=in_turn)
    return IngestJob.objects.get(pk=job_id)


def work_of(job_id: int) -> Job:
    """The background job of the run of an ingestion job."""
    return Job.objects.get(arguments__job_id=job_id)


def run(owner: User, source: Source) -> IngestJob:
    """One run, in this process."""
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    return sync_run(job_id=job.pk)


def counts(job: IngestJob) -> dict[str, int]:
    """What is not nought."""
    names = ("found", "new", "changed", "unchanged", "left_out", "deleted")
    return {name: job.report[name] for name in names if job.report[name]}


def here(source: Source) -> list[str]:
    """External ids of what the source holds now."""
    rows = Document.objects.filter(source=source, deleted=None)
    return sorted(rows.values_list("external_id", flat=True))


@contextmanager
def site(pages: dict[str, Any]) -> Iterator[str]:
    """A web server of this machine; a page is bytes, or (status, headers, bytes). Yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, (404, {}, b"nothing here"))
            status, headers, body = page if isinstance(page, tuple) else (200, {"Content-Type": "text/html"}, page)
            if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                status, body = 304, b""
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *values: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
