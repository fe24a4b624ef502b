"""Records in the audit log that a person opened a confidential document."""

from __future__ import annotations

from typing import Literal

from accounts.audit.reads import read_record
from accounts.scope import Scope
from knowledge.models import Chunk, Document, DocumentVersion

_FIELDS = ("document__title", "document__clearance", "document__tenant")


def document_read_record(*, scope: Scope, document: Document, kind: Literal["view", "download"] = "view") -> None:
    """Record that the asker has opened a document; call it where its text or file is given out."""
    read_record(
        user_id=scope.user_id,
        kind=kind,
        document_id=document.pk,
        title=document.title,
        clearance=document.clearance,
        tenant_id=document.tenant_id,
    )


def version_read_record(*, scope: Scope, version_id: int) -> None:
    """The same for a page or picture of a version."""
    version = DocumentVersion.objects.select_related("document").only(*_FIELDS).get(pk=version_id)
    document_read_record(scope=scope, document=version.document)


def passage_read_record(*, scope: Scope, chunk_id: int) -> None:
    """The same for a passage."""
    version_read_record(scope=scope, version_id=Chunk.objects.values_list("version_id", flat=True).get(pk=chunk_id))
