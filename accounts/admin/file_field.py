"""The file field of forms: a place to drop files on, which opens the file picker, too."""

from __future__ import annotations

from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

TEMPLATE = "admin/file_field.html"


class FileDropInput(forms.FileInput):
    """A labelled area with an `input[type=file]`; the names of the chosen files are listed in it."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """The template with the attributes that a file field has; there is nothing to show for `value`."""
        all_attrs = self.build_attrs(self.attrs, attrs)
        values = {key: all_attrs.get(key) for key in ("id", "accept", "required", "multiple")}
        values["describedby"] = all_attrs.get("aria-describedby")
        return mark_safe(render_to_string(TEMPLATE, {"name": name, **values}))  # noqa: S308 escaped by the template


class FilesDropInput(FileDropInput):
    """The same for several files; its value is their list."""

    allow_multiple_selected = True

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"multiple": True, **(attrs or {})})
