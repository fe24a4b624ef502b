"""How a document stands to others: the list on its page, and setting and removing relations."""

from __future__ import annotations

import re

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.scope import Scope
from knowledge.admin.curation import ids_of
from knowledge.models import Document
from knowledge.relation_kinds import WORDS
from knowledge.selectors import documents_readable
from knowledge.selectors.keeping import documents_kept
from knowledge.selectors.relations import RelationsOf, relations_of
from knowledge.services.relations.by_hand import relation_add, relation_remove
from ragcore.errors import RagError

MOST_CHOICES = 20  # documents that a text may mean before it has to be more exact


class RelationForm(forms.Form):
    """A kind, and the other document by its title, id or address."""

    kind = forms.ChoiceField(
        label=_("This document"), choices=lambda: list(WORDS.items()), widget=UnfoldAdminSelectWidget
    )
    other = forms.CharField(
        label=_("Other document"),
        max_length=512,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Its title, number or external id, or the address of its page."),
    )

    def __init__(self, *args: object, scope: Scope, document: Document, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.scope, self.document = scope, document

    def clean_other(self) -> int:
        """The id of the one document that is meant."""
        text = self.cleaned_data["other"].strip()
        rows = documents_readable(scope=self.scope).exclude(pk=self.document.pk)
        number = re.fullmatch(r"(?:.*/documents?/)?(\d{1,17})(?:[/?#].*)?", text)
        if number and (by_id := rows.filter(pk=int(number[1])).first()) is not None:
            return int(by_id.pk)
        exact = list(rows.filter(title=text)[:2]) or list(rows.filter(external_id=text)[:2])
        fitting = exact or list(rows.filter(title__icontains=text).order_by("title", "pk")[: MOST_CHOICES + 1])
        if len(fitting) == 1:
            return int(fitting[0].pk)
        if not fitting:
            raise forms.ValidationError(_("There is no such document, or you may not see it."))
        titles = "; ".join(f"{row.title} ({row.pk})" for row in fitting[:MOST_CHOICES])
        raise forms.ValidationError(
            _("Several documents fit. Enter the number of one: %(titles)s") % {"titles": titles}
        )


def relations_shown(*, scope: Scope, document: Document) -> RelationsOf:
    """The relations of a document that the asker may open."""
    return relations_of(scope=scope, document_ids=[document.pk]).get(document.pk, RelationsOf())


@admin_page("<int:pk>/relations/", of=Document, name="knowledge_document_relations")
def relations_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: the relations of a document that the person keeps; POST: add one, or remove `relation`."""
    scope, actor = admin_scope(request), admin_user(request)
    document = documents_kept(scope=scope).filter(pk=pk).first()
    if document is None:
        raise Http404
    is_removal = "relation" in request.POST
    form = RelationForm(
        request.POST if request.method == "POST" and not is_removal else None, scope=scope, document=document
    )
    try:
        if is_removal:
            for relation_id in ids_of([request.POST["relation"]]):
                relation_remove(scope=scope, actor=actor, document_id=pk, relation_id=relation_id)
                messages.success(request, _("The relation was removed."))
            return redirect("admin:knowledge_document_relations", pk)
        if form.is_bound and form.is_valid():
            values = form.cleaned_data
            relation_add(scope=scope, actor=actor, document_id=pk, kind=values["kind"], other_id=values["other"])
            messages.success(request, _("The documents were related."))
            return redirect("admin:knowledge_document_relations", pk)
    except RagError as error:
        form.add_error(None, error_message(error)) if form.is_bound else messages.error(request, error_message(error))
    variables = {
        "title": _("Related documents"),
        "document": document,
        "form": form,
        "relations": relations_shown(scope=scope, document=document),
        "may_edit": True,
    }
    return page_response(request, "admin/knowledge/document/relations.html", variables)
