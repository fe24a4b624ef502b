"""A new knowledge set in one page: name, people, source, files and a first question."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.file_field import FilesDropInput
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.models import ClearanceLevel, User, UserGroup
from accounts.scope import Scope
from knowledge.admin.curation import creates_sets
from knowledge.models import KnowledgeSet
from knowledge.selectors.sets import sources_usable
from knowledge.services.set_setup import PlannedFile, SetPlan, SetSetup, set_setup
from knowledge.services.sources.changes import addresses_check
from ragcore.errors import RagError

FIELD_OF_CODE = {"name_taken": "code", "url_not_allowed": "addresses", "quota_exceeded": "name"}


def people_widget(relation: str) -> AutocompleteSelectMultiple:
    """People of the asker's tenant, found by typing, as on the page of a set."""
    return AutocompleteSelectMultiple(KnowledgeSet._meta.get_field(relation), admin.site)


class FilesField(forms.FileField):
    """Any number of files, as a list."""

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        return [super(FilesField, self).clean(file, None) for file in data or []]


class SetSetupForm(forms.Form):
    """Steps of one page; only a name is required."""

    name = forms.CharField(label=_("Name"), max_length=128, widget=UnfoldAdminTextInputWidget)
    name_zh = forms.CharField(
        label=_("Chinese name"),
        max_length=128,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Shown in the Chinese interface. If empty, the name is used."),
    )
    code = forms.SlugField(
        label=_("Code (for the API)"),
        max_length=64,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("If empty, it is made from the name."),
    )
    axis = forms.ChoiceField(
        label=_("Category"), choices=KnowledgeSet.Axis.choices, initial="Y", widget=UnfoldAdminSelectWidget
    )
    description = forms.CharField(
        label=_("Description"), required=False, widget=UnfoldAdminTextareaWidget({"rows": 2}), max_length=2000
    )
    visibility = forms.ChoiceField(
        label=_("Visibility"),
        choices=KnowledgeSet.Visibility.choices,
        initial=KnowledgeSet.Visibility.EVERYONE,
        widget=UnfoldAdminRadioSelectWidget,
    )
    owners = forms.ModelMultipleChoiceField(
        label=_("Other owners"),
        queryset=User.objects.none(),
        required=False,
        widget=people_widget("owners"),
        help_text=_("You are an owner, too."),
    )
    users = forms.ModelMultipleChoiceField(
        label=_("Members"),
        queryset=User.objects.none(),
        required=False,
        widget=people_widget("members"),
        help_text=_("Needed where only members may read."),
    )
    groups = forms.ModelMultipleChoiceField(
        label=_("User groups"), queryset=UserGroup.objects.none(), required=False, widget=forms.CheckboxSelectMultiple
    )
    source = forms.ModelChoiceField(
        label=_("Existing source"),
        queryset=UserGroup.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget,
        empty_label=_("none"),
    )
    addresses = forms.CharField(
        label=_("Web pages"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
        help_text=_("One address per line. They become a source that you can run again."),
    )
    uploads = FilesField(label=_("Files"), required=False, widget=FilesDropInput)
    clearance = forms.TypedChoiceField(
        label=_("Required clearance"), coerce=int, initial=0, widget=UnfoldAdminSelectWidget
    )
    question = forms.CharField(
        label=_("First question"),
        required=False,
        max_length=256,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Shown in the chat as an example; ask it to see whether the set answers."),
    )

    steps = (
        (_("1. Name"), ("name", "name_zh", "code", "axis", "description")),
        (_("2. People"), ("visibility", "owners", "users", "groups")),
        (_("3. Source (optional)"), ("source", "addresses")),
        (_("4. Files (optional)"), ("uploads", "clearance")),
        (_("5. First question (optional)"), ("question",)),
    )

    def __init__(self, *args: Any, scope: Scope, **options: Any) -> None:
        super().__init__(*args, **options)
        self.scope = scope
        fields: dict[str, Any] = self.fields
        people = User.objects.filter(tenant=scope.tenant_id, is_active=True)
        fields["owners"].queryset = fields["users"].queryset = people
        fields["groups"].queryset = UserGroup.objects.filter(tenant=scope.tenant_id)
        fields["source"].queryset = sources_usable(scope=scope).filter(tenant=scope.tenant_id).order_by("name")
        fields["clearance"].choices = [level for level in ClearanceLevel.choices if level[0] <= scope.clearance]

    def lines(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """The steps with their fields."""
        return [(words, [self[name] for name in names]) for words, names in self.steps]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        code = data.get("code") or slugify(data.get("name", ""))
        if not code and "name" in data and "code" not in self.errors:
            self.add_error("code", _("The name has no Latin letters or digits; give a code."))
        elif code and KnowledgeSet.objects.filter(tenant=self.scope.tenant_id, code=code).exists():
            self.add_error("code", _("Another knowledge set has this code."))
        data["code"] = code[:64]
        self._check_addresses(data.get("addresses", ""))
        return data

    def _check_addresses(self, addresses: str) -> None:
        """Addresses that cannot become a source are told together with the other faults."""
        if not addresses.strip():
            return
        try:
            addresses_check(scope=self.scope, addresses=addresses)
        except RagError as error:
            self.add_error("addresses", error_message(error))

    def plan(self) -> SetPlan:
        """What was entered, as the service takes it."""
        data = self.cleaned_data
        values = {name: data[name] for name in ("name", "name_zh", "code", "axis", "description", "visibility")}
        values["example_questions"] = [data["question"]] if data["question"] else []
        people = {name: [row.pk for row in data[name]] for name in ("owners", "users", "groups")}
        source = data["source"]
        return SetPlan(
            values=values, people=people, source_id=source.pk if source else None, addresses=data["addresses"]
        )


@admin_page("setup/", of=KnowledgeSet, name="knowledge_knowledgeset_setup", allowed=creates_sets)
def setup_view(request: HttpRequest) -> HttpResponse:
    """GET: the page; POST: make the set, and go to it.

    The page's script asks for JSON: then faults come back alone, and the page keeps what was entered and chosen.
    """
    posted = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = SetSetupForm(*posted, scope=admin_scope(request))
    setup = _made(request, form) if form.is_bound and form.is_valid() else None
    wants_json = request.headers.get("Accept") == "application/json"
    if setup is not None:
        _tell(request, setup)
        address = reverse("admin:knowledge_knowledgeset_change", args=[setup.knowledge_set.pk])
        return JsonResponse({"location": address}) if wants_json else redirect(address)
    if wants_json and form.is_bound:
        return JsonResponse({"errors": form.errors}, status=422)
    page = {"title": _("Set up a knowledge set"), "form": form}
    return page_response(request, "admin/knowledge/knowledgeset/setup.html", page)


def _made(request: HttpRequest, form: SetSetupForm) -> SetSetup | None:
    """The new set; None where it was refused, which the form says then."""
    uploads = form.cleaned_data["uploads"]
    versions = [*request.POST.getlist("version_of"), *("" for _file in uploads)]
    files = [
        PlannedFile(file.name or "", file, int(number) if number.isdecimal() and len(number) < 18 else None)
        for file, number in zip(uploads, versions, strict=False)
    ]
    clearance = form.cleaned_data["clearance"]
    try:
        return set_setup(
            scope=admin_scope(request), actor=admin_user(request), plan=form.plan(), files=files, clearance=clearance
        )
    except RagError as error:
        form.add_error(FIELD_OF_CODE.get(error.code), error_message(error))
        return None


def _tell(request: HttpRequest, setup: SetSetup) -> None:
    messages.success(request, _("The knowledge set “%(name)s” was created.") % {"name": setup.knowledge_set.shown_name})
    if setup.stored:
        text = ngettext("%(count)d file is being processed.", "%(count)d files are being processed.", setup.stored)
        address = reverse("admin:knowledge_document_changelist") + f"?sets__id__exact={setup.knowledge_set.pk}"
        messages.info(
            request, format_html('<a class="rs-link" href="{}">{}</a>', address, text % {"count": setup.stored})
        )
    if question := next(iter(setup.knowledge_set.example_questions), ""):
        query = urlencode({"set": setup.knowledge_set.pk, "question": question})
        chat = f"{reverse('chat:home')}?{query}"
        ask = _("Ask in the chat: “%(question)s”") % {"question": question}
        messages.info(request, format_html('<a class="rs-link" href="{}">{}</a>', chat, ask))
    for refused in setup.refused:
        messages.error(request, f"{refused.name}: {error_message(refused.error)}")
