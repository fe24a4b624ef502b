"""What a test of a source, or a look at what would come in, has found: shown beside the buttons that ask for it.

The last one of a person is in their session; what a job counts is read from the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.error_messages import error_message
from knowledge.connectors import Preview
from knowledge.services.sources import Counted, TestStep
from ragcore.errors import RagError

SESSION = "source_trial"
STEP_WORDS = {
    "address": _("address allowed"),
    "connect": _("connect"),
    "sign_in": _("sign in"),
    "list": _("list one item"),
    "read": _("read one item"),
}
STATE_WORDS = {"ok": _("works"), "failed": _("fails"), "skipped": _("not tried")}


def trial_answer(
    request: HttpRequest, act: Callable[[], Mapping[str, Any]], *, name: str, source_id: int
) -> HttpResponse:
    """POST: try a source, and go back to its page where the result stands. `name`: "test" or "preview"."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    begun = time.monotonic()
    try:
        result = act()
    except RagError as error:
        result = {"fault": error_message(error), "code": error.code}
    now, took = timezone.now(), time.monotonic() - begun
    result = {"name": name, "source": source_id, "at": now.isoformat(), "took": round(took, 1), **result}
    request.session[SESSION] = result
    return redirect(f"{reverse('admin:knowledge_source_change', args=[source_id])}#source-trial")


def test_found(steps: list[TestStep]) -> dict[str, Any]:
    """A test as a session keeps it."""
    return {"steps": [[step.step, step.state, step.message] for step in steps]}


def preview_found(preview: Preview) -> dict[str, Any]:
    """What would come in as a session keeps it."""
    names = ("count", "examples", "unreadable", "is_complete", "goes_on")
    return {name: getattr(preview, name) for name in names}


def trial_shown(request: HttpRequest, *, source_id: int, counted: Counted | None) -> dict[str, Any] | None:
    """What the template shows: the last trial of this person, or what a job has counted, whichever is newer."""
    last = request.session.get(SESSION)
    result = last if isinstance(last, dict) and last.get("source") == source_id else None
    at = datetime.fromisoformat(result["at"]) if result else None
    is_newer = counted is not None and counted.begun is not None and (at is None or counted.begun > at)
    if counted is not None and (is_newer or (result is not None and result.get("goes_on"))):
        return _counted_shown(counted)
    return _shown(result, at) if result is not None else None


def _shown(result: Mapping[str, Any], at: datetime | None) -> dict[str, Any]:
    """A trial whose result is known."""
    view: dict[str, Any] = {"is_test": result["name"] == "test", "at": at, "took": result["took"]}
    if fault := result.get("fault"):
        return {**view, "is_bad": True, "head": fault, "code": result.get("code", "")}
    if not view["is_test"]:
        return {**view, **_preview_shown(result)}
    steps = [
        {"state": state, "label": STEP_WORDS[step], "words": STATE_WORDS[state], "message": message}
        for step, state, message in result["steps"]
    ]
    is_bad = any(step["state"] == "failed" for step in steps)
    head = _("The source cannot be read.") if is_bad else _("The source can be read.")
    return {**view, "is_bad": is_bad, "head": head, "steps": steps}


def _counted_shown(counted: Counted) -> dict[str, Any]:
    """What a job has counted so far."""
    view: dict[str, Any] = {"is_test": False, "at": counted.ended or timezone.now(), "is_open": not counted.is_over}
    if counted.begun is not None:
        view["took"] = round((view["at"] - counted.begun).total_seconds(), 1)
    if counted.fault:
        return {**view, "is_bad": True, "head": counted.fault}
    return {**view, **_preview_shown(preview_found(counted.preview))}


def _preview_shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """A count in words, and examples."""
    return {
        "head": _count_words(result["count"], is_complete=result["is_complete"], goes_on=result["goes_on"]),
        "examples": result["examples"],
        "more": result["count"] - len(result["examples"]),
        "unreadable": result["unreadable"],
    }


def _count_words(count: int, *, is_complete: bool, goes_on: bool) -> str:
    if goes_on:
        counted = ngettext("Counting: %(count)s document so far", "Counting: %(count)s documents so far", count)
    elif not count:
        return str(_("Nothing would come in."))
    elif is_complete:
        counted = ngettext("%(count)s document would come in.", "%(count)s documents would come in.", count)
    else:
        counted = str(_("At least %(count)s documents would come in."))
    return counted % {"count": f"{count:,}"}
