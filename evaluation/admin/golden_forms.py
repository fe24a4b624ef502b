"""Forms and filters of golden sets and golden cases."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import StateListFilter
from accounts.admin.file_field import FileDropInput
from accounts.error_messages import error_message
from accounts.scope import Scope
from evaluation.admin.picker import picker_attributes
from evaluation.errors import InvalidGoldenCaseError, InvalidGoldenFileError
from evaluation.services.document_choices import names_unknown
from evaluation.services.golden_files import LIMITS, golden_file_parse
from knowledge.admin.source_forms import CapitalLabels, LinesField, PairsField


class GoldenImportForm(forms.Form):
    """A file of cases; faults are shown with their lines."""

    file = forms.FileField(label=_("CSV or JSON Lines file"), widget=FileDropInput({"accept": ".csv,.jsonl,.ndjson"}))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if file := values.get("file"):
            try:
                values["rows"] = golden_file_parse(name=file.name, content=file.read())
            except InvalidGoldenFileError as error:
                self.refuse(error)
        return values

    def refuse(self, error: InvalidGoldenFileError) -> None:
        """Show the faults of a file beside its field."""
        faults = error.data["faults"][:20]
        words = _("Line %(line)s %(fault)s.")
        self.add_error("file", [words % {"line": line, "fault": error_message(fault)} for line, fault in faults])


class AttentionFilter(StateListFilter):
    """Cases that name a document which is gone."""

    title = _("attention")
    parameter_name = "attention"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Needs attention"))]

    def narrowed(self, rows: Any, choice: str) -> Any:
        return rows.filter(is_outdated=True)


class GradesField(PairsField):
    """One `document or quotation = 1 to 3` a line; an equals sign may be part of the name."""

    def to_python(self, value: Any) -> Any:
        pairs = [line.rpartition("=") for line in LinesField.to_python(self, value)]
        if not all(name.strip() and grade.strip() in ("1", "2", "3") for name, _separator, grade in pairs):
            raise forms.ValidationError(error_message(InvalidGoldenCaseError("grades")))
        return {name.strip(): int(grade) for name, _separator, grade in pairs}


class GoldenCaseForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """A case expects something, names documents that its author may open, and grades belong to what it names."""

    scope: Scope  # of the person, set by the page

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "relevant" in self.fields:
            names = (*(self.instance.relevant or ()), *self.data.get("relevant", "").splitlines())
            attributes = picker_attributes(scope=self.scope, names=names, kind="documents")
            self.fields["relevant"].widget.attrs |= {**attributes, "data-picker-passages": "passages"}

    answers = LinesField(label=_("accepted answers"), help_text=_("One per line. A right answer contains one of them."))
    relevant = LinesField(
        label=_("relevant documents"),
        help_text=_("Type words of a title or text, and choose. A chosen passage is also added as a quotation."),
    )
    passages = LinesField(
        label=_("relevant passages"),
        help_text=_("One quotation per line. A passage that contains one of them is relevant."),
    )
    grades = GradesField(
        label=_("grades"), help_text=_("“document = 3” or “quotation = 2”, one per line; 1 if not given.")
    )
    key_points = LinesField(label=_("key points"), help_text=_("One per line. A right answer contains all of them."))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        limited = {name: values.get(name) or [] for name in LIMITS if name != "question"}
        if any(len(text) > LIMITS[name] for name, texts in limited.items() for text in texts):
            raise forms.ValidationError(error_message(InvalidGoldenCaseError("length")))
        expected = ("answers", "relevant", "passages", "key_points", "expects_refusal")
        if not any(values.get(name) for name in expected):
            raise forms.ValidationError(error_message(InvalidGoldenCaseError("answer")))
        if unknown := names_unknown(scope=self.scope, names=values.get("relevant") or []):
            self.add_error("relevant", error_message(InvalidGoldenCaseError("documents", names=", ".join(unknown))))
        gradable = {*(values.get("relevant") or ()), *(values.get("passages") or ())}
        if set(values.get("grades") or ()) - gradable:
            self.add_error("grades", error_message(InvalidGoldenCaseError("grades")))
        return values
