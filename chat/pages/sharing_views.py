"""Pages of shared links: what a colleague sees, and one's own links."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import page
from accounts.scope import Scope
from chat.conversations.sharing import link_open, link_revoke, links_of
from chat.pages.shared_view import shared_turns

LISTED = 200


@require_safe
@never_cache
@page
def shared(request: HttpRequest, scope: Scope, link_id: uuid.UUID) -> HttpResponse:
    """A shared answer under the rights of the reader."""
    link = link_open(scope=scope, key=link_id)
    conversation = shared_turns(scope=scope, link=link)
    context = {"link": link, "shown": conversation, "is_own": link.user_id == scope.user_id}
    return render(request, "chat/shared.html", context)


@require_safe
@never_cache
@page
def links(request: HttpRequest, scope: Scope) -> HttpResponse:
    """One's own links."""
    return render(request, "chat/links.html", {"links": links_of(scope=scope)[:LISTED]})


@require_POST
@page
def revoke(request: HttpRequest, scope: Scope, link_id: uuid.UUID) -> HttpResponse:
    """End a link."""
    link_revoke(scope=scope, key=link_id)
    messages.success(request, _("The link was revoked."))
    return redirect("chat:links")
