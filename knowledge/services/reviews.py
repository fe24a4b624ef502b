"""Review dates of documents: set by their keepers, told to their owners when they are due."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from knowledge.models import Document, DocumentReview
from knowledge.selectors import documents_readable
from knowledge.selectors.keeping import documents_kept, kept_among
from knowledge.selectors.reviews import reviews_due
from knowledge.services.transfers import TransferRefusal, TransferResult
from notifications.kinds import notification_kind
from notifications.services import notification_send

REVIEW_DUE = notification_kind("review_due", gettext_noop("“%(title)s” is due for review."))
REVIEWS_DUE = notification_kind(
    "reviews_due", gettext_noop("%(count)s documents are due for review, among them “%(title)s”.")
)


Keep = Literal["keep"]


def review_change(
    *, actor: User, document: Document, review_by: date | None | Keep = "keep", is_reviewed: bool = False
) -> bool:
    """Set by when a document is to be reviewed (None: no date), or say that it was reviewed now. Needs a transaction.

    Returns whether anything changed. Owners are told again when another date comes. The caller has checked that the
    actor keeps the document.
    """
    if review_by == "keep" and not is_reviewed:
        return False
    row, _is_new = DocumentReview.objects.select_for_update().get_or_create(document=document)
    before = row.review_by
    if review_by != "keep" and review_by != before:
        row.review_by, row.told = review_by, None
    elif not is_reviewed:
        return False
    if is_reviewed:
        row.reviewed, row.reviewed_by = timezone.now(), actor
    row.save()
    days = {"before": _text(before), "after": _text(row.review_by), "reviewed": is_reviewed}
    audit_record(actor=actor, action="document.review", target=document.title, document=document.pk, **days)
    return True


@transaction.atomic
def documents_review(
    *,
    scope: Scope,
    actor: User,
    document_ids: Sequence[int],
    review_by: date | None | Keep = "keep",
    is_reviewed: bool = False,
) -> TransferResult:
    """`review_change` for many documents.

    Documents that the asker may not change are refused singly; hidden ones are ignored.
    """
    rows = documents_readable(scope=scope).filter(pk__in=document_ids).order_by("pk")
    documents = list(rows.select_for_update(of=("self",)))
    changeable = kept_among(scope=scope, document_ids=[document.pk for document in documents])
    refused = [
        TransferRefusal(d.pk, d.title, NotAllowedError("kept_by_others")) for d in documents if d.pk not in changeable
    ]
    changed = [
        review_change(actor=actor, document=document, review_by=review_by, is_reviewed=is_reviewed)
        for document in documents
        if document.pk in changeable
    ]
    return TransferResult(sum(changed), tuple(refused))


def reviews_arrived(*, arrived: Mapping[int, date]) -> None:
    """Keep the review dates with which documents have come, by id; part of uploads and loads, which say who sent them.

    The caller has found or made these documents for a sender who keeps them.
    """
    earlier = dict(DocumentReview.objects.filter(document__in=arrived).values_list("document_id", "review_by"))
    fresh = [DocumentReview(document_id=pk, review_by=day) for pk, day in arrived.items() if earlier.get(pk) != day]
    DocumentReview.objects.bulk_create(
        fresh, update_conflicts=True, unique_fields=["document"], update_fields=["review_by", "told"]
    )


@transaction.atomic
def reviews_tell() -> int:
    """Tell owners of the documents that have become due, each document once; returns how many documents these are.

    Told are the owners of its sets and of its source who keep it, in one notification each.
    """
    rows = DocumentReview.objects.select_for_update(of=("self",), skip_locked=True).filter(told=None)
    rows = rows.filter(review_by__lte=timezone.localdate(), document__deleted=None)
    due = list(rows.order_by("review_by", "document_id").values_list("document_id", flat=True))
    by_owner: dict[int, list[int]] = defaultdict(list)
    for user_id, document_id in _owners(due):
        by_owner[user_id].append(document_id)
    for user in User.objects.filter(pk__in=by_owner, is_active=True, is_service=False).order_by("pk"):
        _tell(user, by_owner[user.pk])
    DocumentReview.objects.filter(document__in=due).update(told=timezone.now())
    return len(due)


def _owners(document_ids: Iterable[int]) -> set[tuple[int, int]]:
    """(person, document) of owners of the sets and sources of documents."""
    rows = Document.objects.filter(pk__in=list(document_ids)).order_by()
    pairs = {*rows.values_list("sets__owners", "pk"), *rows.values_list("source__owner", "pk")}
    return {(user_id, pk) for user_id, pk in pairs if user_id is not None}


def _tell(user: User, document_ids: Iterable[int]) -> None:
    """One notification for what the person keeps of the documents; nothing of what they may not see."""
    scope = scope_for(user)
    due = reviews_due(scope=scope, documents=documents_kept(scope=scope).filter(pk__in=list(document_ids)))
    titles = list(due.order_by("review__review_by", "pk").values_list("pk", "title"))
    if not titles:
        return
    data: dict[str, Any] = {"title": titles[0][1], "count": len(titles)}
    link = reverse("knowledge:document", args=[titles[0][0]])
    if user.is_staff:
        link = reverse("admin:knowledge_document_changelist") + "?review=due"
    notification_send(recipients=[user], kind=REVIEWS_DUE if len(titles) > 1 else REVIEW_DUE, data=data, link=link)


def _text(day: date | None) -> str | None:
    return None if day is None else day.isoformat()
