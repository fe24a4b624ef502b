"""Writing knowledge, and searching it. The same functions serve admin, web, REST, tasks and commands."""

from knowledge.services.bulk import BulkAccepted, Rejected, documents_bulk
from knowledge.services.documents import Uploaded, document_delete, document_retry, document_upload
from knowledge.services.indexes import indexes_refresh
from knowledge.services.ingestion import ingestion_advance, leases_sweep
from knowledge.services.retrieval import retrieve

__all__ = [
    "BulkAccepted",
    "Rejected",
    "Uploaded",
    "document_delete",
    "document_retry",
    "document_upload",
    "documents_bulk",
    "indexes_refresh",
    "ingestion_advance",
    "leases_sweep",
    "retrieve",
]
