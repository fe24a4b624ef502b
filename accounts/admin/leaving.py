"""The page that deactivates a person: what ends, and to whom it may be handed over first."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.admin.base import admin_user, is_administrator
from accounts.admin.pages import page_response
from accounts.models import User
from accounts.people.leaving import NewSecret, Remaining, hand_over, remaining, secrets_replace
from accounts.people.services import person_deactivate
from accounts.shown_once import shown_once_store, shown_once_take

NEW_SECRETS = "new-secrets"


class HandOverForm(forms.Form):
    """Who takes what. Nothing is chosen at first: a shared account goes on only where somebody says so."""

    what = forms.MultipleChoiceField(
        label=gettext_lazy("Hand over"), required=False, widget=forms.CheckboxSelectMultiple
    )
    to = forms.CharField(
        label=gettext_lazy("To (user name)"), required=False, max_length=150, widget=UnfoldAdminTextInputWidget
    )
    replaces_secrets = forms.BooleanField(
        label=gettext_lazy("Revoke the API keys and replace the webhook secrets of what is handed over"),
        help_text=gettext_lazy(
            "This person may know them. The new owner creates new keys; the new webhook secrets are shown once, on the "
            "next page."
        ),
        required=False,
        initial=True,
    )

    def __init__(self, *args: Any, leaver: User, ending: list[Remaining], **options: Any) -> None:
        super().__init__(*args, **options)
        self.leaver = leaver
        offered = [(kind.ending.code, kind.ending.label) for kind in ending if kind.can_be_handed_over]
        self.fields["what"].choices = offered  # type: ignore[attr-defined]
        if not offered:
            del self.fields["what"], self.fields["to"], self.fields["replaces_secrets"]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        name = values.get("to", "").strip()
        people = User.objects.filter(tenant=self.leaver.tenant_id, is_active=True, is_service=False)
        values["to"] = people.exclude(pk=self.leaver.pk).filter(username=name).first() if name else None
        if values.get("what") and values["to"] is None:
            self.add_error("to", _("Choose another person of the same tenant."))
        return values


def leaving_view(request: HttpRequest, *, user: User) -> HttpResponse:
    """GET: what still works for the person; POST: hand over what is ticked, then end the rest if that is asked for."""
    actor = admin_user(request)
    if not is_administrator(request):
        raise PermissionDenied
    ending = remaining(user)
    form = HandOverForm(request.POST if request.method == "POST" else None, leaver=user, ending=ending)
    if form.is_bound and form.is_valid() and user.is_active and not (user.pk == actor.pk and _ends(request)):
        has_secrets = bool(form.cleaned_data.get("what")) and _hand_over(request, form, actor)
        if _ends(request):
            person_deactivate(user=user, actor=actor)
            messages.success(request, _("%(name)s was deactivated.") % {"name": user.username})
            if not has_secrets:
                return HttpResponseRedirect(reverse("admin:accounts_user_change", args=[user.pk]))
        return HttpResponseRedirect(request.path)
    page = {
        "title": _("Deactivate %(name)s") % {"name": user.username},
        "person": user,
        "ending": ending,
        "form": form,
        "is_oneself": user.pk == actor.pk,
        "new_secrets": shown_once_take(request, NEW_SECRETS) or [],
    }
    return page_response(request, "admin/accounts/user/leave.html", page)


@transaction.atomic
def _hand_over(request: HttpRequest, form: HandOverForm, actor: User) -> bool:
    """Whether there are new secrets, which the page of this view shows next."""
    to, codes = form.cleaned_data["to"], form.cleaned_data["what"]
    new_secrets: list[NewSecret] = []
    if form.cleaned_data["replaces_secrets"]:
        new_secrets = secrets_replace(user=form.leaver, actor=actor, codes=codes)
    hand_over(user=form.leaver, to=to, actor=actor, codes=codes)
    if new_secrets:
        shown_once_store(request, NEW_SECRETS, [{"of": secret.of, "value": secret.value} for secret in new_secrets])
    messages.success(request, _("Handed over to %(name)s.") % {"name": to.username})
    return bool(new_secrets)


def _ends(request: HttpRequest) -> bool:
    return request.POST.get("act") == "deactivate"
