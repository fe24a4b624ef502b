"""Feedback cases, triaged by reviewers: the queue and the page of one case (D35, D36)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.timesince import timesince
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from accounts.admin.base import StateListFilter, admin_scope, admin_user, badge
from accounts.error_messages import error_message
from chat.admin import ReviewerAdmin, answer_context, is_reviewer
from evaluation.selectors import diagnosis_run_latest
from evaluation.services.case_diagnosis import cases_without_diagnosis, diagnosis_run_start
from feedback.models import BadCase, Vote
from feedback.selectors import cases_reviewable, moves_of
from feedback.services import case_move
from knowledge.admin.curation import keeps_sets
from ragcore.errors import RagError

STATE_COLOURS = {"open": "danger", "in_work": "info", "closed": "success"}


class CaseMoveForm(forms.Form):
    """Where a case goes next, with a note."""

    state = forms.ChoiceField(label=_("state"), choices=BadCase.State.choices, widget=UnfoldAdminSelectWidget)
    note = forms.CharField(label=_("reviewer note"), required=False, max_length=4000, widget=UnfoldAdminTextareaWidget)


class StateFilter(StateListFilter):
    """By state, and one's own cases."""

    title = _("state")
    parameter_name = "case"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [*BadCase.State.choices, ("mine", _("Mine, in progress"))]

    def queryset(self, request: Any, queryset: Any) -> Any:
        if self.choice == "mine":
            return queryset.filter(assignee=request.user, state=BadCase.State.IN_WORK)
        return super().queryset(request, queryset)

    def narrowed(self, rows: QuerySet[BadCase], choice: str) -> QuerySet[BadCase]:
        return rows.filter(state=choice)


@admin.register(BadCase)
class BadCaseAdmin(ReviewerAdmin):
    """Question, answer, what readers said, sources; moved by `feedback.services.case_move` only."""

    tenant_path = "message__conversation__tenant"
    list_display = ("question", "state_badge", "said", "comments", "assignee", "age")
    list_filter = (StateFilter, "assignee")
    list_select_related = ("message", "assignee")
    search_fields = ("message__question", "note", "message__votes__comment")
    ordering = (F("closed").desc(nulls_first=True), "-created")  # what is not closed first
    show_full_result_count = False
    actions = ("take", "close")
    fields = (("state_shown", "assignee"), ("created", "closed", "reopened"), "note")
    readonly_fields = ("state_shown", "assignee", "created", "closed", "reopened", "note")
    list_before_template = "admin/feedback/badcase/list_top.html"
    change_form_outer_after_template = "admin/feedback/badcase/case.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[BadCase]:
        down = Vote.objects.filter(vote=Vote.Direction.DOWN).select_related("user")
        rows = cases_reviewable(scope=admin_scope(request), is_reviewer=is_reviewer(request))
        rows = rows.prefetch_related(Prefetch("message__votes", queryset=down, to_attr="down"))
        is_down = Q(message__votes__vote=Vote.Direction.DOWN)
        return rows.annotate(down_count=Count("message__votes", filter=is_down, distinct=True))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_reviewer(request) or keeps_sets(request)

    def has_view_permission(self, request: HttpRequest, obj: BadCase | None = None) -> bool:
        return self.has_module_permission(request)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/move/", view(self.move), name="feedback_badcase_move"),
            path("diagnose/", view(self.diagnose), name="feedback_badcase_diagnose"),
        ]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        scope = admin_scope(request)
        extra = {
            "run": diagnosis_run_latest(scope=scope),
            "undiagnosed": cases_without_diagnosis(tenant_id=scope.tenant_id).count() if is_reviewer(request) else 0,
            "may_diagnose": is_reviewer(request),
        }
        page: HttpResponse = super().changelist_view(request, {**extra, **(extra_context or {})})
        return page

    def diagnose(self, request: HttpRequest) -> HttpResponseBase:
        """POST: find the causes of all cases that have no diagnosis."""
        if not is_reviewer(request):
            raise PermissionDenied
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

    @admin.display(description=_("state"))
    def state_shown(self, case: BadCase) -> str:
        return str(case.get_state_display())

    @admin.display(description=_("user feedback"), ordering="down_count")
    def said(self, case: BadCase) -> str:
        votes = case.message.down  # type: ignore[attr-defined]
        labels = dict(Vote.Reason.choices)
        reasons = dict.fromkeys(str(labels.get(reason, reason)) for vote in votes for reason in vote.reasons)
        return "; ".join(reasons) or "–"

    @admin.display(description=_("comment"))
    def comments(self, case: BadCase) -> str:
        return next((vote.comment[:100] for vote in case.message.down if vote.comment), "–")  # type: ignore[attr-defined]

    @admin.display(description=_("age"), ordering="created")
    def age(self, case: BadCase) -> str:
        return timesince(case.created)

    # ── one case ────────────────────────────────────────────────────────────────────────────────

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        case = self.get_object(request, object_id)
        extra: dict[str, Any] = {}
        if case is not None:
            extra = answer_context(request, message=case.message)
            extra |= {"moves": moves_of(case=case)}
            extra |= {"case": case, "votes": _with_reasons(case), "move_form": CaseMoveForm(initial=_next(case))}
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

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

    @admin.action(description=_("Close"))
    def close(self, request: HttpRequest, queryset: QuerySet[BadCase]) -> None:
        self._move(request, list(queryset), BadCase.State.CLOSED)

    def _move(self, request: HttpRequest, cases: list[BadCase], state: str, note: str = "") -> None:
        moved = 0
        for case in cases:
            try:
                case_move(actor=admin_user(request), case=case, state=state, note=note)
                moved += 1
            except RagError as error:
                messages.error(request, f"{case}: {error_message(error)}")
        text = ngettext("%(count)d case: %(state)s.", "%(count)d cases: %(state)s.", moved)
        messages.info(request, text % {"count": moved, "state": BadCase.State(state).label})


def _next(case: BadCase) -> dict[str, str]:
    """What the form proposes: take an open case, close one in work."""
    following = {BadCase.State.OPEN: BadCase.State.IN_WORK, BadCase.State.IN_WORK: BadCase.State.CLOSED}
    return {"state": following.get(BadCase.State(case.state), BadCase.State.OPEN), "note": case.note}


def _with_reasons(case: BadCase) -> list[dict[str, Any]]:
    """Votes with their reasons in words."""
    labels = dict(Vote.Reason.choices)
    return [
        {"vote": vote, "reasons": [labels.get(reason, reason) for reason in vote.reasons]}
        for vote in case.message.down  # type: ignore[attr-defined]
    ]
