"""The lab's form: everything that it asks stands in the address, so that a link shows the same again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.scope import Scope
from evaluation.services.lab.replay import Replay
from evaluation.services.lab.types import LabConfiguration, LabQuestion
from knowledge.admin.curation import ids_of
from knowledge.admin.option_forms import NO, YES, OptionsForm
from knowledge.models import KnowledgeSet
from knowledge.selectors.options import OptionGroupShown, options_shown
from knowledge.types import Filters

MAX_QUESTION = 2000
FIELD = {"class": "rs-field"}
MODES = [("hybrid", _("keyword and semantic")), ("bm25", _("keyword only")), ("vector", _("semantic only"))]
STYLES = [
    ("", _("search only")),
    ("report", _("answer: report")),
    ("simple", _("answer: short")),
    ("advanced", _("answer: detailed")),
    ("precise", _("answer: precise")),
]
AXES = [("", _("all categories")), *KnowledgeSet.Axis.choices]


class LabForm(forms.Form):
    """What is asked, where, in whose place, and what should have been found."""

    q = forms.CharField(label=_("Question"), max_length=MAX_QUESTION, widget=forms.Textarea({"rows": 3, **FIELD}))
    axis = forms.ChoiceField(
        label=_("category"), choices=AXES, required=False, widget=forms.Select({"class": "rs-select"})
    )
    tags = forms.CharField(label=_("tags"), required=False, help_text=_("Any of these, separated by commas."))
    capability = forms.CharField(label=_("capability"), required=False, help_text=_("Codes, separated by commas."))
    organisation = forms.CharField(label=_("organisation"), required=False, help_text=_("Codes, separated by commas."))
    attributes = forms.CharField(
        label=_("attributes"),
        required=False,
        help_text=_("name=value, one per line; all must match."),
        widget=forms.Textarea({"rows": 2, **FIELD}),
    )
    find = forms.CharField(
        label=_("Trace a document"),
        required=False,
        max_length=512,
        help_text=_("Title, external id, #number, or #number:passage. Shows at which stage it was dropped and why."),
        widget=forms.TextInput(FIELD),
    )
    as_user = forms.CharField(
        label=_("Ask as"),
        required=False,
        max_length=150,
        help_text=_("A user name. Shows what both of you may read, ranked with that user's profile."),
        widget=forms.TextInput({"list": "lab-people", "autocomplete": "off", **FIELD}),
    )
    compare = forms.BooleanField(label=_("Compare two configurations"), required=False)
    message = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, tenant_id: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tenant_id = tenant_id
        for name in ("tags", "capability", "organisation"):
            self.fields[name].widget.attrs |= FIELD

    def clean_as_user(self) -> User | None:
        name = str(self.cleaned_data["as_user"]).strip()
        if not name:
            return None
        people = User.objects.select_related("tenant").filter(username=name, tenant=self.tenant_id, is_active=True)
        if (user := people.first()) is None:
            raise forms.ValidationError(_("There is no such person."))
        return user

    def clean_attributes(self) -> dict[str, Any]:
        lines = [line for line in str(self.cleaned_data["attributes"]).splitlines() if line.strip()]
        if any("=" not in line for line in lines):
            raise forms.ValidationError(_("name=value, one per line; all must match."))
        pairs = (line.split("=", 1) for line in lines)
        return {name.strip(): _value(text.strip()) for name, text in pairs}

    @property
    def filter_fields(self) -> list[forms.BoundField]:
        """Fields of filters besides the axis."""
        return [self[name] for name in ("tags", "capability", "organisation", "attributes")]

    @property
    def has_filters(self) -> bool:
        return any(self.data.get(name) for name in ("axis", "tags", "capability", "organisation", "attributes"))

    def filters(self) -> Filters:
        """Of a valid form."""
        data = self.cleaned_data
        tags, capability, organisation = (tuple(_words(data[name])) for name in ("tags", "capability", "organisation"))
        return Filters(
            axis=data["axis"] or None,
            tags=tags,
            capability=capability,
            organisation=organisation,
            metadata=data["attributes"],
        )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("，", ",").split(",") if word.strip()]


def _value(text: str) -> Any:
    """JSON where it is a list, an object, a number or true and false; else the text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


# ── configurations ──────────────────────────────────────────────────────────────────────────────


class ConfigurationForm(OptionsForm):
    """Mode, style and the options of searching; what is left empty is inherited."""

    mode = forms.ChoiceField(label=_("search mode"), choices=MODES, required=False)
    style = forms.ChoiceField(label=_("answer style"), choices=STYLES, required=False)

    def __init__(self, group: OptionGroupShown, *args: Any, **kwargs: Any) -> None:
        super().__init__([group], *args, **kwargs)
        for name in ("mode", "style"):
            self.fields[name].widget.attrs["class"] = "rs-select"

    def configuration(self) -> LabConfiguration:
        """Of a valid form."""
        data = self.cleaned_data
        overrides = {name: value for name, value in self.values()["retrieval"].items() if value is not None}
        return LabConfiguration(mode=data["mode"] or "hybrid", style=data["style"], options=overrides)

    @property
    def mode_field(self) -> forms.BoundField:
        return self["mode"]

    @property
    def style_field(self) -> forms.BoundField:
        return self["style"]

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors)

    @property
    def changed(self) -> int:
        """How many options have a value of their own."""
        return len(self.configuration().options) if self.is_valid() else 0


def retrieval_group(*, scope: Scope, sets: Sequence[int]) -> OptionGroupShown:
    """The options of searching as they are in force for these sets; in the lab all of them may be overridden."""
    groups = options_shown(scope=scope, set_id=sets[0] if len(sets) == 1 else None, is_lab=True)
    group = next(one for one in groups if one.code == "retrieval")
    return replace(group, options=tuple(replace(o, inherited=o.value, own=None) for o in group.options))


@dataclass(frozen=True, slots=True)
class LabForms:
    """The forms of one request; `data` is its query string or body."""

    ask: LabForm
    configurations: tuple[ConfigurationForm, ...]
    sets: tuple[int, ...]

    @property
    def is_valid(self) -> bool:
        every = [self.ask.is_valid(), *(form.is_valid() for form in self.active_configurations)]
        return all(every)

    @property
    def active_configurations(self) -> tuple[ConfigurationForm, ...]:
        """The second configuration counts where a comparison is wanted only."""
        return self.configurations if self.ask.data.get("compare") else self.configurations[:1]

    @property
    def question(self) -> LabQuestion:
        """Of valid forms."""
        return LabQuestion(text=self.ask.cleaned_data["q"], sets=self.sets, filters=self.ask.filters())


def lab_forms(data: QueryDict, *, scope: Scope) -> LabForms:
    """Bound where something is asked. Raises NotFoundError for a set that does not exist."""
    sets = tuple(dict.fromkeys(ids_of(data.getlist("set"))))
    group = retrieval_group(scope=scope, sets=sets)
    bound = data if data.get("q") else None
    return LabForms(
        LabForm(bound, tenant_id=scope.tenant_id, initial=data.dict()),
        tuple(ConfigurationForm(group, bound, prefix=prefix) for prefix in ("a", "b")),
        sets,
    )


# ── addresses ───────────────────────────────────────────────────────────────────────────────────


def address_of(
    question: LabQuestion, *, configuration: LabConfiguration | None = None, find: str = "", **others: str
) -> str:
    """The query string that fills the form like this."""
    query = QueryDict(mutable=True)
    query["q"] = question.text
    query.setlist("set", [str(pk) for pk in question.sets])
    filters = question.filters
    texts = {"axis": filters.axis or "", "attributes": _lines(filters.metadata), "find": find, **others}
    texts |= {name: ",".join(getattr(filters, name)) for name in ("tags", "capability", "organisation")}
    if configuration is not None:
        texts |= {"a-mode": configuration.mode, "a-style": configuration.style}
        texts |= {f"a-retrieval.{name}": _entered(value) for name, value in configuration.options.items()}
    for name, text in texts.items():
        if text:
            query[name] = text
    return query.urlencode()


def replay_address(replay: Replay) -> str:
    """A stored question as it was asked, in the place of its asker."""
    return address_of(
        replay.question,
        configuration=replay.configuration,
        message=str(replay.message.pk),
        as_user=replay.asker.username,
    )


def _entered(value: Any) -> str:
    return (YES if value else NO) if isinstance(value, bool) else str(value)


def _lines(metadata: Mapping[str, Any]) -> str:
    """Texts that would read as JSON are quoted, so that they stay texts."""
    return "\n".join(f"{name}={_line_value(value)}" for name, value in metadata.items())


def _line_value(value: Any) -> str:
    if isinstance(value, str) and _value(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)
