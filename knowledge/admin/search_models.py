"""Admin page of embedding models and rerankers: rows with keys, a test, and the way to another model.

Platform administrators change them. Tenant administrators see which models are in use.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.base import admin_scope, admin_user, ago
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message
from knowledge.admin.curation import run_action
from knowledge.admin.site_models import KeyedForm, SiteModelAdmin, changes_models, manages_models
from knowledge.model_registry import embedder_of
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import EmbedderSwitch, SearchModel
from knowledge.queue import FILL_VECTORS, switch_subject
from knowledge.search_model_setup import SearchModelSpec, environment_embedder
from knowledge.services.embedder_sweep import models_in_deletion
from knowledge.services.embedder_switch import (
    embedder_publish,
    former_drop,
    switch_back,
    switch_cancel,
    switch_pause,
    switch_resume,
    switch_start,
)
from knowledge.services.fill_jobs import fill_of
from knowledge.services.search_models import (
    FIELDS,
    environment_search_test,
    is_held,
    reranker_publish,
    search_model_check,
    search_model_delete,
    search_model_save,
    search_model_test,
    tested_sentence,
)
from ragcore.errors import RagError
from work.words import error_words

LIST = "admin:knowledge_searchmodel_changelist"
State, Task = EmbedderSwitch.State, SearchModel.Task


class SearchModelForm(KeyedForm):
    """A model; its key is written and never shown."""

    class Meta:
        model = SearchModel
        fields: ClassVar = list(FIELDS)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        stored = SearchModel.objects.filter(pk=self.instance.pk).first() if self.instance.pk else None
        model = SearchModel(**{name: cleaned.get(name) for name in FIELDS if name in cleaned}, pk=self.instance.pk)
        model.key = stored.key if stored is not None else ""
        try:
            search_model_check(model=model, stored=stored, key=self.key)
        except RagError as error:
            self.add_error(None, error_message(error))
        return cleaned


@admin.register(SearchModel)
class SearchModelAdmin(SiteModelAdmin):
    """See the module."""

    form = SearchModelForm
    list_display = ("shown_name", "task", "provider", "state")
    search_fields = ("name",)
    list_filter = ("task",)
    ordering = ("task", "name")
    list_before_template = "admin/knowledge/searchmodel/list_top.html"
    change_form_outer_before_template = "admin/knowledge/searchmodel/tools.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchModel]:
        """Models are of the site; tenant administrators read above the list what is in use."""
        rows = SearchModel.objects.all() if manages_models(request) else SearchModel.objects.none()
        return rows.order_by(*(self.get_ordering(request) or ("pk",)))

    def get_fieldsets(self, request: HttpRequest, obj: SearchModel | None = None) -> Any:
        return (
            (None, {"fields": (("task", "provider"), "name", "url", ("new_key", "remove_key"))}),
            (gettext_lazy("Of embedding models"), {"fields": (("query_prefix", "document_prefix"),)}),
            (
                gettext_lazy("Of models in a folder"),
                {"fields": (("pooling", "max_tokens"), "trust_remote_code")},
            ),
        )

    # ── the list ────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=gettext_lazy("model"), ordering="name")
    def shown_name(self, row: SearchModel) -> str:
        return str(row)

    @admin.display(description=gettext_lazy("Last test"))
    def state(self, row: SearchModel) -> SafeString | str:
        if row.tested is None:
            return _("not tested")
        return ago(row.tested) if row.test_code == "ok" else tested_sentence(row.test_code, row.test_data)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        setup_refresh(now=True)
        setup = setup_now()
        opened = EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.OPEN).first()
        fill = fill_of(FILL_VECTORS, switch_subject(opened.pk)) if opened is not None else None
        vectors = embedder_of(setup.embedder).model
        rows = SearchModel.objects.filter(task=Task.EMBED).exclude(vectors=vectors)
        used = EmbedderSwitch.objects.filter(state=State.LIVE, target__isnull=False).exists()
        first = embedder_of(environment_embedder()).model
        is_row = SearchModel.objects.filter(task=Task.EMBED, vectors=first).exists()
        extra = {
            "manages_models": manages_models(request),
            "embedder": setup.embedder,
            "embedder_name": vectors,
            "reranker": setup.reranker,
            "reranker_name": _reranker_name(setup.reranker),
            "rerankers": SearchModel.objects.filter(task=Task.RERANK),
            "targets": rows,
            "offers_first": used and not is_row,
            "opened": opened,
            "fill": fill,
            "fill_error": error_words(fill) if fill is not None else "",
            "percent": round(100 * fill.done / fill.total) if fill is not None and fill.total else 100,
            "kept": EmbedderSwitch.objects.filter(state=State.KEPT).first(),
            "deleting": models_in_deletion(),
            "history": EmbedderSwitch.objects.exclude(state__in=EmbedderSwitch.OPEN).select_related("author")[:10],
        }
        return super().changelist_view(request, {**(extra_context or {}), **extra})

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def save_model(self, request: HttpRequest, obj: SearchModel, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in FIELDS if name in form.cleaned_data}
        search_model_save(scope=admin_scope(request), actor=admin_user(request), model=obj, values=values, key=form.key)

    def delete_model(self, request: HttpRequest, obj: SearchModel) -> None:
        try:
            search_model_delete(scope=admin_scope(request), actor=admin_user(request), model=obj)
        except RagError as error:
            messages.error(request, error_message(error))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SearchModel]) -> None:
        for model in queryset:
            self.delete_model(request, model)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        row = SearchModel.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if manages_models(request) and row is not None and is_held(row):
            messages.error(request, _("This model is in use, being prepared, or kept for rollback."))
            return redirect("admin:knowledge_searchmodel_change", row.pk)
        return super().delete_view(request, object_id, extra_context)

    # ── buttons ─────────────────────────────────────────────────────────────────────────────────

    @admin_page("<int:pk>/test/", name="knowledge_searchmodel_test", allowed=changes_models)
    def test(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: ask a model, and say what came of it."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = get_object_or_404(SearchModel, pk=pk)
        sentence = search_model_test(scope=admin_scope(request), actor=admin_user(request), model=row)
        say = messages.success if row.test_code == "ok" else messages.error
        say(request, f"{row}: {sentence}")
        return redirect("admin:knowledge_searchmodel_change", pk) if "page" in request.POST else redirect(LIST)

    @admin_page("used/<str:task>/test/", name="knowledge_searchmodel_test_used", allowed=changes_models)
    def test_used(self, request: HttpRequest, task: str) -> HttpResponse:
        """POST: the same for the model in use."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        is_ok, sentence = environment_search_test(scope=admin_scope(request), actor=admin_user(request), task=task)
        (messages.success if is_ok else messages.error)(request, sentence)
        return redirect(LIST)

    @admin_page("reranker/", name="knowledge_searchmodel_reranker", allowed=changes_models)
    def use_reranker(self, request: HttpRequest) -> HttpResponse:
        """POST: order by another reranker."""
        chosen = request.POST.get("model", "")
        return run_action(
            request,
            lambda: reranker_publish(**self._who(request), model_id=int(chosen) if chosen.isdecimal() else None),
            done=_("This reranker is now in use."),
            back=LIST,
        )

    @admin_page("switch/start/", name="knowledge_searchmodel_start", allowed=changes_models)
    def start(self, request: HttpRequest) -> HttpResponse:
        """POST: make vectors of another model."""
        chosen = request.POST.get("model", "")
        target = get_object_or_404(SearchModel, pk=int(chosen)) if chosen.isdecimal() else None
        return run_action(
            request,
            lambda: switch_start(**self._who(request), target=target),
            done=_("Vectors are computed in the background. Questions are answered as before."),
            back=LIST,
        )

    @admin_page("switch/<int:switch_id>/<str:step>/", name="knowledge_searchmodel_switch", allowed=changes_models)
    def act(self, request: HttpRequest, switch_id: int, step: str) -> HttpResponse:
        """POST: pause, resume, cancel or finish a change."""
        who = self._who(request)
        steps: dict[str, tuple[Any, str]] = {
            "pause": (lambda: switch_pause(**who, switch_id=switch_id), _("Paused.")),
            "resume": (lambda: switch_resume(**who, switch_id=switch_id), _("Resumed.")),
            "cancel": (lambda: switch_cancel(**who, switch_id=switch_id), _("Cancelled. Nothing has changed.")),
            "finish": (
                lambda: embedder_publish(**who, switch_id=switch_id),
                _("The new model is now in use."),
            ),
        }
        if step not in steps:
            return HttpResponse(status=404)
        run, message = steps[step]
        return run_action(request, run, done=message, back=LIST)

    @admin_page("back/", name="knowledge_searchmodel_back", allowed=changes_models)
    def back(self, request: HttpRequest) -> HttpResponse:
        """POST: answer by the former model again."""
        return run_action(
            request,
            lambda: switch_back(**self._who(request)),
            done=_("The previous model is in use again."),
            back=LIST,
        )

    @admin_page("drop/", name="knowledge_searchmodel_drop", allowed=changes_models)
    def drop(self, request: HttpRequest) -> HttpResponse:
        """POST: delete the vectors of the former model."""
        return run_action(
            request,
            lambda: former_drop(**self._who(request)),
            done=_("The vectors of the previous model are being deleted."),
            back=LIST,
        )

    def _who(self, request: HttpRequest) -> dict[str, Any]:
        return {"scope": admin_scope(request), "actor": admin_user(request)}


def _reranker_name(spec: SearchModelSpec) -> str:
    """As the page shows it."""
    names = {"linear": _("built-in"), "none": _("none")}
    return names.get(spec.client, spec.client)
