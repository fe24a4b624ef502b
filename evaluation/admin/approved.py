"""The list of approved answers: what was published, by whom, how often it was shown, and why it is not any more."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, badge
from accounts.selectors import person_name
from chat.admin import ReviewerAdmin, is_reviewer
from chat.answers.approval import approved_listed, approved_withdraw
from chat.models import ApprovedAnswer
from evaluation.admin.base import judges_quality
from knowledge.admin.curation import each_row

COLOURS = {"open": "success", "over": "info"}


@admin.register(ApprovedAnswer)
class ApprovedAnswerAdmin(ReviewerAdmin):
    """Answers that one may read whole."""

    list_display = ("question_shown", "state_badge", "used", "last_used", "who", "created", "expires")
    list_filter = ("withdrawal", "created")
    list_select_related = ("approved_by",)
    search_fields = ("question", "answer")
    ordering = ("-created",)
    show_full_result_count = False
    actions = ("withdraw",)
    fields = (
        "question",
        "paraphrases_shown",
        "answer",
        ("state_shown", "who"),
        ("created", "expires", "withdrawn"),
        ("used", "last_used"),
    )
    readonly_fields = ("paraphrases_shown", "state_shown", "who")
    change_form_outer_after_template = "admin/chat/approvedanswer/sources.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApprovedAnswer]:
        return approved_listed(scope=admin_scope(request), is_reviewer=is_reviewer(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return judges_quality(request)

    def has_view_permission(self, request: HttpRequest, obj: ApprovedAnswer | None = None) -> bool:
        return self.has_module_permission(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        sources = row.sources.select_related("document", "version", "chunk") if row is not None else ()
        extra = {**(extra_context or {}), "approved_sources": sources}
        page: HttpResponse = super().change_view(request, object_id, form_url, extra)
        return page

    @admin.display(description=_("question"))
    def question_shown(self, row: ApprovedAnswer) -> str:
        return row.question[:120]

    @admin.display(description=_("also asked as"))
    def paraphrases_shown(self, row: ApprovedAnswer) -> str:
        return "\n".join(row.paraphrases) or "–"

    @badge(description=_("state"), ordering="withdrawn", colours=COLOURS)
    def state_badge(self, row: ApprovedAnswer) -> tuple[str, str]:
        return ("open" if _is_shown(row) else "over"), self.state_shown(row)

    @admin.display(description=_("state"))
    def state_shown(self, row: ApprovedAnswer) -> str:
        if _is_shown(row):
            return str(_("Shown"))
        return str(row.get_withdrawal_display() or ApprovedAnswer.Withdrawal.EXPIRED.label)

    @admin.display(description=_("approved by"))
    def who(self, row: ApprovedAnswer) -> str:
        return person_name(row.approved_by) if row.approved_by else "–"

    @admin.action(description=_("Withdraw"))
    def withdraw(self, request: HttpRequest, queryset: QuerySet[ApprovedAnswer]) -> None:
        who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
        who["is_reviewer"] = is_reviewer(request)
        count = len(each_row(request, queryset, lambda row: approved_withdraw(answer_id=row.pk, **who)))
        messages.info(request, ngettext("%(n)d answer withdrawn.", "%(n)d answers withdrawn.", count) % {"n": count})


def _is_shown(row: ApprovedAnswer) -> bool:
    return row.withdrawn is None and row.expires > timezone.now()
