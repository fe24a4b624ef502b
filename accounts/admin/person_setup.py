"""A new person in one page: name, mail, groups, roles, knowledge sets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from accounts.admin.base import admin_scope, admin_user, is_administrator
from accounts.error_messages import error_message
from accounts.models import ClearanceLevel
from accounts.people.rights import Position, position_choices, set_choices
from accounts.people.setup import PersonPlan, group_names, person_setup
from accounts.scope import Scope
from accounts.selectors import roles_in_words
from ragcore.errors import RagError


class PersonSetupForm(forms.Form):
    """Only a user name is required."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=UnfoldAdminTextInputWidget,
        help_text=_("For signing in: letters, digits and @ . + - _"),
    )
    first_name = forms.CharField(
        label=_("First name"), required=False, max_length=150, widget=UnfoldAdminTextInputWidget
    )
    last_name = forms.CharField(label=_("Last name"), required=False, max_length=150, widget=UnfoldAdminTextInputWidget)
    email = forms.EmailField(label=_("E-mail address"), required=False, widget=UnfoldAdminTextInputWidget)
    groups = forms.MultipleChoiceField(
        label=_("User groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Members of a group read the knowledge sets that the group may read."),
    )
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
    clearance = forms.TypedChoiceField(
        label=_("Clearance"),
        coerce=int,
        choices=ClearanceLevel.choices,
        initial=0,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Up to which level the person may read documents."),
    )
    with_password = forms.BooleanField(
        label=_("Create a first password"),
        required=False,
        initial=True,
        help_text=_(
            "Shown once on the next page and changed at the first sign-in. Without one the person signs in "
            "with the organisation's account."
        ),
    )

    def __init__(self, *args: Any, scope: Scope, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["groups"].choices = group_names(scope.tenant_id)  # type: ignore[attr-defined]
        self.fields["positions"].choices = position_choices(scope=scope)  # type: ignore[attr-defined]
        for name in ("owns", "reads"):
            self.fields[name].choices = set_choices(tenant_id=scope.tenant_id)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """An owner has something to keep: without a set, the administration would have nothing to show."""
        values = super().clean() or {}
        keeps = values.get("owns") or values.get("creates_sets")
        if Position.OWNER in values.get("positions", ()) and not keeps:
            self.add_error("owns", _("Choose knowledge sets for the owner, or let the person create some."))
        return values


def _names_of(form: forms.Form, field: str) -> list[str]:
    """The names of the chosen sets."""
    names = dict(form.fields[field].choices)  # type: ignore[attr-defined]
    return [names[code] for code in form.cleaned_data[field]]


def setup_view(request: HttpRequest, *, context: dict[str, Any]) -> HttpResponse:
    """GET: the page; POST: create the person, and show the first password once."""
    if not is_administrator(request):
        raise PermissionDenied
    form = PersonSetupForm(request.POST if request.method == "POST" else None, scope=admin_scope(request))
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        plan = PersonPlan(**{**given, "positions": [Position(value) for value in given["positions"]]})
        try:
            person, password = person_setup(actor=admin_user(request), plan=plan)
        except RagError as error:
            form.add_error("username" if error.code == "name_taken" else None, error_message(error))
        else:
            page = {
                **context,
                "title": _("User created"),
                "person": person,
                "password": password,
                "roles": roles_in_words(person),
                "owns": _names_of(form, "owns"),
                "reads": _names_of(form, "reads"),
            }
            response = TemplateResponse(request, "admin/accounts/user/created.html", page)
            response["Cache-Control"] = "no-store"
            return response
    return TemplateResponse(
        request, "admin/accounts/user/setup.html", {**context, "title": _("Set up a user"), "form": form}
    )
