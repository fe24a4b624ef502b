"""Questions and answers, read-only, for reviewers; and figures of strategies.

An answer may repeat what its sources say. So it is shown only to a reviewer who may open every one of them; the
others see the question and that something is withheld.
"""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import ReadOnlyMixin, TenantAdmin, admin_scope, badge, is_administrator
from accounts.admin.pages import page_response
from accounts.error_messages import stored_message
from accounts.roles import REVIEW_PERMISSION
from chat.announcements.admin import AnnouncementAdmin
from chat.answers.rights import answer_rights, rounds_shown
from chat.embeds.admin import EmbedAdmin
from chat.error_messages import answer_html
from chat.models import Conversation, Message, StrategyStatistics
from chat.turns.strategy_statistics import PERIODS, strategy_figures

__all__ = ["AnnouncementAdmin", "EmbedAdmin"]  # registered by being imported

STATUS_COLOURS = {
    "answered": "success",
    "refused": "warning",
    "search_results": "info",
    "degraded": "warning",
    "failed": "danger",
}
STATUS_WORDS = {
    "answered": _("Answered"),
    "refused": _("Not in the documents"),
    "search_results": _("Search results"),
    "degraded": _("Extractive (no LLM)"),
    "conversation": _("Small talk"),
}

DEFAULT_DAYS = 7
PERIOD_WORDS = {1: _("Today"), 7: _("7 days"), 30: _("30 days")}
# Strategies of the adaptive flow, and the others that may stand in the statistics.
STRATEGY_WORDS = {
    "direct": _("Direct"),
    "hyde": _("Hypothetical answer (HyDE)"),
    "decomposition": _("Sub-questions"),
    "iterative": _("Several steps"),
    "hybrid": _("Several wordings"),
    "standard": _("Standard"),
    "adaptive": _("Adaptive"),
    "self_rag": _("Self-checking (Self-RAG)"),
}


def is_reviewer(request: HttpRequest) -> bool:
    """Administrators, and staff with the permission to change cases."""
    user = request.user
    allowed = user.is_active and user.is_staff and user.has_perm(REVIEW_PERMISSION)
    return is_administrator(request) or allowed


def answer_context(request: HttpRequest, *, message: Message) -> dict[str, Any]:
    """What a reviewer is shown of one answer: template variables."""
    scope = admin_scope(request)
    rights = answer_rights(scope=scope, message=message)
    is_told = rights.is_whole and not rights.hidden_earlier  # forms of the question may repeat earlier answers
    is_told = is_told and rounds_shown(scope=scope, message=message)
    return {
        "message": message,
        "answer_html": answer_html(message) if rights.is_whole else "",
        "withheld": rights.hidden,
        "citations": [citation for citation in rights.citations if citation.number in rights.readable],
        "facts": [row for row in rights.facts if row.triple_id in rights.readable_facts],
        "metadata_text": _readable_json(message.metadata) if is_told else "",
        "trace_text": _readable_json(message.trace) if is_told else "",
    }


def result_words(message: Message) -> str:
    """How a question ended, for people."""
    return str(STATUS_WORDS.get(message.status or message.state, message.get_state_display()))


def _readable_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) if value else ""


class ReviewerAdmin(ReadOnlyMixin, TenantAdmin):
    """Pages of reviewers: nothing can be written."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_reviewer(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_reviewer(request)


@admin.register(Message)
class MessageAdmin(ReviewerAdmin):
    """One question with its answer, sources and figures."""

    tenant_path = "conversation__tenant"
    list_display = ("question_text", "status_badge", "asker", "source_count", "confidence_shown", "created")
    list_filter = ("status", "state", "conversation__channel", "created")
    list_select_related = ("conversation__user",)
    search_fields = ("question",)
    ordering = ("-created",)
    show_full_result_count = False
    fields = (("asker", "created"), ("status_shown", "error"))
    readonly_fields = ("asker", "created", "status_shown", "error")
    change_form_outer_after_template = "admin/chat/message/answer.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request).annotate(citation_count=Count("citations"))
        return rows if request.resolver_match and "object_id" in request.resolver_match.kwargs else rows.defer("trace")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        message = self.get_object(request, object_id)
        extra = {} if message is None else answer_context(request, message=message)
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin.display(description=_("question"))
    def question_text(self, message: Message) -> str:
        return message.question[:120]

    @badge(description=_("result"), ordering="status", colours=STATUS_COLOURS)
    def status_badge(self, message: Message) -> tuple[str, str]:
        status = message.status or message.state
        return status, result_words(message)

    @admin.display(description=_("result"))
    def status_shown(self, message: Message) -> str:
        return self.status_badge(message)[1]

    @admin.display(description=_("asked by"), ordering="conversation__user__username")
    def asker(self, message: Message) -> str:
        return message.conversation.user.username

    @admin.display(description=_("sources"), ordering="citation_count")
    def source_count(self, message: Any) -> int:
        return int(message.citation_count)

    @admin.display(description=_("confidence"), ordering="confidence")
    def confidence_shown(self, message: Message) -> str:
        return "–" if message.confidence is None else f"{message.confidence:.2f}"

    @admin.display(description=_("error"))
    def error(self, message: Message) -> str:
        return (
            f"{stored_message(message.error_code, message.error_message, message.error_data)} ({message.error_code})"
            if message.error_code
            else "–"
        )


@admin.register(Conversation)
class ConversationAdmin(ReviewerAdmin):
    """Conversations with their number of turns."""

    list_display = ("name", "user", "channel", "turns", "updated")
    list_filter = ("channel", "updated")
    list_select_related = ("user",)
    search_fields = ("title", "user__username")
    fields = ("title", "user", "channel", "created", "updated")
    show_full_result_count = False
    change_form_outer_after_template = "admin/chat/conversation/turns.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows: QuerySet[Conversation] = super().get_queryset(request)
        return rows.annotate(turn_count=Count("messages"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        conversation = self.get_object(request, object_id)
        rows = Message.objects.filter(conversation=conversation).defer("trace") if conversation else ()
        turns = [{"message": row, "result": result_words(row)} for row in rows]
        page: HttpResponse = super().change_view(
            request, object_id, form_url, {**(extra_context or {}), "turns": turns}
        )
        return page

    @admin.display(description=_("title"), ordering="title")
    def name(self, conversation: Conversation) -> str:
        return conversation.title or str(conversation.pk)

    @admin.display(description=_("questions"), ordering="turn_count")
    def turns(self, conversation: Any) -> int:
        return int(conversation.turn_count)


@admin.register(StrategyStatistics)
class StrategyStatisticsAdmin(ReviewerAdmin):
    """One table for a period of 1, 7 or 30 days instead of a list of rows."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        days = _days(request)
        strategies = strategy_figures(scope=admin_scope(request), days=days)
        rows = [
            {"name": STRATEGY_WORDS.get(figures.strategy, figures.strategy), "figures": figures}
            for figures in strategies
        ]
        context = {
            "title": _("Answer statistics"),
            "opts": self.model._meta,
            "rows": rows,
            "total": sum(figures.answers for figures in strategies),
            "periods": [(period, PERIOD_WORDS[period], period == days) for period in PERIODS],
            **(extra_context or {}),
        }
        return page_response(request, "admin/chat/strategystatistics/page.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A single row says nothing that the table does not. Raises Http404 for a row that the person does not have."""
        if self.get_object(request, object_id) is None:
            raise Http404
        return self.changelist_view(request, extra_context)


def _days(request: HttpRequest) -> int:
    """The period of the address; the default for anything else."""
    period = request.GET.get("days", "")
    return int(period) if period in map(str, PERIODS) else DEFAULT_DAYS
