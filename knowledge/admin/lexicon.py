"""The lexicon in the admin: terms, the queue of suggestions, files, publishing, searching documents, history."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.services import audit_record
from knowledge.admin.curation import REFUSED, CuratorAdmin, ids_of, is_curator, run_action
from knowledge.admin.lexicon_history import history_context
from knowledge.admin.lexicon_pages import (
    MODEL_CHOICES,
    MODEL_FILTER,
    head_context,
    home_of,
    lexicon_choices,
    model_filter_of,
    queue_context,
    queue_count,
    set_of,
    with_set,
)
from knowledge.models import LexiconTerm
from knowledge.selectors.lexicon import (
    terms_managed,
    versions_managed,
)
from knowledge.services import lexicon as services
from knowledge.services.lexicon import MiningOptions
from knowledge.services.lexicon.files import MEDIA_TYPES, FileFormat, FileImported, lexicon_export, lexicon_import
from ragcore.errors import RagError

LIST = "admin:knowledge_lexiconterm_changelist"
VERSIONS = 100  # in the history
Status = LexiconTerm.Status


class LexiconFilter(admin.SimpleListFilter):
    """The lexicon of one set, or of the organisation."""

    title = gettext_lazy("lexicon")
    parameter_name = "set"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return lexicon_choices(request)

    def queryset(self, request: HttpRequest, queryset: QuerySet[LexiconTerm]) -> QuerySet[LexiconTerm]:
        value = self.value() or ""
        if value == "0":
            return queryset.filter(knowledge_set=None)
        return queryset.filter(knowledge_set_id=int(value)) if value.isdecimal() else queryset


class ModelScoreFilter(admin.SimpleListFilter):
    """Terms by the score that the language model gave them."""

    title = gettext_lazy("score of the language model")
    parameter_name = MODEL_FILTER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(value, words) for value, (words, _condition) in MODEL_CHOICES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[LexiconTerm]) -> QuerySet[LexiconTerm]:
        value = self.value() or ""
        return queryset.filter(MODEL_CHOICES[value][1]) if value in MODEL_CHOICES else queryset


class TermForm(forms.ModelForm):  # type: ignore[type-arg]
    """A term; other names one a line."""

    home = forms.ChoiceField(label=gettext_lazy("Lexicon"))
    synonyms = forms.CharField(
        label=gettext_lazy("Synonyms"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text=gettext_lazy("One per line. A question with one of them also finds the others."),
    )
    translations = forms.CharField(
        label=gettext_lazy("Translations"),
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
        help_text=gettext_lazy("One per line. A question in one language finds passages in the other."),
    )

    class Meta:
        model = LexiconTerm
        fields: ClassVar = ["text", "kind", "long_form", "language", "status"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("synonyms", "translations"):
            if self.instance.pk:
                self.initial[name] = "\n".join(getattr(self.instance, name))

    def clean_synonyms(self) -> list[str]:
        return self._lines("synonyms")

    def clean_translations(self) -> list[str]:
        return self._lines("translations")

    def _lines(self, name: str) -> list[str]:
        return [line.strip() for line in self.cleaned_data[name].splitlines() if line.strip()]

    def _post_clean(self) -> None:
        """The service checks what the model would: its errors belong to the form."""


class TermList(ChangeList):
    """Which lexicon is shown is no filter of it: one without terms is empty, and nothing was searched in vain."""

    def get_queryset(self, *args: Any, **options: Any) -> QuerySet[LexiconTerm]:
        rows: QuerySet[LexiconTerm] = super().get_queryset(*args, **options)
        self.has_active_filters = bool(set(self.filter_params) - {LexiconFilter.parameter_name})
        return rows


@admin.register(LexiconTerm)
class LexiconTermAdmin(CuratorAdmin):
    """Terms of the lexicons that the person may change."""

    form = TermForm
    list_display = ("text", "shown_names", "kind", "status", "home", "origin", "model_score", "updated")
    list_filter = (LexiconFilter, "status", "kind", "language", "origin", ModelScoreFilter)
    search_fields = ("text", "long_form", "synonyms", "translations")
    ordering = ("key", "pk")
    empty_words = gettext_lazy(
        "Search the documents for terms, import a list, or add a term. Questions use approved terms once published."
    )
    list_before_template = "admin/knowledge/lexiconterm/list_top.html"
    fieldsets = (
        (None, {"fields": ("home", "text", ("kind", "language"), "long_form", "synonyms", "translations", "status")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[LexiconTerm]:
        return terms_managed(scope=admin_scope(request))

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return TermList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_curator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_curator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_curator(request)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        choices = lexicon_choices(request)
        if obj is not None:
            choices = [choice for choice in choices if choice[0] == str(obj.knowledge_set_id or 0)]
        home = forms.ChoiceField(
            label=_("Lexicon"), choices=choices, initial=request.GET.get("set"), widget=UnfoldAdminSelectWidget
        )
        form_class: Any = type("BoundTermForm", (form,), {"home": home, "request": request})
        form_class.clean = lambda self: _saved_by(request, self)
        return form_class

    @admin.display(description=gettext_lazy("other names"))
    def shown_names(self, term: LexiconTerm) -> str:
        return " · ".join(name for name in (term.long_form, *term.synonyms, *term.translations) if name)[:120]

    @admin.display(description=gettext_lazy("lexicon"), ordering="knowledge_set__name")
    def home(self, term: LexiconTerm) -> str:
        return term.knowledge_set.shown_name if term.knowledge_set else _("the whole organisation")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        extra = {**(extra_context or {}), **head_context(request)}
        page: HttpResponse = super().changelist_view(request, extra)
        return page

    def save_model(self, request: HttpRequest, obj: LexiconTerm, form: Any, change: bool) -> None:
        """The form has called the service already, so that its errors could be shown."""
        obj.pk = form.saved.pk
        obj.tenant_id, obj.knowledge_set_id = form.saved.tenant_id, form.saved.knowledge_set_id

    def delete_model(self, request: HttpRequest, obj: LexiconTerm) -> None:
        services.term_delete(scope=admin_scope(request), actor=admin_user(request), term_id=obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LexiconTerm]) -> None:
        ids = list(queryset.values_list("pk", flat=True))
        services.terms_delete(scope=admin_scope(request), actor=admin_user(request), term_ids=ids)

    # ── further pages ───────────────────────────────────────────────────────────────────────────

    @admin_page("review/", name="knowledge_lexiconterm_review")
    def review(self, request: HttpRequest) -> HttpResponse:
        """Suggestions, those first of which the search is least sure."""
        return self._page(request, "review", _("Suggested terms"), queue_context(request))

    @admin_page("decide/", name="knowledge_lexiconterm_decide")
    def decide(self, request: HttpRequest) -> HttpResponse:
        """POST: approve, reject or reopen suggestions; scripts learn by which change it is undone."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        status = request.POST.get("status", "")
        ids = ids_of(request.POST.getlist("term"))
        if status not in Status.values or not ids:
            return JsonResponse({"message": _("Nothing was chosen.")}, status=REFUSED)
        try:
            changes = services.terms_decide(
                scope=admin_scope(request), actor=admin_user(request), term_ids=ids, status=status
            )
        except RagError as error:
            return JsonResponse({"message": error_message(error), "code": error.code}, status=REFUSED)
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"undo": changes[0].pk if changes else None, **queue_count(request)})
        chosen = model_filter_of(request)
        further = f"&{urlencode({MODEL_FILTER: chosen})}" if chosen else ""
        return redirect(with_set("admin:knowledge_lexiconterm_review", request) + further)

    @admin_page("import/", name="knowledge_lexiconterm_import")
    def import_file(self, request: HttpRequest) -> HttpResponse:
        """GET: the form; POST: take a file and say what became of each line."""
        outcome: FileImported | None = None
        upload = request.FILES.get("file")
        if request.method == "POST" and upload is None:
            messages.error(request, _("Choose a file."))
        elif request.method == "POST" and upload is not None:
            try:
                outcome = lexicon_import(
                    scope=admin_scope(request),
                    actor=admin_user(request),
                    content=upload.read(),
                    set_id=set_of(request),
                    approve="approve" in request.POST,
                    file_name=upload.name or "",
                )
            except RagError as error:
                messages.error(request, error_message(error))
        faults = [(fault.line, error_message(fault.error)) for fault in (outcome.faults if outcome else ())]
        return self._page(request, "import", _("Import terms"), {"found": outcome, "faults": faults})

    @admin_page("export/", name="knowledge_lexiconterm_export")
    def export_file(self, request: HttpRequest) -> HttpResponse:
        """The lexicon as a file."""
        file_format: FileFormat = next(
            (media_type for media_type in MEDIA_TYPES if media_type == request.GET.get("format")), "csv"
        )
        try:
            text = lexicon_export(scope=admin_scope(request), set_id=set_of(request), file_format=file_format)
        except RagError as error:
            messages.error(request, error_message(error))
            return redirect(LIST)
        audit_record(actor=admin_user(request), action="lexicon.export", target=file_format, set=set_of(request))
        mark = "" if file_format == "tbx" else "\ufeff"
        headers = {"Content-Disposition": f'attachment; filename="lexicon.{file_format}"'}
        return HttpResponse(mark + text, content_type=f"{MEDIA_TYPES[file_format]}; charset=utf-8", headers=headers)

    @admin_page("history/", name="knowledge_lexiconterm_changes")
    def history(self, request: HttpRequest) -> HttpResponse:
        """Versions and changes of one lexicon."""
        home = home_of(request)
        versions = versions_managed(scope=admin_scope(request), knowledge_set=home)[:VERSIONS]
        context = {"versions": versions, **history_context(request, home)}
        return self._page(request, "history", _("History of the lexicon"), context)

    @admin_page("publish/", name="knowledge_lexiconterm_publish")
    def publish(self, request: HttpRequest) -> HttpResponse:
        """POST: bring the approved terms into use."""
        return self._act(
            request,
            lambda: services.lexicon_publish(
                scope=admin_scope(request), actor=admin_user(request), set_id=set_of(request)
            ),
            lambda version: (
                _("The version in use already has these terms.")
                if version.state == version.State.LIVE
                else _("The lexicon is being published. Questions use it as soon as its names are indexed.")
            ),
        )

    @admin_page("versions/<int:lexicon_version_id>/cancel/", name="knowledge_lexiconterm_publish_cancel")
    def publish_cancel(self, request: HttpRequest, lexicon_version_id: int) -> HttpResponse:
        """POST: give a version up that is not in use yet."""
        return self._act(
            request,
            lambda: services.lexicon_publish_cancel(
                scope=admin_scope(request), actor=admin_user(request), version_id=lexicon_version_id
            ),
            _("The version was discarded. The terms are unchanged."),
        )

    @admin_page("mine/", name="knowledge_lexiconterm_mine")
    def mine(self, request: HttpRequest) -> HttpResponse:
        """POST: search the documents for terms; what is not ticked is not done."""
        options = MiningOptions(**{each.name: each.name in request.POST for each in fields(MiningOptions)})
        return self._act(
            request,
            lambda: services.mining_start(
                scope=admin_scope(request), actor=admin_user(request), set_id=set_of(request), options=options
            ),
            _("The documents are being searched for terms."),
        )

    @admin_page("mine/<int:mining_id>/cancel/", name="knowledge_lexiconterm_mine_cancel")
    def mine_cancel(self, request: HttpRequest, mining_id: int) -> HttpResponse:
        """POST: end a search for terms."""
        return self._act(
            request,
            lambda: services.mining_cancel(scope=admin_scope(request), mining_id=mining_id),
            _("The search for terms was cancelled."),
        )

    @admin_page("versions/<int:lexicon_version_id>/back/", name="knowledge_lexiconterm_back")
    def roll_back(self, request: HttpRequest, lexicon_version_id: int) -> HttpResponse:
        """POST: publish a former version again."""
        return self._act(
            request,
            lambda: services.lexicon_roll_back(
                scope=admin_scope(request), actor=admin_user(request), version_id=lexicon_version_id
            ),
            _("The previous version is being published."),
            back="admin:knowledge_lexiconterm_changes",
        )

    @admin_page("changes/<int:lexicon_change_id>/undo/", name="knowledge_lexiconterm_undo")
    def undo(self, request: HttpRequest, lexicon_change_id: int) -> HttpResponse:
        """POST: take back a change, with those that were made together with it; scripts learn how many wait now."""
        message = _("The change was undone.")
        answer = self._act(
            request,
            lambda: services.change_undo(
                scope=admin_scope(request), actor=admin_user(request), change_id=lexicon_change_id
            ),
            message,
            back="admin:knowledge_lexiconterm_changes",
        )
        if isinstance(answer, JsonResponse) and answer.status_code != REFUSED:
            return JsonResponse({"message": message, **queue_count(request)})
        return answer

    def _act(self, request: HttpRequest, act: Any, done: Any, *, back: str = LIST) -> HttpResponse:
        return run_action(request, act, done=done, back=with_set(back, request))

    def _page(self, request: HttpRequest, name: str, title: str, content: dict[str, Any]) -> HttpResponse:
        home_of(request)
        page = head_context(request) | {"title": title} | content
        return page_response(request, f"admin/knowledge/lexiconterm/{name}.html", page)


def _saved_by(request: HttpRequest, form: Any) -> dict[str, Any]:
    """Clean the form by saving: what the service refuses is shown beside the field. Nothing is saved with errors."""
    data: dict[str, Any] = dict(form.cleaned_data)
    if form.errors:
        return data
    home = int(data.pop("home", 0) or 0)
    try:
        form.saved = services.term_save(
            scope=admin_scope(request),
            actor=admin_user(request),
            term_id=form.instance.pk,
            set_id=home or None,
            values=data,
        )
    except RagError as error:
        form.add_error("text", error_message(error))
    return dict(form.cleaned_data)
