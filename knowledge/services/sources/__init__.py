"""Sources of documents: create them, run them, and receive what they send."""

from knowledge.services.sources.changes import (
    credentials_set,
    folder_source_ensure,
    source_check,
    source_create,
    source_delete,
    source_update,
)
from knowledge.services.sources.folders import ArchiveUpload, archive_upload
from knowledge.services.sources.item_faults import faults_listed
from knowledge.services.sources.missing_documents import Held, held_deletions, held_deletions_decide
from knowledge.services.sources.permission import Pause, source_pause, source_run_start
from knowledge.services.sources.rest_calls import source_called
from knowledge.services.sources.sync_runs import run_open, set_ingest, sources_start_due
from knowledge.services.sources.trials import Counted, TestStep, source_counted, source_preview, source_test
from knowledge.services.sources.web import document_from_url
from knowledge.services.sources.webhooks import (
    EventsResult,
    WebhookEvent,
    webhook_events_apply,
    webhook_signature,
    webhook_source,
)

__all__ = [
    "ArchiveUpload",
    "Counted",
    "EventsResult",
    "Held",
    "Pause",
    "TestStep",
    "WebhookEvent",
    "archive_upload",
    "credentials_set",
    "document_from_url",
    "faults_listed",
    "folder_source_ensure",
    "held_deletions",
    "held_deletions_decide",
    "run_open",
    "set_ingest",
    "source_called",
    "source_check",
    "source_counted",
    "source_create",
    "source_delete",
    "source_pause",
    "source_preview",
    "source_run_start",
    "source_test",
    "source_update",
    "sources_start_due",
    "webhook_signature",
    "webhook_source",
    "webhook_events_apply",
]
