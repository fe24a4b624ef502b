"""Forms of signing in and of the pages about it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


def _password(name: str) -> forms.PasswordInput:
    return forms.PasswordInput(attrs={"autocomplete": name})


class CodeForm(forms.Form):
    """Six digits of the app, or a recovery code."""

    WRONG = _("This code is not valid. Codes change every 30 seconds and count once.")

    code = forms.CharField(
        label=_("Code"),
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "none"}
        ),
    )

    def __init__(self, *args: Any, is_focused: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        if is_focused:
            self.fields["code"].widget.attrs["autofocus"] = True


class FirstPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A password of one's own in the place of a given one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = _password("new-password")

    def clean_new_password2(self) -> str:
        """The given password again would be no change."""
        password = str(self.cleaned_data.get("new_password2") or "")
        if password and self.user.check_password(password):
            raise ValidationError(_("Choose another password than the one that you were given."), code="unchanged")
        return password


class OwnPasswordForm(PasswordChangeForm):  # type: ignore[type-arg]
    """The present password and a new one, twice."""

    field_order = ("old_password", "new_password1", "new_password2")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["old_password"].widget = _password("current-password")
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = _password("new-password")
