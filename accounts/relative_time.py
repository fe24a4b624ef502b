"""Times as people say them, for pages and the administration alike."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

JUST_NOW_SECONDS = 45
MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86400


def relative_time(moment: datetime) -> str:
    """How long ago something was, such as "35 minutes ago"; static/js/time.js says it the same way."""
    seconds = (timezone.now() - moment).total_seconds()
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
