"""What the lab writes: golden cases, and a configuration into its knowledge set after a confirmation."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from evaluation.admin.lab_forms import ConfigurationForm, lab_forms
from evaluation.selectors import golden_sets_listed
from evaluation.services.lab_export import CASE_TAGS, golden_case_save
from knowledge.admin.curation import ids_of, run_action
from knowledge.admin.option_forms import shown
from knowledge.selectors import sets_managed
from knowledge.services.options import set_options_update
from ragcore.errors import RagError

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


def golden_context(request: HttpRequest) -> dict[str, Any]:
    """Golden sets and tags to choose from."""
    scope = admin_scope(request)
    return {
        "golden_sets": golden_sets_listed(scope=scope).filter(tenant=scope.tenant_id).order_by("name"),
        "case_tags": [
            (group, TAG_WORDS[group], [(value, TAG_WORDS[value]) for value in values])
            for group, values in CASE_TAGS.items()
        ],
    }


def golden_view(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponse:
    """POST: save the question with the ticked documents, then show the lab as it was."""
    del context
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
        f"{group}:{value}" for group, values in CASE_TAGS.items() if (value := request.POST.get(group, "")) in values
    ]
    own = request.POST.get("tags", "").replace("，", ",").split(",")
    return [*chosen, *(tag.strip() for tag in own if tag.strip())]


# ── into the set ────────────────────────────────────────────────────────────────────────────────


def apply_view(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponse:
    """GET: what would change, by name; POST: write it into the options of the set."""
    scope = admin_scope(request)
    form, set_id = _chosen(request)
    found = sets_managed(scope=scope).filter(pk=set_id).first()
    if found is None:
        raise Http404
    values = form.configuration().options
    back = f"{reverse('admin:evaluation_lab')}?{request.GET.urlencode()}"
    if request.method == "POST":
        return run_action(
            request,
            lambda: set_options_update(
                scope=scope, actor=admin_user(request), set_id=found.pk, options={"retrieval": values}
            ),
            done=_("Saved. “%(name)s” is now searched with these settings.") % {"name": found.name},
            back=back,
        )
    lines = [
        (option.label, shown(option.value), shown(values[option.name]))
        for option in form.groups[0].options
        if option.name in values
    ]
    title = _("Apply these settings to “%(name)s”?") % {"name": found.name}
    page = {**context, "title": title, "set": found, "lines": lines, "back": back}
    return TemplateResponse(request, "admin/evaluation/lab/apply.html", page)


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
