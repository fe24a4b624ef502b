"""The form of a new evaluation run: what is asked, and with which configurations."""

from __future__ import annotations

from typing import Any, get_args

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.error_messages import error_message
from evaluation.models import GoldenSet, RunConfiguration
from evaluation.services.runs import MOST_CONFIGURATIONS, ConfigurationPlan
from knowledge.services.options import options_merge
from knowledge.types import RetrievalMode
from ragcore.errors import InvalidOptionsError
from ragcore.options import OPTION_GROUPS, option_fields

SEARCH_MODE = "search.mode"  # not an option of a set, but of one question
READY: dict[str, tuple[Any, ConfigurationPlan]] = {
    "live": (_("Live settings"), ConfigurationPlan(name="live")),
    **{
        mode: (label, ConfigurationPlan(name=mode, options={"answer": {"mode": mode}}))
        for mode, label in (
            ("basic", _("Mode basic")),
            ("enhanced", _("Mode enhanced")),
            ("agentic", _("Mode agentic")),
            ("ultimate", _("Mode ultimate")),
        )
    },
    "self_rag": (
        _("Strategy Self-RAG"),
        ConfigurationPlan(name="self_rag", options={"answer": {"strategy": "self_rag"}}),
    ),
    "adaptive": (
        _("Strategy adaptive"),
        ConfigurationPlan(name="adaptive", options={"answer": {"strategy": "adaptive"}}),
    ),
    "fast": (_("Preset fast"), ConfigurationPlan(name="fast", options={"answer": {"preset": "fast"}})),
    "no_rerank": (
        _("Without reranking"),
        ConfigurationPlan(name="no_rerank", options={"retrieval": {"rerank": False}}),
    ),
    "bm25": (_("Keywords only"), ConfigurationPlan(name="bm25", retrieval_mode="bm25")),
    "vector": (_("Semantic only"), ConfigurationPlan(name="vector", retrieval_mode="vector")),
}
OWN = 2  # configurations with options of one's own


class RunForm(forms.Form):
    """A golden set, a component, and 1 to 6 configurations."""

    golden_set = forms.ModelChoiceField(
        queryset=GoldenSet.objects.none(), label=_("Golden set"), widget=UnfoldAdminSelectWidget
    )
    component = forms.ChoiceField(
        choices=RunConfiguration.Component.choices,
        initial=RunConfiguration.Component.ANSWER,
        label=_("What runs"),
        widget=UnfoldAdminSelectWidget,
    )
    ready = forms.MultipleChoiceField(
        choices=[(code, label) for code, (label, _plan) in READY.items()],
        required=False,
        initial=["live"],
        label=_("Configurations"),
        widget=forms.CheckboxSelectMultiple,
    )
    name_1 = forms.CharField(label=_("Name"), max_length=100, required=False, widget=UnfoldAdminTextInputWidget)
    options_1 = forms.CharField(
        label=_("Settings"), max_length=4000, required=False, widget=UnfoldAdminTextareaWidget({"rows": 3})
    )
    name_2 = forms.CharField(label=_("Name"), max_length=100, required=False, widget=UnfoldAdminTextInputWidget)
    options_2 = forms.CharField(
        label=_("Settings"), max_length=4000, required=False, widget=UnfoldAdminTextareaWidget({"rows": 3})
    )
    limit = forms.IntegerField(
        label=_("First cases only"),
        required=False,
        min_value=1,
        max_value=100_000,
        widget=UnfoldAdminTextInputWidget({"type": "number", "inputmode": "numeric"}),
        help_text=_("Empty: all."),
    )

    def __init__(self, *args: Any, golden_sets: QuerySet[GoldenSet], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["golden_set"].queryset = golden_sets  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        component = values.get("component", RunConfiguration.Component.ANSWER)
        plans = [_with(READY[code][1], component) for code in values.get("ready") or ()]
        for number in range(1, OWN + 1):
            name, text = values.get(f"name_{number}", "").strip(), values.get(f"options_{number}", "")
            if not name and not text.strip():
                continue
            if not name:
                self.add_error(f"name_{number}", _("A configuration needs a name."))
                continue
            try:
                plans.append(plan_read(name, text, component))
            except InvalidOptionsError as error:
                self.add_error(f"options_{number}", error_message(error))
        if not self.errors and not 1 <= len(plans) <= MOST_CONFIGURATIONS:
            self.add_error("ready", _("Choose between 1 and 6 configurations."))
        values["plans"] = plans
        return values

    def values(self) -> dict[str, Any]:
        """The arguments of `run_start`."""
        data = self.cleaned_data
        return {"golden_set": data["golden_set"], "configurations": data["plans"], "limit": data["limit"]}


def _with(plan: ConfigurationPlan, component: str) -> ConfigurationPlan:
    return ConfigurationPlan(
        name=plan.name, component=component, retrieval_mode=plan.retrieval_mode, options=plan.options
    )


def plan_read(name: str, text: str, component: str) -> ConfigurationPlan:
    """A configuration of lines `group.option = value`; `search.mode` is hybrid, vector or bm25.

    Raises InvalidOptionsError that names every fault.
    """
    options: dict[str, dict[str, Any]] = {}
    mode: RetrievalMode = "hybrid"
    faults = []
    for line in filter(None, map(str.strip, text.splitlines())):
        key, sign, raw = (part.strip() for part in line.partition("="))
        group, _dot, option = key.partition(".")
        if key == SEARCH_MODE and raw in get_args(RetrievalMode) and raw != "graph":
            mode = raw  # type: ignore[assignment]
        elif not sign or group not in OPTION_GROUPS or option not in option_fields(OPTION_GROUPS[group].options):
            faults.append(f"{line!r} is not an option with a value")
        else:
            options.setdefault(group, {})[option] = _value_of(
                option_fields(OPTION_GROUPS[group].options)[option].kind, raw
            )
    if faults:
        raise InvalidOptionsError("faults", faults=faults)
    options_merge({}, options, layer=name)
    return ConfigurationPlan(name=name, component=component, retrieval_mode=mode, options=options)


def _value_of(kind: type, raw: str) -> Any:
    """The value as its type; what cannot be read stays a text, which the option then refuses."""
    if kind is bool:
        return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(raw.lower(), raw)
    if kind in (int, float):
        try:
            return kind(raw)
        except ValueError:
            return raw
    return raw
