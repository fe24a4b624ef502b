"""Reading a file of options (V14)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from knowledge.admin.option_forms import OptionsForm, entered
from knowledge.selectors.options import OptionGroupShown, Stored

FORMAT = "ragsite-options-1"
MAX_BYTES = 256 * 1024  # all options with long values are a hundredth of it


class ImportForm(forms.Form):
    """A file, or its text; `options` holds what it says once the form is valid."""

    file = forms.FileField(label=gettext_lazy("File"), required=False)
    text = forms.CharField(label=gettext_lazy("or its text"), required=False, widget=forms.Textarea({"rows": 8}))
    note = forms.CharField(label=gettext_lazy("Note for the history"), required=False, max_length=256)

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
            raise forms.ValidationError(_("This is too large for a file of options."))
        try:
            return str(uploaded.read().decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise forms.ValidationError(_("This is no file of options.")) from None


def options_read(text: str) -> Stored:
    """The options in a file. Raises forms.ValidationError; unknown options and values are for `faults_of`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise forms.ValidationError(_("This is no file of options.")) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise forms.ValidationError(_("This is no file of options."))
    options = content.get("options")
    if not isinstance(options, dict) or not all(isinstance(values, dict) for values in options.values()):
        raise forms.ValidationError(_("This is no file of options."))
    return options


def faults_of(groups: Iterable[OptionGroupShown], options: Stored) -> list[str]:
    """Every unknown option and every value that its field would refuse, each as a sentence that names the option."""
    known = {group.code: {option.name: option for option in group.options} for group in groups}
    faults = []
    for code, values in options.items():
        for name, value in values.items():
            if name not in known.get(code, {}):
                faults.append(_("There is no option %(name)s.") % {"name": f"{code}.{name}"})
            elif not _fits(known[code][name].kind, value):
                faults.append(_("%(name)s: this is a value of another type.") % {"name": f"{code}.{name}"})
        if code not in known and not values:
            faults.append(_("There is no option %(name)s.") % {"name": code})
    form = OptionsForm(groups, entered(options))
    return faults or [f"{name}: {fault}" for name, found in form.errors.items() for fault in found]


def _fits(kind: str, value: Any) -> bool:
    """Whether a JSON value is of an option's type: `true` is no number, and 7.0 is no whole one."""
    allowed: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
    return value is None or (isinstance(value, allowed[kind]) and (kind == "bool" or not isinstance(value, bool)))
