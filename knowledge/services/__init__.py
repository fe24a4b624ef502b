"""Writing knowledge, and searching it. The same functions serve admin, web, REST, tasks and commands."""

from knowledge.services.backend_sync import backend_changes_apply
from knowledge.services.bulk import BulkAccepted, documents_bulk
from knowledge.services.bulk_lines import LineRefusal
from knowledge.services.composition import source_settle
from knowledge.services.disk_watch import disk_watch
from knowledge.services.documents import UploadResult, document_delete, document_upload
from knowledge.services.ingestion import ingestion_advance, leases_sweep, rendition_make, versions_compare
from knowledge.services.jobs import document_retry, job_cancel, job_pause, job_resume, job_retry
from knowledge.services.leftovers import deleted_purge
from knowledge.services.maintenance import indexes_refresh, maintenance_run
from knowledge.services.reader_lists import reader_names_resolve
from knowledge.services.representation_retries import retries_start
from knowledge.services.retrieval import retrieve
from knowledge.services.sources import sources_start_due

__all__ = [
    "BulkAccepted",
    "LineRefusal",
    "UploadResult",
    "backend_changes_apply",
    "deleted_purge",
    "disk_watch",
    "document_delete",
    "document_retry",
    "document_upload",
    "documents_bulk",
    "indexes_refresh",
    "ingestion_advance",
    "job_cancel",
    "job_pause",
    "job_resume",
    "job_retry",
    "leases_sweep",
    "maintenance_run",
    "reader_names_resolve",
    "rendition_make",
    "retries_start",
    "retrieve",
    "source_settle",
    "sources_start_due",
    "versions_compare",
]
