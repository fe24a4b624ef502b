"""Documents whose review is due, and what readers are told of reviews."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from accounts.scope import Scope
from knowledge.models import Document, DocumentReview
from knowledge.selectors.documents import documents_readable

SOON = timedelta(days=30)


def reviews_due(
    *, scope: Scope, documents: QuerySet[Document], horizon: timedelta = timedelta(0)
) -> QuerySet[Document]:
    """Those of the documents that the asker may see and that are to be reviewed by now, or within `horizon`.

    The day itself counts.
    """
    readable = documents_readable(scope=scope).order_by().values("pk")
    return documents.filter(pk__in=readable, review__review_by__lte=timezone.localdate() + horizon)


def review_of(*, scope: Scope, document: Document) -> DocumentReview | None:
    """The review of a document that the asker may see; None where it has no date and was never reviewed."""
    readable = documents_readable(scope=scope).filter(pk=document.pk).order_by()
    return DocumentReview.objects.select_related("reviewed_by").filter(document__in=readable.values("pk")).first()


def due_dates(*, scope: Scope, document_ids: Collection[int]) -> dict[int, date]:
    """Of these documents, those that the asker may see and whose review is due: id → by when."""
    if not document_ids:
        return {}
    readable = documents_readable(scope=scope).filter(pk__in=document_ids).order_by().values("pk")
    rows = DocumentReview.objects.filter(review_by__lte=timezone.localdate(), document_id__in=list(document_ids))
    pairs = rows.filter(document__in=readable).values_list("document_id", "review_by")
    return {pk: day for pk, day in pairs if day is not None}
