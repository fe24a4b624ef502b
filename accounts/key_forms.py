"""Fields of forms in which a key is made."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.key_scopes import EVERYDAY_SCOPES, SCOPE_HELP, KeyScope

LIFETIMES_DAYS = (30, 90, 365)
USUAL_DAYS = 365
NEVER = "0"


class ScopesField(forms.MultipleChoiceField):
    """Boxes to tick. The scope for making keys is there for those who may give it only."""

    def __init__(self, *, widget: Any = forms.CheckboxSelectMultiple, **options: Any) -> None:
        super().__init__(label=_("Scopes"), initial=list(EVERYDAY_SCOPES), widget=widget, **options)
        self.offer(may_make_keys=False)

    def offer(self, *, may_make_keys: bool) -> None:
        """Set the choices."""
        offered = list(KeyScope) if may_make_keys else list(EVERYDAY_SCOPES)
        self.choices = [(scope.value, f"{scope.label} – {SCOPE_HELP[scope]}") for scope in offered]


def _lifetimes() -> list[tuple[str, Any]]:
    """Choices in the language of the thread."""
    days = [(str(n), ngettext("%(count)d day", "%(count)d days", n) % {"count": n}) for n in LIFETIMES_DAYS]
    return [*days, (NEVER, _("never"))]


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
