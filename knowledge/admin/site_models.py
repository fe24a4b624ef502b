"""What pages of models of the whole site share: who may change them, and keys that are written and never shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanWidget

from accounts.admin.base import AdministratorAdmin, admin_scope, is_administrator
from accounts.roles import administers
from knowledge.rights import MODELS_MANAGE


def manages_models(request: HttpRequest) -> bool:
    """Whether models of the site are the person's to manage."""
    return administers(scope=admin_scope(request), doing=MODELS_MANAGE)


def changes_models(request: HttpRequest) -> bool:
    """Whether the person may change, test and switch models."""
    return is_administrator(request) and manages_models(request)


class SiteModelAdmin(AdministratorAdmin):
    """Tenant administrators look at models; platform administrators change them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return changes_models(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)


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
        else:  # nothing to remove
            self.fields["remove_key"].disabled = True
            self.fields["remove_key"].widget = forms.HiddenInput()
            self.fields["remove_key"].label = ""

    @property
    def key(self) -> str | None:
        """The new key, "" to remove the old one, None to keep it."""
        return self.cleaned_data.get("new_key") or ("" if self.cleaned_data.get("remove_key") else None)
