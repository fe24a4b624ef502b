"""Options as typed forms: an empty field inherits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.file_field import FileDropInput
from knowledge.selectors.options import OptionGroupShown, OptionShown, Stored, shown, value_label
from ragcore.options.declaration import LINE

YES, NO = "true", "false"
EMPTY_WORD = "-"  # the choice of an empty word; an empty field inherits

FORMAT = "ragsite-options-1"
MAX_BYTES = 256 * 1024  # all options with long values are a hundredth of it


@dataclass(frozen=True, slots=True)
class Line:
    """One option beside its field."""

    option: OptionShown
    field: forms.BoundField
    origin: str  # 60 (from the site)


@dataclass(frozen=True, slots=True)
class Lines:
    """The options of a group: those for every day, and the advanced ones, which a form folds."""

    every: tuple[Line, ...]

    def __iter__(self) -> Iterator[Line]:
        return iter(self.every)

    @property
    def everyday(self) -> list[Line]:
        return [line for line in self.every if line.option.is_everyday]

    @property
    def advanced(self) -> list[Line]:
        return [line for line in self.every if not line.option.is_everyday]

    @property
    def has_faults(self) -> bool:
        """Whether the fold must be open: an advanced option was refused."""
        return any(line.field.errors for line in self.advanced)


class OptionsForm(forms.Form):
    """One field an option, named `group.option`; empty: inherit, on the page of a site the built-in default."""

    def __init__(self, groups: Iterable[OptionGroupShown], *args: Any, of_site: bool = False, **kwargs: Any) -> None:
        self.groups = tuple(groups)
        super().__init__(*args, **kwargs)
        for group in self.groups:
            for option in group.options:
                self.fields[f"{group.code}.{option.name}"] = field_for(option, of_site=of_site)
        self.initial = {
            f"{group.code}.{option.name}": as_entered(option.own) for group in self.groups for option in group.options
        }

    def lines(self) -> list[tuple[OptionGroupShown, Lines]]:
        """Groups with their options, each with its field and where its value comes from."""
        return [
            (group, Lines(tuple(Line(o, self[f"{group.code}.{o.name}"], origin_label(o)) for o in group.options)))
            for group in self.groups
        ]

    def values(self) -> dict[str, dict[str, Any]]:
        """What was entered, by group; None takes an own value back."""
        data = self.cleaned_data
        return {g.code: {o.name: data[f"{g.code}.{o.name}"] for o in g.options} for g in self.groups}


class TextField(forms.CharField):
    """Free words; empty inherits, and a hyphen alone stands for no words where others would be inherited."""

    def __init__(self, option: OptionShown, **common: Any) -> None:
        if option.inherited:
            common["help_text"] = " ".join(filter(None, (common["help_text"], _("“-” stands for none."))))
        attributes: dict[str, Any] = {"placeholder": option.inherited}
        is_long = option.longest > LINE
        widget = forms.Textarea({**attributes, "rows": 2}) if is_long else forms.TextInput(attributes)
        super().__init__(max_length=option.longest, empty_value=None, widget=widget, **common)

    def clean(self, value: Any) -> str | None:
        cleaned = super().clean(value)
        return None if cleaned is None else _word(cleaned)


def field_for(option: OptionShown, *, of_site: bool = False) -> forms.Field:
    """A field that refuses what the option refuses."""
    left_empty = _("built-in default: %(value)s") if of_site else _("inherited: %(value)s")
    common: dict[str, Any] = {"required": False, "label": option.label, "help_text": option.help}
    if option.kind == "bool":
        inherited = left_empty % {"value": shown(option.inherited)}
        choices = [("", inherited), (YES, _("yes")), (NO, _("no"))]
        return forms.TypedChoiceField(choices=choices, coerce=lambda value: value == YES, empty_value=None, **common)
    if option.choices:
        words = [(value or EMPTY_WORD, label) for value, label in option.choices]
        inherited = left_empty % {"value": value_label(option.group, option.name, option.inherited)}
        choices = [("", inherited), *words]
        return forms.TypedChoiceField(choices=choices, coerce=_word, empty_value=None, **common)
    if option.kind == "str":
        return TextField(option, **common)
    kind, step = (forms.IntegerField, "1") if option.kind == "int" else (forms.FloatField, "any")
    number = forms.NumberInput({"placeholder": f"{option.inherited:g}", "step": step, "inputmode": "decimal"})
    return kind(min_value=option.low, max_value=option.high, widget=number, **common)  # type: ignore[arg-type]


def origin_label(option: OptionShown) -> str:
    """`60 (from the site)`."""
    return _("%(value)s (%(origin)s)") % {
        "value": value_label(option.group, option.name, option.value),
        "origin": layer_label(option.origin, option),
    }


def layer_label(origin: str, option: OptionShown | None = None) -> str:
    """The layer that a value comes from, in words."""
    if option is not None and option.own is not None:
        return _("set here")
    if origin == "default":
        return _("default")
    if origin == "site":
        return _("site default")
    if origin == "document":
        return _("this document")
    return _("knowledge set %(code)s") % {"code": origin.removeprefix("set ")}


def as_entered(value: Any) -> Any:
    """An own value as its field holds it; None: inherited."""
    if isinstance(value, bool):
        return YES if value else NO
    return EMPTY_WORD if value == "" else value


def entered(options: Stored) -> dict[str, str]:
    """Options as the data of a form: what a person would have entered."""
    return {
        f"{code}.{name}": str(as_entered(value))
        for code, values in options.items()
        for name, value in values.items()
        if value is not None
    }


def _word(value: str) -> str:
    return "" if value == EMPTY_WORD else value


def without(data: Mapping[str, Any], name: str) -> Any:
    """The data of a form with one field emptied: what its reset button sends."""
    changed = data.copy()  # type: ignore[attr-defined]  # a QueryDict
    changed[name] = ""
    return changed


# ── files of options ──────────────────────────────────────────────────────────────────────────────


class ImportForm(forms.Form):
    """A file, or its text; `options` holds what it says once the form is valid."""

    file = forms.FileField(
        label=gettext_lazy("File"), required=False, widget=FileDropInput({"accept": ".json,application/json"})
    )
    text = forms.CharField(label=gettext_lazy("or its text"), required=False, widget=forms.Textarea({"rows": 8}))
    note = forms.CharField(label=gettext_lazy("Change note (optional)"), required=False, max_length=256)

    options: Stored = {}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        self.options = options_read(self._content(data))
        self.content = json.dumps({"format": FORMAT, "options": self.options}, ensure_ascii=False)
        return data

    def _content(self, data: dict[str, Any]) -> str:
        uploaded = data.get("file")
        if uploaded is None:
            return str(data.get("text", ""))
        if uploaded.size > MAX_BYTES:
            raise forms.ValidationError(_("The file is too large for a settings file."))
        try:
            return str(uploaded.read().decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise forms.ValidationError(_("This is not a settings file.")) from None


def options_read(text: str) -> Stored:
    """The options in a file. Raises forms.ValidationError; unknown options and values are for `faults_of`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise forms.ValidationError(_("This is not a settings file.")) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise forms.ValidationError(_("This is not a settings file."))
    options = content.get("options")
    if not isinstance(options, dict) or not all(isinstance(values, dict) for values in options.values()):
        raise forms.ValidationError(_("This is not a settings file."))
    return options


def faults_of(groups: Iterable[OptionGroupShown], options: Stored) -> list[str]:
    """Every unknown option and every value that its field would refuse, each as a sentence that names the option."""
    declared = {group.code: {option.name: option for option in group.options} for group in groups}
    faults = []
    for code, values in options.items():
        for name, value in values.items():
            if name not in declared.get(code, {}):
                faults.append(_("There is no setting %(name)s.") % {"name": f"{code}.{name}"})
            elif not _fits(declared[code][name].kind, value):
                faults.append(_("%(name)s: wrong type of value.") % {"name": f"{code}.{name}"})
        if code not in declared and not values:
            faults.append(_("There is no setting %(name)s.") % {"name": code})
    form = OptionsForm(groups, entered(options))
    return faults or [f"{name}: {fault}" for name, messages in form.errors.items() for fault in messages]


def _fits(kind: str, value: Any) -> bool:
    """Whether a JSON value is of an option's type: `true` is no number, and 7.0 is no whole one."""
    allowed: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
    return value is None or (isinstance(value, allowed[kind]) and (kind == "bool" or not isinstance(value, bool)))
