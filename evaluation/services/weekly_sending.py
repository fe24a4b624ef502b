"""The weekly report as a notification: figures are stored, their words are made when somebody reads it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.services.weekly_report import WeeklyReport, cause_label, weekly_report
from feedback.services import is_reviewing
from notifications.kinds import notification_kind
from notifications.models import Notification
from notifications.services import notification_send

logger = logging.getLogger(__name__)


def summary_words(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The main figures in one paragraph, in the language of the thread; earlier versions stored the paragraph."""
    if "summary" in data:
        return data
    number, cause, question, missing = data["new"], data["cause"], data["question"], data["missing"]
    change = {"n": number, "change": number - data["before"]}
    parts = [
        ngettext("%(n)d new case (%(change)+d)", "%(n)d new cases (%(change)+d)", number) % change,
        gettext("%(n)d open") % {"n": data["open"]},
    ]
    if cause is not None:
        words = {"cause": cause_label(cause), "n": data["cause_cases"]}
        parts.append(gettext("most frequent cause: %(cause)s (%(n)d)") % words)
    if question:
        parts.append(gettext("most frequent question: %(question)s") % {"question": question})
    if missing:
        parts.append(ngettext("%(n)d document is missing", "%(n)d documents are missing", missing) % {"n": missing})
    return {"summary": "; ".join(parts) + "."}


WEEKLY = notification_kind("weekly_report", gettext_noop("Weekly report on answers: %(summary)s"), words=summary_words)


def weekly_reports_send() -> int:
    """Send every reviewer and owner with new or open cases a summary with a link; how many people got one.

    Once a week to each, however often it runs; what goes wrong for one person keeps no other from theirs.
    """
    staff = User.objects.filter(is_staff=True, is_active=True, is_service=False).select_related("tenant")
    year, number, _weekday = timezone.localdate().isocalendar()
    week = f"{year}-W{number:02}"
    count = 0
    for user in staff.order_by("pk"):
        try:
            count += _send(user, week)
        except Exception:
            logger.exception("the weekly report could not be sent to person %s", user.pk)
    return count


def report_figures(report: WeeklyReport) -> dict[str, Any]:
    """The main figures as they are stored: codes and numbers."""
    top = report.by_cause[0] if report.by_cause else None
    return {
        "new": report.new,
        "before": report.before,
        "open": report.open,
        "cause": top.name if top else None,
        "cause_cases": top.now if top else 0,
        "question": report.clusters[0].question[:100] if report.clusters else "",
        "missing": len(report.wanted) + len(report.gaps),
    }


def _send(user: User, week: str) -> bool:
    earlier = Notification.objects.filter(recipient=user, kind=WEEKLY, data__week=week)
    if earlier.exists():
        return False
    yesterday = timezone.localdate() - timedelta(days=1)  # the days of one report end where those of the next begin
    report = weekly_report(scope=scope_for(user), is_reviewer=is_reviewing(user), last=yesterday)
    if not report.new and not report.before:
        return False
    with transaction.atomic():
        User.objects.select_for_update(of=("self",)).get(pk=user.pk)  # of two workers one gets here first
        if earlier.exists():
            return False
        data = {**report_figures(report), "week": week}
        notification_send(recipients=[user], kind=WEEKLY, data=data, link=reverse("admin:feedback_badcase_report"))
    return True
