"""Roles and knowledge sets of a person: fields shared by the pages of new and of existing people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_user, is_administrator
from accounts.admin.pages import page_response
from accounts.error_messages import error_message
from accounts.models import Tenant, User
from accounts.people.rights import Position, position_choices, rights_held, set_choices
from accounts.people.setup import person_rights_put
from accounts.selectors import person_name
from ragcore.errors import RagError


class RightsForm(forms.Form):
    """What a person does besides asking questions, and which knowledge sets they own and read."""

    positions = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Everybody asks questions and reads open knowledge sets; that needs no role."),
    )
    owns = forms.MultipleChoiceField(
        label=_("Owner of"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Owners upload documents, choose who reads the set, and change its settings."),
    )
    creates_sets = forms.BooleanField(
        label=_("May create knowledge sets"),
        required=False,
        help_text=_("The person owns the knowledge sets that they create."),
    )
    reads = forms.MultipleChoiceField(
        label=_("Member of"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Members read a knowledge set that is not open to everyone."),
    )

    def __init__(self, *args: Any, tenant: Tenant, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["positions"].choices = position_choices(of_site=tenant.is_default)  # type: ignore[attr-defined]
        for name in ("owns", "reads"):
            self.fields[name].choices = set_choices(tenant_id=tenant.pk)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """An owner has something to keep: without a set, the administration would have nothing to show."""
        values = super().clean() or {}
        keeps = values.get("owns") or values.get("creates_sets")
        if Position.OWNER in values.get("positions", ()) and not keeps:
            self.add_error("owns", _("Choose knowledge sets for the owner, or let the person create some."))
        return values


class PersonRightsForm(RightsForm):
    """The same for somebody who is here already."""

    is_staff = forms.BooleanField(
        label=_("May open the administration"),
        required=False,
        help_text=_("For editors of knowledge sets, who are chosen on the page of a set. All roles above may anyway."),
    )


def rights_view(request: HttpRequest, *, person: User) -> HttpResponse:
    """GET: the roles and sets of a person; POST: change them, and go back to the page of the person."""
    if not is_administrator(request):
        raise PermissionDenied
    positions, owns, reads = rights_held(person)
    now: dict[str, Any] = {"positions": positions, "owns": owns, "reads": reads, "creates_sets": person.can_create_sets}
    now["is_staff"] = person.is_staff
    data = request.POST if request.method == "POST" else None
    form = PersonRightsForm(data, tenant=person.tenant, initial=now)
    if form.is_bound and form.is_valid():
        values = form.cleaned_data
        try:
            person_rights_put(
                actor=admin_user(request),
                person=person,
                **{**values, "positions": [Position(value) for value in values["positions"]]},
            )
        except RagError as error:
            form.add_error(None, error_message(error))
        else:
            messages.success(request, _("The roles of the user were saved."))
            return redirect("admin:accounts_user_change", person.pk)
    page = {
        "title": _("Roles of %(name)s") % {"name": person_name(person)},
        "person": person,
        "form": form,
    }
    return page_response(request, "admin/accounts/user/rights.html", page)
