"""The form of a new evaluation run: what is asked, and with which configurations."""

from __future__ import annotations

from math import isfinite
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.error_messages import error_message
from evaluation.models import GoldenSet, RunConfiguration
from evaluation.services.runs.lifecycle import MOST_CONFIGURATIONS
from evaluation.services.runs.plan_text import plan_read
from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.admin.source_forms import CapitalLabels, PairsField
from ragcore.errors import InvalidOptionsError
from ragcore.metrics.registry import all_metrics
from ragcore.options.choices import MODE_CHOICES

READY: dict[str, tuple[Any, ConfigurationPlan]] = {
    "live": (_("Live settings"), ConfigurationPlan(name="live")),
    **{
        choice.value: (
            format_lazy("{mode}: {name}", mode=_("Mode"), name=gettext_lazy(choice.name)),
            ConfigurationPlan(name=choice.value, options={"answer": {"mode": choice.value}}),
        )
        for choice in MODE_CHOICES
    },
    "self_rag": (
        _("Strategy: Self-RAG"),
        ConfigurationPlan(name="self_rag", options={"answer": {"strategy": "self_rag"}}),
    ),
    "adaptive": (
        _("Strategy: Adaptive"),
        ConfigurationPlan(name="adaptive", options={"answer": {"strategy": "adaptive"}}),
    ),
    "fast": (_("Preset: Fast"), ConfigurationPlan(name="fast", options={"answer": {"preset": "fast"}})),
    "no_rerank": (
        _("Without reranking"),
        ConfigurationPlan(name="no_rerank", options={"retrieval": {"rerank": False}}),
    ),
    "graph_on": (_("With the graph"), ConfigurationPlan(name="graph_on", options={"retrieval": {"graph": "on"}})),
    "graph_off": (_("Without the graph"), ConfigurationPlan(name="graph_off", options={"retrieval": {"graph": "off"}})),
    "graph": (_("Graph only"), ConfigurationPlan(name="graph", retrieval_mode="graph")),
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
        label=_("Component"),
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
        help_text=_("If empty, all."),
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


class FloorsField(PairsField):
    """One `metric = value` a line."""

    def to_python(self, value: Any) -> Any:
        pairs = super().to_python(value)
        unknown = [name for name in pairs if name not in all_metrics()]
        if unknown:
            known = ", ".join(all_metrics())
            raise forms.ValidationError(_("Unknown figures. There are: %(known)s.") % {"known": known})
        try:
            floors = {name: float(number) for name, number in pairs.items()}
            if not all(isfinite(floor) for floor in floors.values()):
                raise ValueError
            return floors
        except ValueError as error:
            raise forms.ValidationError(_("Each line is a figure, an equals sign and a number.")) from error


class GoldenSetForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """A golden set with the lowest values that settings may have."""

    floors = FloorsField(
        label=_("lowest values"),
        help_text=_("One per line, such as ndcg@10 = 0.8. Settings with a lower value are not published."),
    )
