"""A form of something that has a key: the key is written and never shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanWidget


class KeyedForm(forms.ModelForm):  # type: ignore[type-arg]
    """For models with a column `key`, which the service that stores them encrypts."""

    new_key = forms.CharField(
        label=_("Key"),
        required=False,
        strip=True,
        widget=UnfoldAdminPasswordWidget({"autocomplete": "new-password"}),
        help_text=_("Stored encrypted and never shown again. Local servers often need none."),
    )
    remove_key = forms.BooleanField(label=_("Remove the key"), required=False, widget=UnfoldBooleanWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "new_key" not in self.fields:  # somebody who may only look
            return
        if self.instance.pk and self.instance.key:
            self.fields["new_key"].help_text = _("A key is stored. Leave this empty to keep it.")
        else:
            self.fields["remove_key"].disabled = True

    @property
    def key(self) -> str | None:
        """The new key, "" to remove the old one, None to keep it."""
        return self.cleaned_data.get("new_key") or ("" if self.cleaned_data.get("remove_key") else None)
