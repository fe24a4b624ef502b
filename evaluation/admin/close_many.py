"""Many feedback cases closed at once from their list: the page that asks for the resolution, and the way back."""

from __future__ import annotations

from collections import defaultdict

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import page_response
from accounts.error_messages import error_message
from evaluation.services.case_resolution import Resolved, cases_conclude, cases_doubtful, cases_reopen, refusal_sets
from feedback.models import BadCase
from knowledge.admin.curation import ids_of
from ragcore.errors import RagError

CASES = "admin:feedback_badcase_changelist"
MOST_NAMED = 20  # cases that one message names


def close_many(request: HttpRequest, rows: QuerySet[BadCase]) -> HttpResponse | None:
    """The page that asks; once it is confirmed the cases are closed, and the list says what came of it."""
    cases = list(rows)
    scope, actor = admin_scope(request), admin_user(request)
    if request.POST.get("confirmed") != "yes":
        to_close = [case for case in cases if case.state != BadCase.State.CLOSED]
        if not to_close:
            messages.warning(request, _("These cases are closed already."))
            return None
        doubtful = cases_doubtful(scope=scope, cases=to_close)
        page = {
            "title": _("Close feedback cases"),
            "cases": to_close,
            "closed_before": [case for case in cases if case.state == BadCase.State.CLOSED],
            "doubtful": [case for case in to_close if case.pk in doubtful],
            "list_address": request.get_full_path(),
            "resolutions": BadCase.Resolution.choices,
            "golden_sets": refusal_sets(scope=scope, actor=actor),
        }
        return page_response(request, "admin/feedback/badcase/close_many.html", page)
    try:
        done = cases_conclude(
            scope=scope,
            actor=actor,
            cases=cases,
            resolution=request.POST.get("resolution", ""),
            note=request.POST.get("note", "")[:4000],
            golden_set_id=next(iter(ids_of([request.POST.get("golden_set", "")])), None),
        )
    except RagError as error:
        messages.error(request, error_message(error))
    else:
        _tell(request, done)
    return None


def _tell(request: HttpRequest, done: Resolved) -> None:
    closed = len(done.result.resolved)
    text = ngettext("%(count)d case closed.", "%(count)d cases closed.", closed) % {"count": closed}
    if done.saved:
        saved = ngettext("%(count)d golden case saved.", "%(count)d golden cases saved.", done.saved)
        text = f"{text} {saved % {'count': done.saved}}"
    (messages.success if closed else messages.info)(request, text)
    reasons: dict[str, list[BadCase]] = defaultdict(list)
    for case, error in (*done.result.refused, *done.left):
        reasons[error_message(error)].append(case)
    for reason, cases in reasons.items():
        words = ngettext("%(count)d case: %(reason)s", "%(count)d cases: %(reason)s", len(cases))
        messages.warning(request, format_html("{} {}", words % {"count": len(cases), "reason": reason}, _links(cases)))


def _links(cases: list[BadCase]) -> SafeString:
    """The questions of cases, each leading to its page; of many the first few."""
    shown = [
        (reverse("admin:feedback_badcase_change", args=[case.pk]), case.message.question[:80])
        for case in cases[:MOST_NAMED]
    ]
    names = format_html_join("; ", '<a class="rs-link" href="{}">{}</a>', shown)
    return format_html("{} …", names) if len(cases) > MOST_NAMED else names


def undo_many(request: HttpRequest) -> HttpResponse:
    """POST `batch`: undo it, then the list."""
    if request.method == "POST":
        chosen = next(iter(ids_of([request.POST.get("batch", "")])), 0)
        try:
            batch, restored = cases_reopen(actor=admin_user(request), batch_id=chosen)
        except RagError as error:
            messages.error(request, error_message(error))
        else:
            text = ngettext("%(count)d case is as before.", "%(count)d cases are as before.", restored)
            messages.success(request, text % {"count": restored})
            if left := len(batch.cases) - restored:
                kept = ngettext(
                    "%(count)d case stays: somebody has worked on it since.",
                    "%(count)d cases stay: somebody has worked on them since.",
                    left,
                )
                messages.warning(request, kept % {"count": left})
    return redirect(CASES)
