"""The retrieval lab: why a passage came first or was dropped, for curators and reviewers (B1, B2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from accounts.models import User
from chat.admin import is_reviewer
from evaluation.admin.lab_actions import apply_view, golden_context, golden_view
from evaluation.admin.lab_forms import LabForms, address_of, lab_forms, replay_address
from evaluation.admin.lab_view_models import run_view, stored_views
from evaluation.models import GoldenCase
from evaluation.selectors import golden_sets_listed
from evaluation.services.lab import lab_run
from evaluation.services.lab_export import lab_json
from evaluation.services.lab_replay import Replay, replay_get, stored_ranking
from evaluation.services.lab_types import LabQuestion, LabResult
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_listed, sets_managed
from ragcore.errors import RagError

if TYPE_CHECKING:
    from evaluation.admin.golden import GoldenCaseAdmin

PROPOSED_PEOPLE = 200  # names that the form proposes; any other may be typed
LAB = "admin:evaluation_lab"

View = Callable[..., HttpResponseBase]


def lab_urls(model_admin: GoldenCaseAdmin) -> list[URLPattern]:
    """The lab's addresses, below those of golden cases."""

    def opened(view: View) -> Any:
        def checked(request: HttpRequest) -> HttpResponseBase:
            if not model_admin.has_module_permission(request):
                raise PermissionDenied
            return view(request, context=model_admin.admin_site.each_context(request))

        return model_admin.admin_site.admin_view(checked)

    return [
        path("lab/", opened(lab_view), name="evaluation_lab"),
        path("lab/export/", opened(export_view), name="evaluation_lab_export"),
        path("lab/golden/", opened(golden_view), name="evaluation_lab_golden"),
        path("lab/apply/", opened(apply_view), name="evaluation_lab_apply"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabState:
    """The forms of a request, the stored answer that it replays, and the result or the error."""

    forms: LabForms
    replay: Replay | None = None
    result: LabResult | None = None
    fault: str = ""


def lab_view(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponseBase:
    """The page. `?case=` and `?message=` lead to the address that asks the same."""
    if "q" not in request.GET and (start := _start(request)):
        return redirect(f"{reverse(LAB)}?{start}")
    state = _state(request)
    page = {
        **context,
        **_form_context(request, state),
        **_result_context(request, state),
        "title": _("Retrieval lab"),
        "fault": state.fault,
    }
    return TemplateResponse(request, "admin/evaluation/lab/page.html", page)


def export_view(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponseBase:
    """Everything that the page shows, as JSON."""
    del context
    state = _state(request)
    if state.result is None:
        raise Http404
    text = json.dumps(lab_json(state.result), cls=DjangoJSONEncoder, ensure_ascii=False, indent=1, default=str)
    headers = {"Content-Disposition": 'attachment; filename="retrieval-lab.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)


# ── request ──────────────────────────────────────────────────────────────────────────────────────


def _start(request: HttpRequest) -> str:
    """The query string for a golden case or a stored question; empty where the form is just opened."""
    scope = admin_scope(request)
    if case := request.GET.get("case", ""):
        if not case.isdecimal() or len(case) > 18:
            raise Http404
        rows = GoldenCase.objects.filter(golden_set__in=golden_sets_listed(scope=scope))
        found = get_object_or_404(rows.select_related("golden_set"), pk=int(case))
        sets = tuple(found.golden_set.sets.values_list("pk", flat=True))
        return address_of(LabQuestion(text=found.question, sets=sets), find=next(iter(found.relevant), ""))
    if message := request.GET.get("message", ""):
        return replay_address(_replay(request, message))
    return ""


def _replay(request: HttpRequest, message: str) -> Replay:
    try:
        return replay_get(scope=admin_scope(request), message_id=message, is_reviewer=is_reviewer(request))
    except NotFoundError as error:
        raise Http404(error.message) from error


def _state(request: HttpRequest) -> LabState:
    scope = admin_scope(request)
    try:
        forms = lab_forms(request.GET, scope=scope)
    except NotFoundError as error:
        raise Http404(error.message) from error
    if not forms.ask.is_bound or not forms.is_valid:
        return LabState(forms=forms)
    data = forms.ask.cleaned_data
    replay = _replay(request, str(data["message"])) if data["message"] else None
    try:
        result = lab_run(
            scope=scope,
            viewer=admin_user(request),
            question=forms.question.text,
            sets=forms.question.sets,
            filters=forms.question.filters,
            as_user=replay.asker if replay else data["as_user"],
            configurations=[form.configuration() for form in forms.active_configurations],
            expected=data["find"],
        )
    except RagError as error:
        return LabState(forms=forms, replay=replay, fault=error_message(error))
    return LabState(forms=forms, replay=replay, result=result)


# ── what the templates want ─────────────────────────────────────────────────────────────────────


def _form_context(request: HttpRequest, state: LabState) -> dict[str, Any]:
    scope = admin_scope(request)
    people = User.objects.filter(tenant=scope.tenant_id, is_active=True).order_by("username")
    return {
        "forms": state.forms,
        "form": state.forms.ask,
        "chosen": set(state.forms.sets),
        "sets": sets_listed(scope=scope).filter(tenant=scope.tenant_id).order_by("axis", "name"),
        "configurations": list(zip("AB", state.forms.configurations, strict=True)),
        "people": people.values_list("username", flat=True)[:PROPOSED_PEOPLE],
        "replay": state.replay,
        "query_string": request.GET.urlencode(),
    }


def _result_context(request: HttpRequest, state: LabState) -> dict[str, Any]:
    result = state.result
    if result is None:
        return {"runs": []}
    runs = [run_view(run, letter=letter, moves=result.moves) for letter, run in zip("AB", result.runs, strict=False)]
    stored = []
    if state.replay is not None:
        stored = stored_views(stored_ranking(scope=admin_scope(request), replay=state.replay, run=result.runs[0]))
    return {
        "result": result,
        "runs": runs,
        "stored": stored,
        "is_comparison": len(runs) > 1,
        "managed_set": _managed_set(request, state.forms.sets),
        **golden_context(request),
    }


def _managed_set(request: HttpRequest, sets: tuple[int, ...]) -> KnowledgeSet | None:
    """The set that a configuration may be written into: the one that is asked, where the person manages it."""
    if len(sets) != 1:
        return None
    return sets_managed(scope=admin_scope(request)).filter(pk=sets[0]).first()
