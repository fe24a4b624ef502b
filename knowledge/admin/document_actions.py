"""Pages that act on many documents at once: move them between sets, set weight or review date, upload files into sets.

The script of the upload page sends one file a request to the public API; where the files are on their way is told by
one list for all of them, which the server makes, so that it is still there after a reload. Without scripts the form
posts here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldBooleanSwitchWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message, readable_formats
from accounts.models import ClearanceLevel
from knowledge import services
from knowledge.admin.curation import ids_of, is_curator
from knowledge.admin.document_acts import DayWidget
from knowledge.admin.jobs import open_among, rows_of, summary_of
from knowledge.admin.set_choice import set_choice_rows, sets_ticked
from knowledge.errors import InvalidWeightError
from knowledge.models import Document, IngestItem, KnowledgeSet
from knowledge.selectors import sets_curated
from knowledge.selectors.dashboard import documents_managed, items_uploaded
from knowledge.services.document_weights import HIGHEST, LOWEST, documents_weigh
from knowledge.services.reviews import Keep, documents_review
from knowledge.services.transfers import TransferResult, documents_copy, documents_move, documents_remove
from ragcore.errors import RagError
from ragcore.parsing import FORMAT_ENDINGS

# ── sets ──────────────────────────────────────────────────────────────────────────────────────────


TITLES = {"move": _("Move documents"), "copy": _("Add documents to a set"), "remove": _("Remove documents from a set")}
NAMED = 10  # titles on the page

RECENT = timedelta(hours=12)
ROWS = 100  # of more uploads those that want attention come first


def documents_of(request: HttpRequest) -> QuerySet[Document]:
    """The documents that the person manages, by title. Raises Http404 for somebody who curates nothing."""
    if not is_curator(request):
        raise Http404
    return documents_managed(scope=admin_scope(request)).order_by("title")


def chosen_of(request: HttpRequest, documents: QuerySet[Document]) -> QuerySet[Document]:
    """The documents whose ids stand in the field `ids` of the form, or of the address."""
    data = request.POST if request.method == "POST" else request.GET
    return documents.filter(pk__in=ids_of(data.get("ids", "").split(",")))


def about_documents(chosen: QuerySet[Document]) -> dict[str, Any]:
    """What every page says of the chosen documents; all ids are one field, because there may be thousands."""
    ids = list(chosen.values_list("pk", flat=True))
    return {"documents": chosen[:NAMED], "count": len(ids), "ids": ",".join(map(str, ids))}


def transfer_page(request: HttpRequest, verb: str, *, chosen: QuerySet[Document]) -> TemplateResponse:
    """Asks which sets."""
    sets = sets_curated(scope=admin_scope(request)).order_by("axis", "name")
    sources = _holding(sets, chosen)
    variables = {
        **about_documents(chosen),
        "title": TITLES[verb],
        "verb": verb,
        "address": reverse("admin:knowledge_document_transfer", args=[verb]),
        "targets": sets,
        "likely": sets.exclude(pk__in=sources.order_by().values("pk")).first(),
        "sources": sources,
    }
    return page_response(request, "admin/knowledge/document/transfer.html", variables)


@admin_page("transfer/<str:verb>/", of=Document, name="knowledge_document_transfer")
def transfer_view(request: HttpRequest, verb: str) -> HttpResponse:
    """GET: which sets; POST: do it."""
    if verb not in TITLES:
        raise Http404
    chosen = chosen_of(request, documents_of(request))
    if request.method == "POST" and (response := _transfer(request, verb, [document.pk for document in chosen])):
        return response
    return transfer_page(request, verb, chosen=chosen)


def _holding(sets: QuerySet[KnowledgeSet], documents: QuerySet[Document]) -> QuerySet[KnowledgeSet]:
    links = Document.sets.through.objects.filter(document__in=documents.order_by().values("pk"))
    return sets.filter(pk__in=links.values("knowledgeset"))


def _transfer(request: HttpRequest, verb: str, ids: list[int]) -> HttpResponse | None:
    """None where it could not be done; the page says why."""
    source, target = (next(iter(ids_of(request.POST.getlist(name))), 0) for name in ("from_set", "to_set"))
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "document_ids": ids}
    services: dict[str, Callable[[], TransferResult]] = {
        "move": lambda: documents_move(**who, from_set=source, to_set=target),
        "copy": lambda: documents_copy(**who, to_set=target),
        "remove": lambda: documents_remove(**who, from_set=source),
    }
    try:
        outcome = services[verb]()
    except RagError as error:
        messages.error(request, error_message(error))
        return None
    text = ngettext("%(count)d document changed its sets.", "%(count)d documents changed their sets.", outcome.changed)
    _tell(request, text, outcome)
    return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")


def _tell(request: HttpRequest, text: str, outcome: TransferResult) -> None:
    """How many documents changed, and why the others did not."""
    messages.success(request, text % {"count": outcome.changed})
    for refused in outcome.refused:
        messages.error(request, f"{refused.title}: {error_message(refused.error)}")


# ── weight ────────────────────────────────────────────────────────────────────────────────────────


class WeightForm(forms.Form):
    """The new weight."""

    weight = forms.FloatField(min_value=LOWEST, max_value=HIGHEST)


def weigh_page(request: HttpRequest, *, chosen: QuerySet[Document]) -> TemplateResponse:
    """Asks how much the documents count."""
    variables = {
        **about_documents(chosen),
        "title": _("Document weight"),
        "address": reverse("admin:knowledge_document_weigh"),
        "weight": next(iter(chosen.values_list("weight", flat=True)[:1]), 1.0),
        "lowest": LOWEST,
        "highest": HIGHEST,
    }
    return page_response(request, "admin/knowledge/document/weigh.html", variables)


@admin_page("weigh/", of=Document, name="knowledge_document_weigh")
def weigh_view(request: HttpRequest) -> HttpResponse:
    """GET: how much; POST: do it, and go back to the document, or to the list if there are many."""
    chosen = chosen_of(request, documents_of(request))
    if request.method == "POST" and (response := _weigh(request, [document.pk for document in chosen])):
        return response
    return weigh_page(request, chosen=chosen)


def _weigh(request: HttpRequest, ids: list[int]) -> HttpResponse | None:
    """None where it could not be done; the page says why."""
    form = WeightForm(request.POST)
    if not form.is_valid():
        messages.error(request, error_message(InvalidWeightError()))
        return None
    weight = form.cleaned_data["weight"]
    outcome = documents_weigh(scope=admin_scope(request), actor=admin_user(request), document_ids=ids, weight=weight)
    text = ngettext("%(count)d document has a new weight.", "%(count)d documents have a new weight.", outcome.changed)
    _tell(request, text, outcome)
    if len(ids) == 1:
        return redirect(reverse("admin:knowledge_document_change", args=ids) + "?view=about")
    return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")


# ── review dates ──────────────────────────────────────────────────────────────────────────────────


class ReviewForm(forms.Form):
    """What to say of the review of many documents: an empty date leaves theirs as they are."""

    review_by = forms.DateField(
        label=_("Review by"),
        required=False,
        widget=DayWidget,
        help_text=_("If empty, each document keeps its date."),
    )
    without = forms.BooleanField(label=_("Remove the review date"), required=False, widget=UnfoldBooleanSwitchWidget)
    reviewed = forms.BooleanField(label=_("Reviewed now"), required=False, widget=UnfoldBooleanSwitchWidget)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("review_by") and cleaned.get("without"):
            self.add_error("without", _("Give a date or remove it, not both."))
        elif not self.errors and not any(cleaned.values()):
            raise forms.ValidationError(_("Give a date, remove it, or mark the documents as reviewed."))
        return cleaned

    def review_by_or_keep(self) -> date | None | Keep:
        """The date to set, None for none, or "keep"."""
        return None if self.cleaned_data["without"] else self.cleaned_data["review_by"] or "keep"


def review_page(
    request: HttpRequest, *, chosen: QuerySet[Document], form: ReviewForm | None = None
) -> TemplateResponse:
    """Asks by when the documents are to be reviewed."""
    variables = {
        **about_documents(chosen),
        "title": _("Review documents"),
        "address": reverse("admin:knowledge_document_review"),
        "form": form or ReviewForm(),
    }
    return page_response(request, "admin/knowledge/document/review.html", variables)


@admin_page("review/", of=Document, name="knowledge_document_review")
def review_view(request: HttpRequest) -> HttpResponse:
    """GET: by when, or that they were reviewed; POST: do it, and go back to the list."""
    chosen = chosen_of(request, documents_of(request))
    form = ReviewForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return review_page(request, chosen=chosen, form=form)
    outcome = documents_review(
        scope=admin_scope(request),
        actor=admin_user(request),
        document_ids=[document.pk for document in chosen],
        review_by=form.review_by_or_keep(),
        is_reviewed=form.cleaned_data["reviewed"],
    )
    text = ngettext("Review of %(count)d document saved.", "Reviews of %(count)d documents saved.", outcome.changed)
    _tell(request, text, outcome)
    return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all&review=planned")


# ── upload ────────────────────────────────────────────────────────────────────────────────────────


@admin_page("upload/", of=Document, name="knowledge_document_upload", allowed=is_curator)
def upload_view(request: HttpRequest) -> HttpResponseBase:
    """GET: the page; POST: store the files of the form, each with its own result."""
    if request.method == "POST":
        _store(request)
        return redirect("admin:knowledge_document_upload")
    scope = admin_scope(request)
    sets = list(sets_curated(scope=scope).filter(tenant=scope.tenant_id))
    context = {
        **_recent(request),
        "title": _("Upload documents"),
        "sets": set_choice_rows(sets),
        "chosen": sets_ticked(sets, requested=ids_of(request.GET.getlist("set"))),
        "formats": readable_formats(),
        "format_endings": [(gettext(label), endings) for label, endings in FORMAT_ENDINGS.items()],
        "clearances": ClearanceLevel.choices,
        "max_mb": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
        "max_bytes": settings.MAX_UPLOAD_BYTES,
    }
    return page_response(request, "admin/knowledge/document/upload.html", context)


@admin_page("upload/recent/", of=Document, name="knowledge_document_recent", allowed=is_curator)
def recent_view(request: HttpRequest) -> HttpResponse:
    """The list of recent uploads alone, for the script that keeps it true."""
    return render(request, "admin/knowledge/document/recent.html", _recent(request))


def _recent(request: HttpRequest) -> dict[str, Any]:
    """Uploads of this person in the last hours, the last ones first."""
    items = items_uploaded(scope=admin_scope(request), since=timezone.now() - RECENT)
    stages = list(items.order_by().values_list("stage", flat=True))
    listed = items if len(stages) <= ROWS else items.order_by(_attention(), "-id")[:ROWS]
    rows = rows_of(scope=admin_scope(request), items=listed)
    return {
        "rows": rows,
        "summary": summary_of(stages),
        "hidden": len(stages) - len(rows),
        "open": open_among(rows),
    }


def _attention() -> Case:
    """Failed first, then what a worker holds, then what waits, then what is live."""
    return Case(
        When(stage=IngestItem.Stage.FAILED, then=Value(0)),
        When(finished=None, lease_until__isnull=False, then=Value(1)),
        When(finished=None, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )


def _store(request: HttpRequest) -> None:
    clearance = request.POST.get("clearance", "0")
    leading = ids_of(request.POST.getlist("leading"))
    sets = sorted(ids_of(request.POST.getlist("sets")), key=lambda pk: pk not in leading)  # the first one decides
    stored = 0
    for file in request.FILES.getlist("files"):
        try:
            services.document_upload(
                scope=admin_scope(request),
                actor=admin_user(request),
                sets=sets,
                name=file.name or "",
                content=file,
                clearance=int(clearance) if clearance.isdecimal() else 0,
            )
            stored += 1
        except RagError as error:
            messages.error(request, f"{file.name}: {error_message(error)}")
    if stored:
        text = ngettext("%(count)d file is being processed.", "%(count)d files are being processed.", stored)
        messages.info(request, text % {"count": stored})
