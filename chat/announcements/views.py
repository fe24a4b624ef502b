"""Dismissing an announcement."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from accounts.authentication import page
from accounts.scope import Scope
from chat.announcements.banner import announcement_dismiss


@require_POST
@page
def dismiss(request: HttpRequest, scope: Scope, announcement_id: int) -> HttpResponse:
    """Do not show it to this person again until it changes."""
    announcement_dismiss(scope=scope, announcement_id=announcement_id)
    return HttpResponse(status=204)
