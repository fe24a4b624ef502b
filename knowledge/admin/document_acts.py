"""Acts on one document: editing title, tags and clearance, who alone may read it, and withdrawing a version."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import INPUT_CLASSES, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.models import ClearanceLevel
from accounts.scope import Scope
from knowledge.admin.source_forms import CapitalLabels, LinesField
from knowledge.models import Document
from knowledge.selectors.keeping import documents_kept
from knowledge.selectors.readers import Readers, readers_of
from knowledge.selectors.reviews import review_of
from knowledge.services.documents import MAX_TITLE, document_update
from knowledge.services.readers import document_readers_clear, document_readers_set
from knowledge.services.withdrawal import version_withdraw
from ragcore.errors import RagError

MAX_TAG, MAX_TAGS = 64, 100  # characters; tags of a document


class DayWidget(forms.DateInput):
    """A day, which browsers complete."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(attrs={"class": " ".join(INPUT_CLASSES)}, format="%Y-%m-%d")


class DocumentForm(forms.Form):
    """What of a document can be edited."""

    title = forms.CharField(label=_("Title"), max_length=MAX_TITLE, widget=UnfoldAdminTextInputWidget)
    tags = LinesField(
        label=_("Tags"),
        help_text=_("One per line. Searches can be limited to tags; the tags that a document comes with may return."),
    )
    clearance = forms.TypedChoiceField(
        label=_("Required clearance"),
        coerce=int,
        widget=UnfoldAdminSelectWidget,
        help_text=_(
            "People with a lower clearance no longer find, read or see the document, starting with the next question. "
            "You cannot go above your own clearance."
        ),
    )

    review_by = forms.DateField(
        label=_("Review by"),
        required=False,
        widget=DayWidget,
        help_text=_(
            "From this day users see that the review is due, and its owners are notified once. If empty, never."
        ),
    )
    reviewed = forms.BooleanField(label=_("Reviewed now"), required=False, widget=UnfoldBooleanSwitchWidget)

    def __init__(self, *args: Any, document: Document, scope: Scope, **options: Any) -> None:
        review = review_of(scope=scope, document=document)
        first = {"title": document.title, "tags": document.tags, "clearance": document.clearance}
        first["review_by"] = review.review_by if review else None
        super().__init__(*args, **{**options, "initial": first})
        most = max(scope.clearance, document.clearance)
        levels = [(value, f"{value} {label}") for value, label in ClearanceLevel.choices if value <= most]
        self.fields["clearance"].choices = levels  # type: ignore[attr-defined]

    def clean_tags(self) -> list[str]:
        tags: list[str] = self.cleaned_data["tags"]
        if any(len(tag) > MAX_TAG for tag in tags) or len(tags) > MAX_TAGS:
            raise forms.ValidationError(
                _("At most %(number)d tags of %(length)d characters.") % {"number": MAX_TAGS, "length": MAX_TAG}
            )
        return tags


@admin_page("<int:pk>/edit/", of=Document, name="knowledge_document_edit")
def edit_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: the form of title, tags and clearance; POST: change them, and go back to the document."""
    document = _kept(request, pk)
    scope = admin_scope(request)
    form = DocumentForm(request.POST if request.method == "POST" else None, document=document, scope=scope)
    if form.is_bound and form.is_valid():
        try:
            document_update(scope=scope, actor=admin_user(request), document_id=pk, **form.cleaned_data)
            messages.success(request, _("The document was changed."))
            return redirect("admin:knowledge_document_change", pk)
        except RagError as error:
            form.add_error(None, error_message(error))
    title = _("Edit %(name)s") % {"name": document.title}
    variables = {"title": title, "document": document, "form": form}
    return page_response(request, "admin/knowledge/document/edit.html", variables)


@admin_page("<int:pk>/readers/", of=Document, name="knowledge_document_readers")
def readers_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: who alone may read it, as keepers and as the source say; POST: set the keepers' list, and go back."""
    document, scope = _kept(request, pk), admin_scope(request)
    by_keepers, by_source = readers_of(scope=scope, document=document)
    form = ReadersForm(request.POST or None, initial=_as_text(by_keepers))
    if request.method == "POST" and form.is_valid():
        try:
            if form.cleaned_data["who"] == ReadersForm.ALL:
                document_readers_clear(scope=scope, actor=admin_user(request), document_id=pk)
            else:
                names = {name: form.cleaned_data[name] for name in ("users", "groups")}
                document_readers_set(scope=scope, actor=admin_user(request), document_id=pk, **names)
            messages.success(request, _("The readers were changed."))
            return redirect(f"{reverse('admin:knowledge_document_change', args=[pk])}?view=about")
        except RagError as error:
            form.add_error(None, error_message(error))
    variables = {"title": _("Readers of the document"), "document": document, "form": form, "said": by_source}
    return page_response(request, "admin/knowledge/document/readers.html", variables)


def _as_text(readers: Readers | None) -> dict[str, Any]:
    if readers is None:
        return {"who": ReadersForm.ALL}
    return {"who": ReadersForm.NAMED, "users": readers.users, "groups": readers.groups}


class ReadersForm(CapitalLabels, forms.Form):
    """Everybody who may read the sets, or only some of them."""

    ALL, NAMED = "all", "named"

    who = forms.ChoiceField(
        label=_("readers"),
        choices=[(ALL, _("Everyone who may read its knowledge sets")), (NAMED, _("Only the following"))],
        widget=UnfoldAdminSelectWidget,
    )
    users = LinesField(label=_("users"), help_text=_("User names, one per line."))
    groups = LinesField(label=_("user groups"), help_text=_("Names, one per line."))


@admin_page("<int:pk>/versions/<int:number>/withdraw/", of=Document, name="knowledge_document_withdraw")
def withdraw_view(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """GET: what it means; POST: withdraw the version, and go back to the document."""
    document = _kept(request, pk)
    version = get_object_or_404(document.versions.defer("markdown", "sketch"), number=number, withdrawn=None)
    if request.method == "POST":
        try:
            version_withdraw(
                scope=admin_scope(request), actor=admin_user(request), document_id=pk, number=version.number
            )
            messages.success(request, _("The version was withdrawn."))
        except RagError as error:
            messages.error(request, error_message(error))
        return redirect(f"{reverse('admin:knowledge_document_change', args=[pk])}?view=versions")
    variables = {"title": _("Withdraw a version"), "document": document, "version": version}
    return page_response(request, "admin/knowledge/document/withdraw.html", variables)


def _kept(request: HttpRequest, pk: int) -> Document:
    """The document, if the person keeps it."""
    document = documents_kept(scope=admin_scope(request)).filter(pk=pk).first()
    if document is None:
        raise Http404
    return document
