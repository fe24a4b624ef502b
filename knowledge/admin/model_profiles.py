"""Page of what an exam found of a language model, and of what a person sets instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from knowledge.admin.site_models import changes_models
from knowledge.exam_task_words import task_rows
from knowledge.model_exam_words import JSON_WAYS, WAYS, profile_groups
from knowledge.model_setup import ModelSpec, setup_now, setup_refresh
from knowledge.model_verdicts import refusals_reason, verdict_of
from knowledge.models import LanguageModel, ModelExam
from knowledge.services.exam_states import exam_states
from knowledge.services.model_exams import exam_override, exam_start, other_model
from ragcore.llm.exam_tasks import exam_tasks
from ragcore.llm.model_profile import UNTESTED, parse_profile

AS_FOUND = ("", _("as the exam found"))
YES_NO = (AS_FOUND, ("yes", _("yes")), ("no", _("no")))
FLAGS: Mapping[str, Any] = {
    "believes_refusals": _("Its refusals are believed"),
    "judges": _("Its grades are used"),
    "checks": _("Is asked whether a quotation answers"),
    "has_system_role": _("Follows the system message"),
    "obeys_documents": _("Follows orders in documents"),
    "thinks": _("Thinks before it answers"),
    "thinks_first": _("Its thoughts begin without a sign of their own"),
}
NUMBERS: Mapping[str, Any] = {
    "context_tokens": _("Longest prompt read, in tokens"),
    "first_token_seconds": _("Seconds to the first word"),
    "reading_speed": _("Tokens read a second"),
    "writing_speed": _("Tokens written a second"),
}


class ProfileForm(forms.Form):
    """Fields of a profile; an empty one stays as the exam found it."""

    way = forms.ChoiceField(
        label=_("Way of writing"), required=False, choices=(AS_FOUND, *WAYS.items()), widget=UnfoldAdminSelectWidget
    )
    json = forms.ChoiceField(
        label=_("JSON"), required=False, choices=(AS_FOUND, *JSON_WAYS.items()), widget=UnfoldAdminSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in FLAGS.items():
            self.fields[name] = forms.ChoiceField(
                label=label, required=False, choices=YES_NO, widget=UnfoldAdminSelectWidget
            )
        for name, label in NUMBERS.items():
            is_whole = name == "context_tokens"
            kind: type[forms.IntegerField] = forms.IntegerField if is_whole else forms.FloatField
            widget = UnfoldAdminIntegerFieldWidget if is_whole else UnfoldAdminDecimalFieldWidget
            least = 512 if is_whole else 0.01
            self.fields[name] = kind(label=label, required=False, min_value=least, widget=widget)  # type: ignore[arg-type]

    @property
    def overrides(self) -> dict[str, Any]:
        """What was set."""
        chosen = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        return {name: value == "yes" if name in FLAGS else value for name, value in chosen.items()}


def as_initial(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides as the form shows them."""
    return {name: ("yes" if value else "no") if isinstance(value, bool) else value for name, value in overrides.items()}


@admin_page(
    "profile/<str:fingerprint>/", of=LanguageModel, name="knowledge_languagemodel_profile", allowed=changes_models
)
def profile_view(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """GET: the profile of a model in use; POST: examine it (`act` = exam), or set fields of its profile by hand."""
    setup_refresh(now=True)
    spec = _spec(fingerprint)
    exam = ModelExam.objects.filter(fingerprint=fingerprint).first()
    overrides = exam.overrides if exam is not None else {}
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    if request.method == "POST" and request.POST.get("act") == "exam":
        exam_start(spec=spec, **who)
        messages.success(request, _("The exam has been started."))
        return redirect("admin:knowledge_languagemodel_profile", fingerprint)
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=as_initial(overrides))
    if form.is_bound and form.is_valid():
        exam_override(spec=spec, values=form.overrides, **who)
        messages.success(request, _("The profile was changed."))
        return redirect("admin:knowledge_languagemodel_profile", fingerprint)
    profile = parse_profile({**(exam.profile if exam else {}), **overrides})
    results = exam.results if exam is not None else []
    return page_response(
        request,
        "admin/knowledge/languagemodel/profile.html",
        {
            "title": _("Profile of %(name)s") % {"name": spec.name},
            "exam": exam,
            "is_quoting": spec.profile.way == "quote",
            "verdict": verdict_of(profile, overrides=overrides) if exam is not None else None,
            "groups": profile_groups(profile, results=results, refusals_reason=refusals_reason(profile)),
            "tasks": task_rows(results),
            "is_set_by_hand": bool(overrides) or form.is_bound,
            "model_name": spec.name,
            "model_page": _model_page(spec),
            "task_count": len(exam_tasks()),
            "state": exam_states([fingerprint])[fingerprint],
            "other_model": other_model(spec, exam),
            "set_tokens": spec.context_tokens if _is_set_too_large(spec, exam) else None,
            "form": form,
        },
    )


def _is_set_too_large(spec: ModelSpec, exam: ModelExam | None) -> bool:
    """Whether prompts may be longer than what the server reads of them."""
    profile = parse_profile({**exam.profile, **exam.overrides}) if exam is not None else UNTESTED
    is_known = bool(profile.overflow and profile.context_tokens and spec.context_tokens)
    return is_known and spec.context_tokens > profile.context_tokens  # type: ignore[operator]


def _spec(fingerprint: str) -> ModelSpec:
    for spec in setup_now().models.values():
        if spec.fingerprint == fingerprint and spec.endpoints:
            return spec
    raise Http404


def _model_page(spec: ModelSpec) -> str:
    """Where the model is changed; "" for one that the environment sets."""
    row = None if spec.is_locked else LanguageModel.objects.filter(name=spec.name).first()
    return reverse("admin:knowledge_languagemodel_change", args=[row.pk]) if row is not None else ""
