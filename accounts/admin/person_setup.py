"""A new person in one page: name, mail, groups, roles, knowledge sets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from accounts.admin.base import admin_user, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.admin.person_rights import RightsForm
from accounts.error_messages import error_message
from accounts.models import ClearanceLevel, Tenant, User
from accounts.people.rights import Position
from accounts.people.setup import PersonPlan, group_names, person_setup
from accounts.selectors import roles_in_words
from ragcore.errors import RagError


class PersonSetupForm(RightsForm):
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

    field_order = ("username", "first_name", "last_name", "email", "groups", "positions")  # then as declared

    def __init__(self, *args: Any, tenant: Tenant, **options: Any) -> None:
        super().__init__(*args, tenant=tenant, **options)
        self.fields["groups"].choices = group_names(tenant.pk)  # type: ignore[attr-defined]


def _names_of(form: forms.Form, field: str) -> list[str]:
    """The names of the chosen sets."""
    names = dict(form.fields[field].choices)  # type: ignore[attr-defined]
    return [names[code] for code in form.cleaned_data[field]]


@admin_page("setup/", of=User, name="accounts_user_setup", allowed=is_administrator)
def setup_view(request: HttpRequest) -> HttpResponse:
    """GET: the page; POST: create the person, and show the first password once."""
    form = PersonSetupForm(request.POST if request.method == "POST" else None, tenant=admin_user(request).tenant)
    if form.is_bound and form.is_valid():
        values = form.cleaned_data
        plan = PersonPlan(**{**values, "positions": [Position(value) for value in values["positions"]]})
        try:
            person, password = person_setup(actor=admin_user(request), plan=plan)
        except RagError as error:
            form.add_error("username" if error.code == "name_taken" else None, error_message(error))
        else:
            page = {
                "title": _("User created"),
                "person": person,
                "password": password,
                "roles": roles_in_words(person),
                "owns": _names_of(form, "owns"),
                "reads": _names_of(form, "reads"),
            }
            response = page_response(request, "admin/accounts/user/created.html", page)
            response["Cache-Control"] = "no-store"
            return response
    return page_response(request, "admin/accounts/user/setup.html", {"title": _("Set up a user"), "form": form})
