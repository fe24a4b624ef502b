"""From received bytes to live entries. The job row is the truth; every step may run twice."""

from knowledge.services.ingestion.advance import ingestion_advance, leases_sweep
from knowledge.services.ingestion.rendition import rendition_make
from knowledge.services.near_duplicates import versions_compare

__all__ = ["ingestion_advance", "leases_sweep", "rendition_make", "versions_compare"]
