"""Admin page of language models: who does what, servers with their keys, and a test that says what is wrong.

Platform administrators change them. Tenant administrators see which model is used for what.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user, ago
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message
from knowledge.admin.model_rows import PurposeRow, live_shown, state_shown
from knowledge.admin.site_models import KeyedForm, SiteModelAdmin, changes_models, manages_models
from knowledge.model_setup import ModelSpec, environment_models, setup_now, setup_refresh
from knowledge.model_test_words import Tested, not_tested, tested_sentence
from knowledge.model_tokenizers import tokenizer_check
from knowledge.models import LanguageModel, ModelPurpose, ModelServer
from knowledge.services.exam_states import exam_states
from knowledge.services.language_models import (
    FIELDS,
    model_check,
    model_delete,
    model_save,
    purposes_check,
    server_check,
    server_delete,
    server_save,
)
from knowledge.services.model_discovery import host_allow, hosts_to_allow, may_allow_hosts
from knowledge.services.model_states import ModelState, environment_state, model_state
from knowledge.services.model_tests import LONGEST_TEST_SECONDS, environment_model_test_start, model_test_start
from ragcore.errors import RagError

if TYPE_CHECKING:  # the theme has no types; its class is Django's with other templates
    from django.contrib.admin import StackedInline as UntypedStackedInline

    StackedInline = UntypedStackedInline[Any, Any]
else:
    from unfold.admin import StackedInline

LIST = "admin:knowledge_languagemodel_changelist"
UNUSED = _("Not used for anything yet")
Purpose = ModelPurpose.Purpose


class ModelForm(forms.ModelForm):  # type: ignore[type-arg]
    """A model and what it is used for; purposes that the environment sets are not offered."""

    used_for = forms.MultipleChoiceField(
        label=_("Used for"),
        required=False,
        widget=forms.CheckboxSelectMultiple({"class": "rs-choices"}),
        help_text=_("Replaces the model that has this purpose now. Purposes without a model use the one for answers."),
    )

    class Meta:
        model = LanguageModel
        fields: ClassVar = list(FIELDS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        purposes = list(self.instance.purposes.values_list("purpose", flat=True)) if self.instance.pk else []
        locked = set(environment_models()) - set(purposes)
        if "used_for" in self.fields:
            free = [choice for choice in Purpose.choices if choice[0] not in locked]
            self.fields["used_for"].choices = free  # type: ignore[attr-defined]
            is_first = Purpose.STANDARD not in locked and not LanguageModel.objects.exists()
            self.initial.setdefault("used_for", purposes or ([Purpose.STANDARD.value] if is_first else []))

    def clean_tokenizer(self) -> str:
        name: str = self.cleaned_data["tokenizer"].strip()
        try:
            tokenizer_check(name)
        except RagError as error:
            raise forms.ValidationError(error_message(error)) from error
        return name

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        try:
            if "name" in cleaned:
                prices = {name: cleaned.get(name) for name in ("price_in", "price_out")}
                model_check(name=cleaned["name"], **prices)
            purposes = list(self.instance.purposes.values_list("purpose", flat=True)) if self.instance.pk else []
            purposes_check(cleaned.get("used_for", ()), current=purposes)
        except RagError as error:
            self.add_error(None, error_message(error))
        return cleaned


class ServerForm(KeyedForm):
    """A server; its key is written and never shown."""

    class Meta:
        model = ModelServer
        fields: ClassVar = ["url", "enabled"]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        if cleaned.get("url"):
            stored = ModelServer.objects.filter(pk=self.instance.pk).first() if self.instance.pk else None
            try:
                server_check(stored=stored, url=cleaned["url"], key=self.key)
            except RagError as error:
                self.add_error("new_key" if error.code == "model_invalid" else "url", error_message(error))
        return cleaned


class ServerInline(StackedInline):
    """The servers of a model."""

    model = ModelServer
    form = ServerForm
    fields = ("url", ("new_key", "remove_key"), ("enabled", "last_test"))
    readonly_fields = ("last_test",)
    extra = 0
    verbose_name = _("server")
    verbose_name_plural = _("Servers: the least busy one that answers is asked first")

    def get_extra(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> int:
        return 0 if obj is not None and obj.servers.exists() else 1

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return manages_models(request)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission

    @admin.display(description=_("Last test"))
    def last_test(self, row: ModelServer) -> SafeString | str:
        if row.pk is None:
            return not_tested()
        if row.tested is None:
            return live_shown(f"test-{row.pk}", not_tested())
        words = format_html("{} {}", tested_sentence(row.test_code, row.test_data), ago(row.tested))
        return live_shown(f"test-{row.pk}", words)


@admin.register(LanguageModel)
class LanguageModelAdmin(SiteModelAdmin):
    """See the module."""

    form = ModelForm
    inlines: ClassVar = [ServerInline]
    list_display = ("name", "used_for", "server_total", "state")
    search_fields = ("name",)
    ordering = ("name",)
    list_before_template = "admin/knowledge/languagemodel/list_top.html"
    change_form_outer_before_template = "admin/knowledge/languagemodel/tools.html"
    deletion_note = _(
        "Its servers and their keys are deleted. Its profile stays: with the same name and address added again, the "
        "result of the exam and what was set by hand hold again."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[LanguageModel]:
        """Models are of the site: tenant administrators see those that are used."""
        rows = LanguageModel.objects.prefetch_related("servers", "purposes")
        visible = rows if manages_models(request) else rows.filter(purposes__isnull=False).distinct()
        return visible.order_by(*(self.get_ordering(request) or ("name",)))

    def get_fieldsets(self, request: HttpRequest, obj: LanguageModel | None = None) -> Any:
        if not manages_models(request):
            return ((None, {"fields": ("name", "context_tokens")}),)
        fields = ("name", "used_for", "context_tokens", "tokenizer", "price_in", "price_out")
        limits = {"fields": ("first_token_seconds", "between_tokens_seconds", "total_seconds")}
        return ((None, {"fields": fields}), (_("Time limits"), limits))

    def get_formset_kwargs(self, request: HttpRequest, obj: LanguageModel, inline: Any, prefix: str) -> dict[str, Any]:
        """The address of a server that was found on this machine, in the empty form of a new model."""
        options: dict[str, Any] = super().get_formset_kwargs(request, obj, inline, prefix)
        if request.method == "GET" and obj.pk is None and request.GET.get("server"):
            options["initial"] = [{"url": request.GET["server"]}]
        return options

    def get_list_display(self, request: HttpRequest) -> Any:
        return self.list_display if manages_models(request) else ("name", "used_for")

    # ── the list ────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=_("Used for"))
    def used_for(self, row: LanguageModel) -> str:
        return ", ".join(str(purpose.get_purpose_display()) for purpose in row.purposes.all()) or str(UNUSED)

    @admin.display(description=_("servers"))
    def server_total(self, row: LanguageModel) -> int:
        return sum(server.enabled for server in row.servers.all())

    @admin.display(description=_("State"))
    def state(self, row: LanguageModel) -> SafeString:
        fingerprint = _fingerprint(row)
        exam = exam_states([fingerprint])[fingerprint] if fingerprint else None
        return state_shown(model_state(row), place=f"state-{row.pk}", exam=exam)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        setup_refresh(now=True)
        purposes = self._purposes(request)
        is_testing = any(
            (row.state is not None and row.state.kind in ("testing", "loading"))
            or (row.exam is not None and row.exam.is_open)
            for row in purposes
        )
        extra = {"purposes": purposes, "is_testing": is_testing, "manages_models": manages_models(request)}
        return super().changelist_view(request, {**(extra_context or {}), **extra})

    def _purposes(self, request: HttpRequest) -> list[PurposeRow]:
        setup, rows = setup_now(), dict(ModelPurpose.objects.values_list("purpose", "model_id"))
        environment = environment_models()
        specs = [spec for spec in setup.models.values() if spec.endpoints]
        exams = exam_states(spec.fingerprint for spec in specs)
        purpose_rows = []
        for purpose, label in Purpose.choices:
            spec = setup.models.get(purpose)
            page = reverse("admin:knowledge_languagemodel_change", args=[rows[purpose]]) if purpose in rows else ""
            is_locked = purpose in environment
            unready = setup.unready.get(purpose)
            purpose_rows.append(
                PurposeRow(
                    purpose=purpose,
                    label=str(label),
                    model=spec.name if spec else unready.name if unready else "",
                    is_locked=is_locked,
                    address="" if is_locked else page,
                    servers=_addresses(spec or environment.get(purpose)) if manages_models(request) else (),
                    fingerprint=spec.fingerprint if spec is not None and spec.endpoints else "",
                    state=self._state_of(purpose, is_locked=is_locked, model_id=rows.get(purpose)),
                    exam=exams.get(spec.fingerprint) if spec is not None else None,
                )
            )
        return purpose_rows

    def _state_of(self, purpose: str, *, is_locked: bool, model_id: int | None) -> ModelState | None:
        if is_locked:
            return environment_state(purpose)
        return model_state(LanguageModel.objects.get(pk=model_id)) if model_id is not None else None

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """A model that was saved is tested, after the transaction; without a result the page shows the progress."""
        model = LanguageModel.objects.filter(pk=int(object_id)).first() if (object_id or "").isdecimal() else None  # type: ignore[arg-type]
        setup_refresh(now=True)
        fingerprint = _fingerprint(model) if model is not None else ""
        extra = {
            "state": model_state(model) if model is not None else None,
            "longest_test_seconds": LONGEST_TEST_SECONDS,
            "fingerprint": fingerprint,
            "exam": exam_states([fingerprint])[fingerprint] if fingerprint else None,
            "hosts_to_allow": hosts_to_allow(model) if model is not None else (),
            "may_allow": may_allow_hosts(scope=admin_scope(request)),
        }
        response = super().changeform_view(request, object_id, form_url, {**extra, **(extra_context or {})})
        saved: LanguageModel | None = getattr(request, "saved_model", None)
        if saved is None or response.status_code != HTTPStatus.FOUND:
            return response
        if saved.servers.exists() and not saved.servers.filter(enabled=True).exists():
            messages.success(request, _("Saved. The model is switched off: none of its servers is in use."))
            return response
        works = self._test(request, lambda: model_test_start(model=saved, **self._who(request)), is_saved=True)
        if not saved.purposes.exists():
            messages.warning(request, _("%(name)s: not used for anything yet.") % {"name": saved.name})
        if works or "_addanother" in request.POST:
            return response
        return redirect("admin:knowledge_languagemodel_change", saved.pk)

    def message_user(self, request: HttpRequest, message: Any, *args: Any, **kwargs: Any) -> None:
        """What says that a model was saved is said together with the result of its test."""
        if not hasattr(request, "saved_model"):
            super().message_user(request, message, *args, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        request.saved_model = form.instance  # type: ignore[attr-defined]

    def save_model(self, request: HttpRequest, obj: LanguageModel, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in FIELDS if name in form.cleaned_data}
        model_save(model=obj, values=values, purposes=form.cleaned_data.get("used_for"), **self._who(request))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        who = self._who(request)
        formset.save(commit=False)
        for server in formset.deleted_objects:
            server_delete(server=server, **who)
        for each in formset.forms:
            if each in formset.deleted_forms or not each.has_changed() or not each.cleaned_data.get("url"):
                continue
            each.instance.model = form.instance
            values = {name: each.cleaned_data[name] for name in ("url", "enabled")}
            server_save(server=each.instance, values=values, key=each.key, **who)

    def delete_model(self, request: HttpRequest, obj: LanguageModel) -> None:
        model_delete(model=obj, **self._who(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> None:
        for model in queryset:
            self.delete_model(request, model)

    # ── testing ─────────────────────────────────────────────────────────────────────────────────

    @admin_page("<int:pk>/test/", name="knowledge_languagemodel_test", allowed=changes_models)
    def test(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: ask every server of a model, and say what came of it; with `act` = allow, allow their hosts before."""
        model = get_object_or_404(LanguageModel, pk=pk)
        back = reverse("admin:knowledge_languagemodel_change", args=[pk]) if "page" in request.POST else reverse(LIST)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if request.POST.get("act") == "allow":
            try:
                for host in hosts_to_allow(model):
                    host_allow(host=host, **self._who(request))
            except RagError as error:
                messages.error(request, error_message(error))
                return redirect(back)
        self._test(request, lambda: model_test_start(model=model, **self._who(request)))
        return redirect(back)

    @admin_page("environment/<str:purpose>/test/", name="knowledge_languagemodel_purpose", allowed=changes_models)
    def test_purpose(self, request: HttpRequest, purpose: str) -> HttpResponse:
        """POST: the same for a model that the environment sets."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        self._test(request, lambda: environment_model_test_start(purpose=purpose, **self._who(request)))
        return redirect(LIST)

    def _who(self, request: HttpRequest) -> dict[str, Any]:
        return {"scope": admin_scope(request), "actor": admin_user(request)}

    def _test(self, request: HttpRequest, test: Callable[[], list[Tested] | None], *, is_saved: bool = False) -> bool:
        """Run a test and say what came of it, after a change with it; whether every server answers."""
        before = f"{_('Saved.')} " if is_saved else ""
        try:
            outcome = test()
        except RagError as error:
            messages.error(request, f"{before}{error_message(error)}")
            return False
        if outcome is None:  # the state on the page shows its progress
            if is_saved:
                messages.success(request, _("Saved."))
            return False
        if not outcome and is_saved:
            messages.success(request, _("Saved."))
        is_unused = is_saved and not any(tested.is_ok for tested in outcome)
        for tested in outcome:
            if tested.is_ok:
                messages.success(request, f"{before}{tested.url}: {tested.sentence}")
            else:
                messages.error(request, _failed_words(tested, is_unused=is_unused))
        return all(tested.is_ok for tested in outcome)


def _addresses(spec: ModelSpec | None) -> list[str]:
    """Where a model is: the URLs of its servers, or the path of its file."""
    if spec is None:
        return []
    return [spec.file_state.path] if spec.file_state else [endpoint.url for endpoint in spec.endpoints]


def _fingerprint(model: LanguageModel) -> str:
    """Of a registered model that is in use; "" for another one."""
    specs = setup_now().models.values()
    return next((spec.fingerprint for spec in specs if spec.name == model.name and spec.endpoints), "")


def _failed_words(tested: Tested, *, is_unused: bool) -> SafeString:
    """What a test found wrong at a server, with the page where a private address is allowed."""
    words = _("Saved. The test failed, so it is not used. %(url)s: %(reason)s") if is_unused else "%(url)s: %(reason)s"
    link = format_html(
        ' <a class="rs-link" href="{}">{}</a>',
        reverse("admin:knowledge_sourceplace_changelist"),
        _("Folders and hosts"),
    )
    return format_html(
        "{}{}", words % {"url": tested.url, "reason": tested.sentence}, link if tested.code == "not_allowed" else ""
    )
