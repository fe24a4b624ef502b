"""Names of tasks, and how services start them. Postgres rows are the truth; a lost message is found by the sweeper."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from work.queue import send as _send

ADVANCE_INGESTION = "knowledge.advance_ingestion"
SWEEP_INGEST_LEASES = "knowledge.sweep_ingest_leases"
REFRESH_INDEXES = "knowledge.refresh_indexes"
MAINTAIN = "knowledge.maintain"
PURGE = "knowledge.purge"
RENDER_VERSION = "knowledge.render_version"
RECORD_DUPLICATES = "knowledge.record_duplicates"
START_DUE_SOURCES = "knowledge.start_due_sources"
SETTLE_SOURCE = "knowledge.settle_source"
APPLY_BACKEND_CHANGES = "knowledge.apply_backend_changes"
TELL_REVIEWS = "knowledge.tell_reviews"
START_RETRIES = "knowledge.start_retries"
SWEEP_SET_VECTORS = "knowledge.sweep_set_vectors"
SWEEP_VECTORS = "knowledge.sweep_vectors"
NOTE_SET_MODEL = "knowledge.note_set_model"
DRAW_REFUSAL_LINES = "knowledge.draw_refusal_lines"
WATCH_DISK = "knowledge.watch_disk"

BUILD_LEXICON = "knowledge.build_lexicon"  # kinds of background work, in `knowledge/jobs`
FILL_VECTORS = "knowledge.fill_vectors"
FILL_SET_VECTORS = "knowledge.fill_set_vectors"
FILL_SENTENCES = "knowledge.fill_sentences"
FILL_NAMES = "knowledge.fill_names"
READ_ENTITIES = "knowledge.read_entities"
READ_FACTS = "knowledge.read_facts"
MINE_TERMS = "knowledge.mine_terms"
IMPORT_TRIPLES = "knowledge.import_triples"
SYNC_SOURCES = "knowledge.sync_sources"
RETRY_REPRESENTATIONS = "knowledge.retry_representations"
FETCH_PAGE = "knowledge.fetch_page"
COUNT_SOURCE = "knowledge.count_source"
EXAMINE_MODEL = "knowledge.examine_model"
EXPORT_SET = "knowledge.export_set"
IMPORT_SET = "knowledge.import_set"

QUEUES = {
    ADVANCE_INGESTION: "ingest",
    SWEEP_INGEST_LEASES: "chat",  # where no long task of ingestion is before it
    REFRESH_INDEXES: "nightly",
    RENDER_VERSION: "ocr",
    RECORD_DUPLICATES: "nightly",
    MAINTAIN: "nightly",
    PURGE: "nightly",
    START_DUE_SOURCES: "nightly",
    SETTLE_SOURCE: "nightly",
    START_RETRIES: "nightly",
    TELL_REVIEWS: "nightly",
    SWEEP_SET_VECTORS: "nightly",
    SWEEP_VECTORS: "nightly",
    NOTE_SET_MODEL: "nightly",
    DRAW_REFUSAL_LINES: "nightly",
    WATCH_DISK: "chat",
    APPLY_BACKEND_CHANGES: "chat",  # short, and people wait to find what they have uploaded
}


def enqueue_on_commit(
    name: str, *, countdown_seconds: float = 0, queue: str = "", priority: int = 0, **kwargs: Any
) -> None:
    """Send a task once the running transaction is committed; at once where there is none.

    `queue`: another one than usual. `priority`: 0 before 9, within a queue.
    """
    options = {"queue": queue or QUEUES[name], "countdown": countdown_seconds or None, "priority": priority}
    transaction.on_commit(lambda: _send(name, kwargs, options))


def advance_enqueue(*, job_id: int, queue: str = "ingest", countdown_seconds: float = 0) -> None:
    """Call a worker of this queue to a job; one that finds nothing to do goes at once."""
    enqueue_on_commit(
        ADVANCE_INGESTION, queue=queue, countdown_seconds=countdown_seconds, job_id=job_id, from_queue=queue
    )


def ingest_subject(job_id: int) -> str:
    """How jobs name an ingestion job whose documents they bring."""
    return f"job:{job_id}"


def switch_subject(switch_id: int | str) -> str:
    """How jobs name a change of the embedding model of the site, whose vectors they make."""
    return f"switch:{switch_id}"


def set_embedder_subject(embedder_id: int | str) -> str:
    """How jobs name an embedding model of a set, whose vectors they make."""
    return f"set_embedder:{embedder_id}"


def lexicon_subject(set_id: int | None) -> str:
    """How jobs name the lexicon of a set, or (None) of the tenant."""
    return "" if set_id is None else f"set:{set_id}"


def lexicon_version_subject(version_id: int) -> str:
    """How jobs name a version of a lexicon that they build."""
    return f"version:{version_id}"
