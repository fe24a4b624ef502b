"""Fields of forms in which a key is made."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext

from accounts.key_scopes import EVERYDAY_SCOPES, LEAST_SCOPES, SCOPE_HELP, KeyScope

WRITING_OF_READERS = _("request access, mark notifications as read, change documents of sets that you edit")
LIFETIMES_DAYS = (30, 90, 365)
USUAL_DAYS = 365
NEVER = "0"


class ScopesField(forms.MultipleChoiceField):
    """Boxes to tick: the least scopes are ticked, and only those that the role can use are there."""

    def __init__(self, *, widget: Any = forms.CheckboxSelectMultiple, **options: Any) -> None:
        super().__init__(label=_("Scopes"), initial=list(LEAST_SCOPES), widget=widget, **options)
        self.offer(EVERYDAY_SCOPES)

    def offer(self, scopes: Collection[KeyScope]) -> None:
        """Set the choices. Who manages nothing reads of writing only what it means for them."""
        words = SCOPE_HELP if KeyScope.MANAGE in scopes else SCOPE_HELP | {KeyScope.WRITE: WRITING_OF_READERS}
        self.choices = [(scope.value, f"{scope.label} – {words[scope]}") for scope in scopes]


def _lifetimes() -> list[tuple[str, Any]]:
    """Choices in the language of the thread."""
    days = [(str(n), ngettext("%(count)d day", "%(count)d days", n) % {"count": n}) for n in LIFETIMES_DAYS]
    return [*days, (NEVER, pgettext("lifetime of a key", "Never"))]


class LifetimeField(forms.TypedChoiceField):
    """A choice of days; its value is the time at which the key expires, None for never."""

    def __init__(self, *, widget: Any = forms.Select, **options: Any) -> None:
        super().__init__(
            label=_("Expires after"),
            choices=_lifetimes,
            initial=str(USUAL_DAYS),
            coerce=int,
            widget=widget,
            **options,
        )

    def clean(self, value: Any) -> datetime | None:
        days = super().clean(value)
        return timezone.now() + timedelta(days=days) if days else None
