"""The date by which a document is to be reviewed, as its source says through the field map or a rule of its handler.

The target `review_by` is no attribute. `Document.handled["review_by"]` remembers the value that was read last: the same
value again changes nothing, so that a date which keepers have set since stays until the source gives another one.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_noop

from accounts.audit.events import event_add
from knowledge.models import Document, DocumentReview, Source
from knowledge.services.reviews import reviews_arrived
from notifications.kinds import notification_kind
from notifications.models import Notification
from notifications.services import notification_send

UNREAD = notification_kind(
    "source.review_date_unread",
    gettext_noop("Source “%(source)s” gives review dates that cannot be read, such as “%(value)s”."),
)
KEPT_CHARACTERS = 64  # of a value of the source
_DAY = re.compile(
    r"(?P<year>\d{4})(?:(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
    r"|年(?P<month_han>\d{1,2})月(?P<day_han>\d{1,2})日|(?P<month_plain>\d{2})(?P<day_plain>\d{2}))"
    r"(?:[T ]\d{1,2}:\d{2}.{0,30})?",
    re.ASCII,
)


def day_read(value: Any) -> date | None:
    """A day that begins with its year: 2027-01-31, 2027/1/31, 20270131, 2027年1月31日, each also with a time behind it.

    None for anything else, such as 31/01/2027: nothing says whether the day or the month comes first.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    match = _DAY.fullmatch(unicodedata.normalize("NFKC", str(value)).strip())
    if match is None:
        return None
    month = match["month"] or match["month_han"] or match["month_plain"]
    day = match["day"] or match["day_han"] or match["day_plain"]
    try:
        return date(int(match["year"]), int(month), int(day))
    except ValueError:
        return None


def review_date_write(document: Document, value: Any) -> None:
    """Keep on a locked document the review date that its source gives; None: it says nothing. Idempotent.

    Of a value that cannot be read the owner of the source is told; the document keeps its date.
    """
    text = str(value)[:KEPT_CHARACTERS]
    if value in (None, "") or document.handled.get("review_by") == text:
        return
    document.handled = {**document.handled, "review_by": text}
    document.save(update_fields=["handled", "updated"])
    day = day_read(value)
    if day is None:
        _tell(document.source, text)
        return
    before = DocumentReview.objects.filter(document=document).values_list("review_by", flat=True).first()
    if before == day:
        return
    reviews_arrived(arrived={document.pk: day})
    event_add(
        actor=None,
        tenant_id=document.tenant_id,
        action="document.review",
        target=document.title,
        data={
            "document": document.pk,
            "source": document.source.name,
            "before": before.isoformat() if before else None,
            "after": day.isoformat(),
        },
    )


def _tell(source: Source, value: str) -> None:
    """Tell the owner of the source, once until it is read."""
    link = reverse("admin:knowledge_source_change", args=[source.pk])
    waiting = Notification.objects.filter(recipient=source.owner_id, kind=UNREAD, link=link, read=None)
    if source.owner is not None and not waiting.exists():
        data = {"source": source.name, "value": value}
        notification_send(recipients=[source.owner], kind=UNREAD, data=data, link=link)
