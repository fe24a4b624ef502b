"""Tell people: in their inbox, and by mail where a mail server is set. Any app above calls `notification_send`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts.errors import NotFoundError
from accounts.languages import interface_language
from accounts.models import User
from accounts.scope import Scope
from notifications.kinds import sentence_of
from notifications.models import Notification
from notifications.queue import mail_enqueue
from notifications.selectors import notifications_of
from work.fencing import claim, fenced
from work.leases import lease_end, lease_is_over

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)  # longer than a mail server is waited for, shorter than a lost task is


@transaction.atomic
def notification_send(
    *, recipients: Iterable[User], kind: str, data: Mapping[str, Any], link: str = ""
) -> list[Notification]:
    """One notification for each active person among the recipients, once each; service accounts get none.

    `kind`: of notifications.kinds. `link`: a path of this site.
    """
    people = {user.pk: user for user in recipients if user.is_active and not user.is_service}
    rows = [Notification(recipient=user, kind=kind, data=dict(data), link=link) for user in people.values()]
    for row in Notification.objects.bulk_create(rows):
        if settings.EMAIL_HOST and row.recipient.email:
            mail_enqueue(notification_id=row.pk)
    return rows


def notification_read(*, scope: Scope, notification_id: int) -> Notification:
    """Mark one of one's own as read; twice changes nothing. Raises NotFoundError."""
    row = notifications_of(scope=scope).filter(pk=notification_id).first()
    if row is None:
        raise NotFoundError("notification")
    if row.read is None:
        row.read = timezone.now()
        row.save(update_fields=["read"])
    return row


def notifications_read_all(*, scope: Scope) -> int:
    """Mark all of one's own as read; returns how many were not."""
    return notifications_of(scope=scope, unread=True).update(read=timezone.now())


def notification_mail(*, notification_id: int) -> bool:
    """Send the mail of a notification in the language of its reader, once; False where there is nothing to send.

    Who has none that the interface has gets the language of the site.

    No row is locked while the mail server is waited for: who sends it has a lease, which others respect. Raises OSError
    and SMTPException where the server does not take it; then it can be sent again.
    """
    rows = Notification.objects.filter(pk=notification_id, mailed=None)
    row = rows.filter(recipient__is_active=True).select_related("recipient").first()
    if row is None or not row.recipient.email:
        return False
    with translation.override(interface_language(row.recipient.locale) or settings.LANGUAGE_CODE):
        sentence = sentence_of(kind=row.kind, data=row.data)
        address = f"{settings.SITE_URL}{row.link}" if settings.SITE_URL and row.link else ""
        note = _("You receive this message because of your role in the knowledge assistant.")
        body = "\n\n".join(part for part in (sentence, address, note) if part)
        subject = " ".join(sentence.split())[:200]
    holder = claim(rows.filter(lease_is_over(timezone.now())), pk=row.pk, lease_until=timezone.now() + LEASE)
    if holder is None:
        return False
    try:
        send_mail(subject, body, settings.DEFAULT_FROM_EMAIL, [row.recipient.email])
    except Exception:
        lease_end(fenced(holder))
        raise
    rows.update(mailed=timezone.now(), lease_until=None)  # whoever holds it now: it was mailed
    return True


def notifications_expire() -> int:
    """Remove those that are older than KEEP_NOTIFICATIONS_DAYS, read or not; returns how many. 0 keeps all."""
    if not settings.KEEP_NOTIFICATIONS_DAYS:
        return 0
    before = timezone.now() - timedelta(days=settings.KEEP_NOTIFICATIONS_DAYS)
    return Notification.objects.filter(created__lt=before).delete()[0]
