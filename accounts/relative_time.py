"""Times and days as people read them: the one formatter of pages, the administration, exports and messages.

What is recent is said as an age, with the exact time on hover; everything else is exact: 2026-11-28 16:05, 2026-11-28.
The order of the parts is that of ISO 8601 in every language. Django's own displays follow `ragsite/formats`, which
holds the same forms.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

JUST_NOW_SECONDS = 45
MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86400
RECENT = timedelta(days=30)  # older times are given as their day


def exact_time(moment: datetime) -> str:
    """`2026-11-28 16:05`, in the time zone of the site."""
    return formats.date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def exact_day(day: date) -> str:
    """`2026-11-28`; of a time the day in the time zone of the site."""
    return formats.date_format(timezone.localtime(day) if isinstance(day, datetime) else day, "DATE_FORMAT")


def short_day(day: date) -> str:
    """`11-28`: for axes of charts, whose year is known."""
    return formats.date_format(day, "MONTH_DAY_FORMAT")


def relative_time(moment: datetime) -> str:
    """How long ago something was, such as "35 minutes ago"; static/js/time.js says it the same way.

    An older time is said by its day, one that is to come exactly.
    """
    passed = timezone.now() - moment
    seconds = passed.total_seconds()
    if passed > RECENT:
        return exact_day(moment)
    if seconds < -JUST_NOW_SECONDS:
        return exact_time(moment)
    if seconds < JUST_NOW_SECONDS:
        return _("just now")
    if seconds < HOUR_SECONDS:
        count = max(1, round(seconds / MINUTE_SECONDS))
        return ngettext("%(count)d minute ago", "%(count)d minutes ago", count) % {"count": count}
    if seconds < DAY_SECONDS:
        count = round(seconds / HOUR_SECONDS)
        return ngettext("%(count)d hour ago", "%(count)d hours ago", count) % {"count": count}
    count = round(seconds / DAY_SECONDS)
    return ngettext("%(count)d day ago", "%(count)d days ago", count) % {"count": count}
