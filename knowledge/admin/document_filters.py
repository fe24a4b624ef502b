"""Filters of the list of documents that look beyond the row of a document."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import StateListFilter
from knowledge.models import Document, DocumentVersion


class OriginalFilter(StateListFilter):
    """Documents whose stored file was found missing or damaged."""

    title = _("original file")
    parameter_name = "original"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [("lost", _("Missing or damaged"))]

    def narrowed(self, rows: QuerySet[Document], choice: str) -> QuerySet[Document]:
        lost = DocumentVersion.objects.exclude(file_fault="").values("document")
        return rows.filter(pk__in=lost)
