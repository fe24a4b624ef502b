"""A person's own page, with its forms."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.postgres.forms import SimpleArrayField
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import services
from accounts.authentication import page, signed_in
from accounts.key_forms import LifetimeField, ScopesField
from accounts.models import ApiKey, User
from accounts.scope import Scope
from accounts.selectors import scopes_usable
from accounts.shown_once import shown_once_store, shown_once_take
from accounts.sign_in.second_factor import has_second_factor
from accounts.sign_in.sessions import current_reference, sessions_of

SEPARATORS = str.maketrans({"，": ",", "、": ",", "；": ",", ";": ","})  # what people type in Chinese

NEW_KEY = "new-key"


class InterestsField(SimpleArrayField):
    """Words between commas of any script, each once."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(forms.CharField(max_length=64), *args, max_length=20, **options)

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]  # its base is a CharField
        text = value.translate(SEPARATORS) if isinstance(value, str) else value
        return list(dict.fromkeys(item for item in super().to_python(text) if item))

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class ProfileForm(forms.ModelForm):
    """What retrieval may know about a person's work."""

    interests = InterestsField(
        required=False, label=gettext_lazy("interests"), help_text=gettext_lazy("Separated by commas.")
    )

    class Meta:
        model = User
        fields = ("department", "product", "role", "interests", "use_profile", "record_use")
        widgets: ClassVar = {
            "department": forms.TextInput(attrs={"autocomplete": "organization"}),
            "role": forms.TextInput(attrs={"autocomplete": "organization-title"}),
        }


class ApiKeyForm(forms.ModelForm):
    """The name under which its owner will recognise a key, what it is for, and how long it lives."""

    scopes = ScopesField()
    expires = LifetimeField()

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["scopes"]
        field.offer(scopes_usable(user))

    class Meta:
        model = ApiKey
        fields = ("name",)
        widgets: ClassVar = {"name": forms.TextInput(attrs={"autocomplete": "off"})}


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@page
def profile(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Show and save the work profile."""
    form = ProfileForm(request.POST or None, instance=signed_in(request))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("accounts:profile")
    return _profile(request, form=form)


@require_POST
@page
@transaction.atomic
def key_create(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Make a key; the page that follows is the only place where it is ever shown."""
    user = signed_in(request)
    form = ApiKeyForm(request.POST, user=user)
    if not form.is_valid():
        return _profile(request, key_form=form)
    key, secret = services.api_key_create(user=user, actor=user, **form.cleaned_data)
    shown_once_store(request, NEW_KEY, {"name": key.name, "secret": secret})
    return redirect(reverse("accounts:profile") + "#new-key")


@require_POST
@page
def key_revoke(request: HttpRequest, scope: Scope, key_id: int) -> HttpResponse:
    """Revoke one of the reader's own keys."""
    user = signed_in(request)
    key = get_object_or_404(user.api_keys, pk=key_id)
    services.api_key_revoke(key=key, actor=user)
    messages.success(request, _("The key “%(name)s” was revoked.") % {"name": key.name})
    return redirect("accounts:profile")


def _profile(
    request: HttpRequest,
    *,
    form: ProfileForm | None = None,
    key_form: ApiKeyForm | None = None,
) -> HttpResponse:
    user = signed_in(request)
    new_key = shown_once_take(request, NEW_KEY) or {}
    context = {
        "form": form or ProfileForm(instance=user),
        "key_form": key_form or ApiKeyForm(user=user),
        "keys": user.api_keys.filter(revoked=None),
        "secret": new_key.get("secret", ""),
        "key_name": new_key.get("name", ""),
        "places": sessions_of(user, current=current_reference(request)),
        "has_second_factor": has_second_factor(user),
        "keep_signals_days": settings.KEEP_SIGNALS_DAYS,
    }
    return render(request, "accounts/profile.html", context)
