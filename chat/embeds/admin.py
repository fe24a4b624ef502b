"""Admin pages of embedded chats, for administrators: settings, and the page with keys, script, samples and a try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from accounts.admin.base import AdministratorAdmin, admin_scope, admin_user, ago, badge, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.shown_once import shown_once_store, shown_once_take
from chat.embeds.errors import EmbedRefusedError
from chat.embeds.origins import origins_parse
from chat.embeds.samples import samples
from chat.embeds.services import (
    MOST_KEYS,
    embed_delete,
    embed_key_remove,
    embed_public_key_add,
    embed_save,
    embed_secret_add,
)
from chat.embeds.tokens import preview_token
from chat.embeds.views import site_origin
from chat.models import Embed, EmbedKey
from ragcore.errors import RagError

NEW_SECRET = "embed-secret"  # noqa: S105  # nosec B105 - the name of a place
STATE_COLOURS = {"on": "success", "off": "", "no_key": "warning"}
STATES = {"on": _("Enabled"), "off": _("Disabled"), "no_key": _("Needs a key")}
PUBLIC = [choice for choice in EmbedKey.Algorithm.choices if choice[0] != EmbedKey.Algorithm.HS256]


class EmbedForm(forms.ModelForm):  # type: ignore[type-arg]
    """Settings of an embedded chat."""

    origins = forms.CharField(
        label=_("Origins of the pages"),
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
        help_text=_("One per line, such as https://portal.example.com. Pages of no other origin can show the chat."),
    )

    class Meta:
        model = Embed
        fields: ClassVar = ["name", "tenant", "is_active", "sets", "subject", "token_seconds", "session_minutes"]
        widgets: ClassVar = {
            "sets": forms.CheckboxSelectMultiple({"class": "rs-choices"}),
            **dict.fromkeys(("greeting", "greeting_zh"), UnfoldAdminTextareaWidget({"rows": 3})),
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk:
            self.initial["origins"] = "\n".join(self.instance.origins)

    def clean_origins(self) -> list[str]:
        try:
            return origins_parse(self.cleaned_data["origins"].splitlines())
        except RagError as error:
            raise forms.ValidationError(error_message(error)) from error

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        tenant = values.get("tenant") or self.instance.tenant
        twins = Embed.objects.filter(tenant=tenant, name=values.get("name", "")).exclude(pk=self.instance.pk)
        if twins.exists():
            self.add_error("name", _("Another embedded chat has this name."))
        if any(row.tenant_id != tenant.pk for row in values.get("sets", ())):
            self.add_error("sets", _("These knowledge sets belong to another tenant."))
        return values


@admin.register(Embed)
class EmbedAdmin(AdministratorAdmin):
    """See the module."""

    form = EmbedForm
    list_display = ("name", "state_badge", "origins_shown", "set_total", "last_used_shown", "refusal", "setup_link")
    list_filter = ("is_active", "tenant")
    search_fields = ("name", "title", "code")
    ordering = ("name",)
    change_form_outer_before_template = "admin/chat/embed/change_top.html"
    deletion_note = _("Its keys are deleted, and open chats end. The conversations stay with their people.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Embed]:
        rows: QuerySet[Embed] = super().get_queryset(request).select_related("tenant")
        return rows.annotate(set_count=Count("sets", distinct=True), key_count=Count("keys", distinct=True))

    def get_fieldsets(self, request: HttpRequest, obj: Embed | None = None) -> Any:
        """Only who administers several tenants chooses one."""
        everything = admin_scope(request).administers == "everything"
        tenant = ("tenant",) if everything and obj is None else ()
        return (
            (None, {"fields": ("name", *tenant, "is_active", "origins", "sets")}),
            (_("People"), {"fields": ("subject", "token_seconds", "session_minutes")}),
            (
                _("Appearance"),
                {
                    "fields": (
                        *(("title", "title_zh"), ("greeting", "greeting_zh")),
                        *("theme", "language", "position"),
                    )
                },
            ),
        )

    def get_form(self, request: HttpRequest, obj: Embed | None = None, change: bool = False, **options: Any) -> Any:
        """The row has its tenant before the form is checked."""
        form = super().get_form(request, obj, change, **options)
        home = admin_user(request).tenant

        class OfTenant(form):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **values: Any) -> None:
                super().__init__(*args, **values)
                if self.instance.tenant_id is None:
                    self.instance.tenant = home

        return OfTenant

    # ── the list ────────────────────────────────────────────────────────────────────────────────

    @badge(description=_("state"), ordering="is_active", colours=STATE_COLOURS)
    def state_badge(self, row: Any) -> tuple[str, Any]:
        state = "off" if not row.is_active else "on" if row.key_count else "no_key"
        return state, STATES[state]

    @admin.display(description=_("origins"))
    def origins_shown(self, row: Embed) -> str:
        return ", ".join(row.origins)

    @admin.display(description=_("knowledge sets"))
    def set_total(self, row: Any) -> int:
        return int(row.set_count)

    @admin.display(description=_("last used"), ordering="last_used")
    def last_used_shown(self, row: Embed) -> SafeString | str:
        return "–" if row.last_used is None else ago(row.last_used)

    @admin.display(description=_("last refused"), ordering="last_refused")
    def refusal(self, row: Embed) -> SafeString | str:
        return "–" if row.last_refused is None else format_html("{} {}", ago(row.last_refused), refusal_words(row))

    @admin.display(description=_("setup"))
    def setup_link(self, row: Embed) -> SafeString:
        address = reverse("admin:chat_embed_setup", args=[row.pk])
        return format_html('<a class="rs-link" href="{}">{}</a>', address, _("Keys and script"))

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def save_model(self, request: HttpRequest, obj: Embed, form: Any, change: bool) -> None:
        embed_save(**self._who(request), row=obj, sets=list(form.cleaned_data["sets"]))

    def response_add(self, request: HttpRequest, obj: Embed, post_url_continue: str | None = None) -> HttpResponse:
        """A new chat needs a key next."""
        if "_save" in request.POST:
            return redirect("admin:chat_embed_setup", pk=obj.pk)
        return super().response_add(request, obj, post_url_continue)

    def delete_model(self, request: HttpRequest, obj: Embed) -> None:
        embed_delete(**self._who(request), row=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Embed]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def _who(self, request: HttpRequest) -> dict[str, Any]:
        return {"scope": admin_scope(request), "actor": admin_user(request)}

    # ── keys, script, samples ───────────────────────────────────────────────────────────────────

    @admin_page("<int:pk>/setup/", name="chat_embed_setup", allowed=is_administrator)
    def setup(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What the page of others needs. POST: a key is added or removed (`act`); a new secret is shown once."""
        embed = get_object_or_404(self.get_queryset(request), pk=pk)
        if request.method == "POST":
            return self._act(request, embed)
        keys = list(embed.keys.all())
        content = {
            "title": embed.name,
            "embed": embed,
            "keys": keys,
            "may_add": len(keys) < MOST_KEYS,
            "algorithms": PUBLIC,
            "secret": shown_once_take(request, f"{NEW_SECRET}-{pk}"),
            "samples": samples(embed=embed, site=site_origin(request)),
            "refusal": refusal_words(embed),
            "has_sets": embed.sets.exists(),
        }
        return page_response(request, "admin/chat/embed/setup.html", content)

    def _act(self, request: HttpRequest, embed: Embed) -> HttpResponseRedirect:
        act, who = request.POST.get("act", ""), {**self._who(request), "row": embed}
        acts: dict[str, Callable[[], Any]] = {
            "secret": lambda: self._secret(request, who),
            "public": lambda: embed_public_key_add(**who | _public_values(request)),
            "remove": lambda: embed_key_remove(**who, key_id=_number(request.POST.get("key", ""))),
        }
        words = {
            "public": _("The key was added."),
            "remove": _("The key was removed. Chats that it opened have ended."),
        }
        try:
            if act in acts:
                acts[act]()
                if act in words:
                    messages.success(request, str(words[act]))
        except RagError as error:
            messages.error(request, error_message(error))
        return HttpResponseRedirect(reverse("admin:chat_embed_setup", args=[embed.pk]))

    def _secret(self, request: HttpRequest, who: dict[str, Any]) -> None:
        _key, secret = embed_secret_add(**who)
        shown_once_store(request, f"{NEW_SECRET}-{who['row'].pk}", secret)

    @admin_page("<int:pk>/preview-token/", name="chat_embed_preview_token", allowed=is_administrator)
    def preview(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A token with which the administrator tries the chat as themselves, valid for a minute."""
        embed = get_object_or_404(self.get_queryset(request), pk=pk, tenant=admin_user(request).tenant_id)
        token = preview_token(embed=embed, user_id=admin_user(request).pk)
        return JsonResponse({"token": token}, headers={"Cache-Control": "no-store"})


def refusal_words(row: Embed) -> str:
    """Why a page was refused last, in the reader's language; "" where none was."""
    if row.last_reason not in EmbedRefusedError.reasons:
        return ""
    return error_message(EmbedRefusedError(row.last_reason, limit=row.token_seconds, origin="…", algorithm="…"))


def _public_values(request: HttpRequest) -> dict[str, Any]:
    algorithm = request.POST.get("algorithm", "")
    if algorithm not in dict(PUBLIC):
        algorithm = EmbedKey.Algorithm.RS256.value
    return {"algorithm": algorithm, "pem": request.POST.get("pem", "")[:10_000]}


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 18 else 0
