"""File names and folders of documents, kept for searches by name (decision 021)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, DocumentNames
from ragcore.text.names import name_terms


def document_names(document: Document, *, file_name: str, path: str = "") -> DocumentNames:
    """The unsaved row for a document; `path`: in its source."""
    terms = name_terms(file_name, path=path, external_id=document.external_id)
    return DocumentNames(document_id=document.pk, tenant_id=document.tenant_id, terms=terms)


def names_store(rows: Sequence[DocumentNames]) -> None:
    """Store the names of documents in place of earlier ones."""
    DocumentNames.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["document"], update_fields=["terms"], batch_size=1000
    )


@transaction.atomic
def document_rename(*, document_id: int, file_name: str, path: str = "") -> bool:
    """Note that a document has another name in its source now, with the same bytes; whether that is new."""
    document = Document.objects.select_for_update().get(pk=document_id)
    names = document_names(document, file_name=file_name, path=path)
    if DocumentNames.objects.filter(document=document, terms=names.terms).exists():
        return False
    names_store([names])
    epoch_advance(tenant_id=document.tenant_id, documents=[document.pk])
    return True
