"""The choice of knowledge sets in a form: boxes to tick in one small area, with a search where there are many."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from knowledge.models import KnowledgeSet

TEMPLATE = "admin/knowledge/set_choice.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetChoiceRow:
    """A set that can be ticked."""

    id: int
    name: str
    axis: str


def set_choice_rows(sets: Iterable[KnowledgeSet]) -> list[SetChoiceRow]:
    """The sets by axis, in their order."""
    return [SetChoiceRow(id=row.pk, name=row.shown_name, axis=str(row.get_axis_display())) for row in sets]


def sets_ticked(sets: Collection[KnowledgeSet], *, requested: Collection[int]) -> set[int]:
    """What an upload begins with: the sets of the address, or the only one, or none.

    The script of the page ticks the ones that the person used last in this browser, where nothing else is ticked.
    """
    ids = {row.pk for row in sets}
    return ids if len(ids) == 1 else ids & set(requested)


class SetChoiceInput(forms.CheckboxSelectMultiple):
    """The field of a form that holds ids of sets."""

    rows: list[SetChoiceRow]

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """The template with the attributes of the field."""
        all_attrs = self.build_attrs(self.attrs, attrs)
        chosen = {int(entry) for entry in value or () if str(entry).isdecimal()}
        values = {"name": name, "sets": self.rows, "chosen": chosen, "id": all_attrs.get("id")}
        values["describedby"] = all_attrs.get("aria-describedby")
        return mark_safe(render_to_string(TEMPLATE, values))  # noqa: S308 escaped by the template
