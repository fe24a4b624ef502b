"""Feedback cases, triaged by reviewers: the queue and the page of one case."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from accounts.admin.base import admin_scope, admin_user, ago, badge
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message
from chat.admin import ReviewerAdmin, is_reviewer
from evaluation.admin.base import judges_quality
from evaluation.admin.case_filters import CASE_FILTERS, CLOSED_LAST, with_cause
from evaluation.admin.case_page import ACTS, CaseMoveForm, case_act, case_context, case_test
from evaluation.admin.close_many import close_many, undo_many
from evaluation.admin.diagnosis_words import short_cause
from evaluation.selectors import diagnosis_run_latest
from evaluation.services.case_diagnosis import cases_without_diagnosis, diagnosis_run_start
from feedback.models import BadCase, Vote
from feedback.resolutions import batches_of
from feedback.selectors import cases_reviewable
from feedback.services import case_move
from knowledge.admin.curation import each_row
from ragcore.errors import RagError

STATE_COLOURS = {"open": "danger", "in_work": "info", "closed": "success"}


@admin.register(BadCase)
class BadCaseAdmin(ReviewerAdmin):
    """Question, answer, what readers said, sources; moved by `feedback.services.case_move` only."""

    tenant_path = "message__conversation__tenant"
    empty_value_display = "–"
    list_display = ("question", "state_badge", "cause_shown", "said", "comments", "assignee", "age")
    list_filter = CASE_FILTERS
    list_select_related = ("message", "assignee")
    search_fields = ("message__question", "note", "message__votes__comment")
    ordering = (CLOSED_LAST, "-created")  # what is not closed first
    show_full_result_count = False
    actions = ("take", "close")
    list_before_template = "admin/feedback/badcase/list_top.html"
    change_form_outer_after_template = "admin/feedback/badcase/case.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[BadCase]:
        down = Vote.objects.filter(vote=Vote.Direction.DOWN).select_related("user")
        rows = cases_reviewable(scope=admin_scope(request), is_reviewer=is_reviewer(request))
        rows = rows.prefetch_related(Prefetch("message__votes", queryset=down, to_attr="down"))
        is_down = Q(message__votes__vote=Vote.Direction.DOWN)
        rows = with_cause(rows, scope=admin_scope(request))
        return rows.annotate(down_count=Count("message__votes", filter=is_down, distinct=True))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return judges_quality(request)

    def has_view_permission(self, request: HttpRequest, obj: BadCase | None = None) -> bool:
        return self.has_module_permission(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        scope = admin_scope(request)
        extra = {
            "run": diagnosis_run_latest(scope=scope),
            "undiagnosed": self._undiagnosed(request),
            "may_diagnose": is_reviewer(request),
            "batch": batches_of(actor=admin_user(request)).first(),
        }
        page: HttpResponse = super().changelist_view(request, {**extra, **(extra_context or {})})
        return page

    def _undiagnosed(self, request: HttpRequest) -> int:
        """Of the cases that the person may review."""
        if not is_reviewer(request):
            return 0
        scope = admin_scope(request)
        reviewable = cases_reviewable(scope=scope, is_reviewer=True).order_by().values("pk")
        return cases_without_diagnosis(tenant_id=scope.tenant_id).filter(pk__in=reviewable).count()

    @admin_page("diagnose/", name="feedback_badcase_diagnose", allowed=is_reviewer)
    def diagnose(self, request: HttpRequest) -> HttpResponseBase:
        """POST: find the causes of all cases that have no diagnosis."""
        if request.method == "POST":
            diagnosis_run_start(scope=admin_scope(request), actor=admin_user(request))
        return redirect(reverse("admin:feedback_badcase_changelist"))

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=_("question"))
    def question(self, case: BadCase) -> str:
        return case.message.question[:120]

    @badge(description=_("state"), ordering="state", colours=STATE_COLOURS)
    def state_badge(self, case: BadCase) -> tuple[str, str]:
        return case.state, case.get_state_display()

    @admin.display(description=pgettext_lazy("feedback case", "cause"), ordering="cause")
    def cause_shown(self, case: Any) -> str:
        if not case.cause:
            return "–"
        return short_cause(cause=case.cause, subcause=case.subcause or "", detail=case.cause_detail or "")

    @admin.display(description=_("user feedback"), ordering="down_count")
    def said(self, case: BadCase) -> str:
        votes = case.message.down  # type: ignore[attr-defined]
        labels = dict(Vote.Reason.choices)
        reasons = dict.fromkeys(str(labels.get(reason, reason)) for vote in votes for reason in vote.reasons)
        opened = "" if case.origin == BadCase.Origin.VOTE else str(case.get_origin_display())
        return "; ".join(reasons) or opened or "–"

    @admin.display(description=_("comment"))
    def comments(self, case: BadCase) -> str:
        return next((vote.comment[:100] for vote in case.message.down if vote.comment), "–")  # type: ignore[attr-defined]

    @admin.display(description=_("age"), ordering="created")
    def age(self, case: BadCase) -> SafeString:
        return ago(case.created)

    def get_fieldsets(self, request: HttpRequest, obj: BadCase | None = None) -> Any:
        """None: the page of a case says everything itself."""
        return []

    # ── one case ────────────────────────────────────────────────────────────────────────────────

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        case = self.get_object(request, object_id)
        extra = {} if case is None else case_context(request, case, cases=self.get_queryset(request))
        page: HttpResponse = super().change_view(request, object_id, form_url, {**extra, **(extra_context or {})})
        return page

    @admin_page("<int:pk>/act/", name="feedback_badcase_act")
    def act(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """POST: mark, assign, link the fix, apply or undo a remedy, tell the asker; `act` says which."""
        case = get_object_or_404(self.get_queryset(request), pk=pk)
        act = request.POST.get("act", "")
        if act not in ACTS or not self.has_view_permission(request, case):
            raise Http404
        return case_act(request, case, act)

    @admin_page("<int:pk>/again/", name="feedback_badcase_again")
    def again(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """POST: the page with a replay of the question."""
        case = get_object_or_404(self.get_queryset(request), pk=pk)
        if request.method != "POST" or not self.has_view_permission(request, case):
            return redirect(reverse("admin:feedback_badcase_change", args=[pk]))
        try:
            extra = case_test(request, case)
        except RagError as error:
            messages.error(request, error_message(error))
            extra = {}
        get = copy(request)  # the page is shown, not its form sent
        get.method = "GET"
        return self.change_view(get, str(pk), extra_context=extra)

    @admin_page("<int:pk>/move/", name="feedback_badcase_move")
    def move(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """POST: move one case, with a note."""
        case = get_object_or_404(self.get_queryset(request), pk=pk)
        form = CaseMoveForm(request.POST or None)
        if self.has_view_permission(request, case) and form.is_valid():
            self._move(request, [case], form.cleaned_data["state"], form.cleaned_data["note"])
        return redirect(reverse("admin:feedback_badcase_change", args=[pk]))

    # ── actions of the list ─────────────────────────────────────────────────────────────────────

    @admin.action(description=_("Assign to me"))
    def take(self, request: HttpRequest, queryset: QuerySet[BadCase]) -> None:
        self._move(request, list(queryset), BadCase.State.IN_WORK)

    @admin.action(description=_("Close, with a resolution…"))
    def close(self, request: HttpRequest, queryset: QuerySet[BadCase]) -> HttpResponse | None:
        return close_many(request, queryset)

    @admin_page("undo/", name="feedback_badcase_undo", allowed=judges_quality)
    def undo(self, request: HttpRequest) -> HttpResponseBase:
        """POST: make cases that were closed at once what they were before."""
        return undo_many(request)

    def _move(self, request: HttpRequest, cases: list[BadCase], state: str, note: str = "") -> None:
        actor = admin_user(request)
        moved = len(each_row(request, cases, lambda case: case_move(actor=actor, case=case, state=state, note=note)))
        text = ngettext("%(count)d case: %(state)s.", "%(count)d cases: %(state)s.", moved)
        messages.info(request, text % {"count": moved, "state": BadCase.State(state).label})
