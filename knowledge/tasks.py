"""Celery tasks: ids in, services called."""

from __future__ import annotations

from celery import shared_task

from knowledge import services
from knowledge.queue import (
    ADVANCE_INGESTION,
    APPLY_BACKEND_CHANGES,
    DRAW_REFUSAL_LINES,
    MAINTAIN,
    NOTE_SET_MODEL,
    PURGE,
    RECORD_DUPLICATES,
    REFRESH_INDEXES,
    RENDER_VERSION,
    SETTLE_SOURCE,
    START_DUE_SOURCES,
    START_RETRIES,
    SWEEP_INGEST_LEASES,
    SWEEP_SET_VECTORS,
    SWEEP_VECTORS,
    TELL_REVIEWS,
    WATCH_DISK,
)
from knowledge.services.embedder_sweep import vectors_sweep
from knowledge.services.refusal_lines import refusal_lines_draw
from knowledge.services.reviews import reviews_tell
from knowledge.services.set_embedder_fill import set_model_note, set_vectors_sweep
from knowledge.services.set_files.importing import set_files_expire

SET_FILE_DAYS = 7  # after which exports, and files that nobody has imported, are deleted


@shared_task(name=ADVANCE_INGESTION)
def advance_ingestion(*, job_id: int, from_queue: str = "ingest") -> None:
    """Run the next batch of one ingestion job."""
    services.ingestion_advance(job_id=job_id, queue=from_queue)


@shared_task(name=SWEEP_INGEST_LEASES)
def sweep_ingest_leases() -> None:
    """Queue jobs whose worker or message was lost."""
    services.leases_sweep()


@shared_task(name=WATCH_DISK)
def watch_disk() -> None:
    """Tell administrators of a disk that fills up."""
    services.disk_watch()


@shared_task(name=REFRESH_INDEXES)
def refresh_indexes() -> None:
    """Keep statistics, vector indexes and dead rows in order."""
    services.indexes_refresh()


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Purge, build the indexes anew, check them."""
    services.maintenance_run()


@shared_task(name=RENDER_VERSION)
def render_version(*, version_id: int) -> None:
    """Draw the pages of an office document."""
    services.rendition_make(version_id=version_id)


@shared_task(name=RECORD_DUPLICATES)
def record_duplicates() -> None:
    """Compare what went live with everything else."""
    services.versions_compare()


@shared_task(name=START_DUE_SOURCES)
def start_due_sources() -> None:
    """Look up unknown readers again; start the sources whose time has come."""
    services.reader_names_resolve()
    services.sources_start_due()


@shared_task(name=SETTLE_SOURCE)
def settle_source(*, source_id: int) -> None:
    """Bring the sets of a large source in line with what is composed of it."""
    services.source_settle(source_id=source_id)


@shared_task(name=APPLY_BACKEND_CHANGES)
def apply_backend_changes() -> None:
    """Tell another search backend what has changed."""
    services.backend_changes_apply()


@shared_task(name=START_RETRIES)
def start_retries() -> None:
    """Ask the language model again for what rules wrote while it was down."""
    services.retries_start()


@shared_task(name=PURGE)
def purge_deleted() -> None:
    """Remove what was deleted long ago from tables, index, files and the other search backend."""
    services.deleted_purge()
    set_files_expire(days=SET_FILE_DAYS)


@shared_task(name=TELL_REVIEWS)
def tell_reviews() -> None:
    """Tell owners which of their documents have become due for review."""
    reviews_tell()


@shared_task(name=NOTE_SET_MODEL)
def note_set_model(*, row_id: int, code: str, message: str) -> None:
    """Note that the embedding model of a set did not answer a question."""
    set_model_note(row_id=row_id, code=code, message=message)


@shared_task(name=SWEEP_SET_VECTORS)
def sweep_set_vectors(*, tenant_id: int, model: str) -> None:
    """Delete the vectors of a model of sets that no set of the tenant needs any more."""
    set_vectors_sweep(tenant_id=tenant_id, model=model)


@shared_task(name=SWEEP_VECTORS)
def sweep_vectors(*, model: str) -> None:
    """Delete the vectors of an embedding model that the site has given up."""
    vectors_sweep(model=model)


@shared_task(name=DRAW_REFUSAL_LINES)
def draw_refusal_lines() -> None:
    """Draw the refusal lines of sets whose documents have changed."""
    refusal_lines_draw()
