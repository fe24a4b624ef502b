"""Owners' edits of passages."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import ChunkEdit
from knowledge.selectors.documents import documents_readable


def edits_of(*, scope: Scope, document_id: int) -> QuerySet[ChunkEdit]:
    """Edits of a document that the asker may open, newest first; none of others."""
    readable = documents_readable(scope=scope).filter(pk=document_id)
    return ChunkEdit.objects.filter(document__in=readable).select_related("author")


def edit_get(*, scope: Scope, edit_id: int) -> ChunkEdit:
    """An edit of a document that the asker may open. Raises NotFoundError."""
    found = (
        ChunkEdit.objects.select_related("document")
        .filter(pk=edit_id, document__in=documents_readable(scope=scope))
        .first()
    )
    if found is None:
        raise NotFoundError("edit", edit=edit_id)
    return found
