"""List filters that open on what needs hands instead of on everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.utils.translation import gettext_lazy as _

ALL = "all"


class OpenFirstFilter(admin.SimpleListFilter):
    """A filter whose first choice applies where none is chosen; "All" is the last choice.

    Subclasses define `title`, `parameter_name`, `lookups` (the default first) and `narrowed`.
    """

    def narrowed(self, rows: Any, choice: str) -> Any:
        """The rows of one choice."""
        raise NotImplementedError

    @property
    def choice(self) -> str:
        """The chosen or default value."""
        return self.value() or str(self.lookup_choices[0][0])

    def queryset(self, request: Any, queryset: Any) -> Any:
        known = {str(value) for value, _label in self.lookup_choices}
        return self.narrowed(queryset, self.choice) if self.choice in known else queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for value, label in (*self.lookup_choices, (ALL, _("All"))):
            yield {
                "selected": self.choice == str(value),
                "query_string": changelist.get_query_string({str(self.parameter_name): value}),
                "display": label,
            }
