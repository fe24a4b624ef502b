"""The retrieval lab: why a passage came first or was dropped, for curators and reviewers; what it writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from accounts.models import User
from accounts.services import audit_record
from chat.admin import is_reviewer
from evaluation.admin.base import judges_quality
from evaluation.admin.lab_forms import ConfigurationForm, LabForms, address_of, lab_forms, replay_address
from evaluation.admin.lab_view_models import run_view, stored_views
from evaluation.models import GoldenCase
from evaluation.selectors import cases_withheld, golden_sets_kept, golden_sets_listed
from evaluation.services.lab.export import CASE_FIELDS, golden_case_save, lab_json
from evaluation.services.lab.replay import Replay, replay_get, stored_ranking
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabQuestion, LabResult
from knowledge.admin.curation import ids_of, run_action
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_listed, sets_managed
from knowledge.selectors.options import shown
from knowledge.services.options import set_options_update
from ragcore.errors import RagError
from ragcore.options import RetrievalOptions, for_comparing

PROPOSED_PEOPLE = 200  # names that the form proposes; any other may be typed
LAB = "admin:evaluation_lab"

TAG_WORDS = {
    "target": gettext_lazy("answer type"),
    "structure": pgettext_lazy("golden case", "location"),
    "robustness": gettext_lazy("difficulty"),
    "style": gettext_lazy("phrasing"),
    "text": gettext_lazy("text"),
    "table": gettext_lazy("table"),
    "figure": gettext_lazy("figure"),
    "attachment": gettext_lazy("attachment"),
    "code": gettext_lazy("program code"),
    "sentence": gettext_lazy("single sentence"),
    "long_text": gettext_lazy("long text"),
    "several_passages": gettext_lazy("multiple passages"),
    "heading_level": gettext_lazy("under a heading"),
    "synonyms": gettext_lazy("synonyms"),
    "jargon": gettext_lazy("jargon"),
    "special_words": gettext_lazy("rare terms"),
    "original": gettext_lazy("verbatim"),
    "summarised": gettext_lazy("short intent"),
    "with_errors": gettext_lazy("with typos"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabState:
    """The forms of a request, the stored answer that it replays, and the result or the error."""

    forms: LabForms
    replay: Replay | None = None
    result: LabResult | None = None
    fault: str = ""


@admin_page("lab/", of=GoldenCase, name="evaluation_lab", allowed=judges_quality)
def lab_view(request: HttpRequest) -> HttpResponseBase:
    """The page. `?case=` and `?message=` lead to the address that asks the same."""
    if "q" not in request.GET and (start := _start(request)):
        return redirect(f"{reverse(LAB)}?{start}")
    state = _state(request)
    page = {
        **_form_context(request, state),
        **_result_context(request, state),
        "title": _("Retrieval lab"),
        "fault": state.fault,
    }
    return page_response(request, "admin/evaluation/lab/page.html", page)


@admin_page("lab/export/", of=GoldenCase, name="evaluation_lab_export", allowed=judges_quality)
def export_view(request: HttpRequest) -> HttpResponseBase:
    """Everything that the page shows, as JSON."""
    state = _state(request)
    if state.result is None:
        raise Http404
    audit_record(actor=admin_user(request), action="lab.export", target="lab")
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
        case_row = get_object_or_404(rows.select_related("golden_set"), pk=int(case))
        sets = tuple(case_row.golden_set.sets.values_list("pk", flat=True))
        is_withheld = cases_withheld(scope=scope, cases=rows.filter(pk=case_row.pk)).exists()
        find = "" if is_withheld else next(iter(case_row.relevant), "")
        return address_of(LabQuestion(text=case_row.question, sets=sets), find=find)
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


def golden_context(request: HttpRequest) -> dict[str, Any]:
    """Golden sets and tags to choose from."""
    scope = admin_scope(request)
    return {
        "golden_sets": golden_sets_kept(scope=scope, actor=admin_user(request))
        .filter(tenant=scope.tenant_id)
        .order_by("name"),
        "case_tags": [
            (group, TAG_WORDS[group], [(value, TAG_WORDS[value]) for value in values])
            for group, values in CASE_FIELDS.items()
        ],
    }


@admin_page("lab/golden/", of=GoldenCase, name="evaluation_lab_golden", allowed=judges_quality)
def golden_view(request: HttpRequest) -> HttpResponse:
    """POST: save the question with the ticked documents, then show the lab as it was."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    back = f"{reverse('admin:evaluation_lab')}?{request.GET.urlencode()}"
    chosen = ids_of([request.POST.get("golden_set", "")])
    try:
        case = golden_case_save(
            scope=admin_scope(request),
            actor=admin_user(request),
            golden_set_id=chosen[0] if chosen else 0,
            question=request.POST.get("question", ""),
            documents=ids_of(request.POST.getlist("relevant")),
            answers=request.POST.get("answers", "").splitlines(),
            tags=_tags(request),
        )
    except RagError as error:
        messages.error(request, error_message(error))
        return redirect(back)
    address = reverse("admin:evaluation_goldencase_change", args=[case.pk])
    words = _("Saved as a golden case of “%(name)s”.") % {"name": case.golden_set.name}
    messages.success(request, format_html('{} <a class="rs-link" href="{}">{}</a>', words, address, _("Open")))
    return redirect(back)


def _tags(request: HttpRequest) -> list[str]:
    chosen = [
        f"{group}:{value}" for group, values in CASE_FIELDS.items() if (value := request.POST.get(group, "")) in values
    ]
    tags = request.POST.get("tags", "").replace("，", ",").split(",")
    return [*chosen, *(tag.strip() for tag in tags if tag.strip())]


# ── into the set ────────────────────────────────────────────────────────────────────────────────


@admin_page("lab/apply/", of=GoldenCase, name="evaluation_lab_apply", allowed=judges_quality)
def apply_view(request: HttpRequest) -> HttpResponse:
    """GET: what would change, by name; POST: write it into the options of the set."""
    scope = admin_scope(request)
    form, set_id = _chosen(request)
    home = sets_managed(scope=scope).filter(pk=set_id).first()
    if home is None:
        raise Http404
    fixed = for_comparing(RetrievalOptions)  # versions are switched on by the page of their kind
    values = {name: value for name, value in form.configuration().options.items() if name not in fixed}
    back = f"{reverse('admin:evaluation_lab')}?{request.GET.urlencode()}"
    if request.method == "POST":
        return run_action(
            request,
            lambda: set_options_update(
                scope=scope, actor=admin_user(request), set_id=home.pk, options={"retrieval": values}
            ),
            done=_("Saved. “%(name)s” is now searched with these settings.") % {"name": home.shown_name},
            back=back,
        )
    lines = [
        (option.label, shown(option.value), shown(values[option.name]))
        for option in form.groups[0].options
        if option.name in values
    ]
    title = _("Apply these settings to “%(name)s”?") % {"name": home.shown_name}
    page = {"title": title, "set": home, "lines": lines, "back": back}
    return page_response(request, "admin/evaluation/lab/apply.html", page)


def _chosen(request: HttpRequest) -> tuple[ConfigurationForm, int]:
    """The configuration that is asked for and the one set of the address."""
    try:
        forms = lab_forms(request.GET, scope=admin_scope(request))
    except RagError as error:
        raise Http404(error.message) from error
    form = forms.configurations[1 if request.GET.get("which") == "b" else 0]
    if len(forms.sets) != 1 or not form.is_bound or not form.is_valid():
        raise Http404
    return form, forms.sets[0]
