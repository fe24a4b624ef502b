"""The page of one feedback case: question, answer, sources and diagnosis beside what a reviewer does about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.forms.utils import flatatt
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.scope import Scope
from chat.admin import answer_context, is_reviewer
from evaluation.admin.diagnosis_words import diagnosis_view
from evaluation.admin.lab_labels import stage_label
from evaluation.admin.picker import picker_attributes
from evaluation.models import RemedyApplication
from evaluation.selectors import diagnosis_latest
from evaluation.services.bearing import Wanted
from evaluation.services.case_desk import CaseReplay, case_mark_passage, case_test_again
from evaluation.services.case_diagnosis import marked_passage
from evaluation.services.case_remedies import (
    case_draft_publish,
    case_is_mended,
    golden_missing,
    remedies_applied,
    remedies_offered,
    remedy_apply,
    remedy_test_note,
    remedy_undo,
)
from evaluation.services.case_resolution import case_conclude, refusal_sets
from evaluation.services.counterfactual import case_recover
from evaluation.services.diagnosis import answer_diagnose, diagnosis_store
from evaluation.services.remedies.base import REMEDIES
from feedback.models import BadCase, Vote
from feedback.resolutions import resolutions_for
from feedback.selectors import mark_hidden, moves_of
from feedback.triage import asker_message, asker_tell, case_assign, case_fix, reviewers_of
from knowledge.admin.curation import ids_of, run_action
from notifications.kinds import sentence_of

MAX_ACCEPTED = 20


class CaseMoveForm(forms.Form):
    """Where a case goes next, with a note."""

    state = forms.ChoiceField(label=_("state"), choices=BadCase.State.choices, widget=UnfoldAdminSelectWidget)
    note = forms.CharField(
        label=_("reviewer note"), required=False, max_length=4000, widget=UnfoldAdminTextareaWidget({"rows": 3})
    )


class CaseMarkForm(forms.Form):
    """The right answer and where it stands."""

    passage = forms.CharField(
        label=_("Document with the right answer"),
        required=False,
        max_length=512,
        help_text=_("Type words of its title or text, and choose. External ids and #number:passage are taken, too."),
        widget=UnfoldAdminTextInputWidget,
    )
    right_answer = forms.CharField(
        label=_("right answer"), required=False, max_length=4000, widget=UnfoldAdminTextareaWidget({"rows": 4})
    )
    accepted = forms.CharField(
        label=_("accepted answers"),
        required=False,
        max_length=8000,
        help_text=_("One per line. A right answer contains one of them."),
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
    )


def case_context(request: HttpRequest, case: BadCase, *, cases: QuerySet[BadCase]) -> dict[str, Any]:
    """Template variables of the page. `cases`: those that the viewer reviews."""
    scope = admin_scope(request)
    stored = diagnosis_latest(scope=scope, message=case.message)
    applied = remedies_applied(case=case)
    answer = answer_context(request, message=case.message)
    mark = _mark(request, case)
    open_cases = cases.exclude(state=BadCase.State.CLOSED).exclude(pk=case.pk).order_by("-created", "-pk")
    offered = remedies_offered(scope=scope, actor=admin_user(request), case=case)
    picked = [field.value for one in offered for field in one.offer.fields if field.picks]
    return {
        **answer,
        "case": case,
        "moves": moves_of(case=case),
        "votes": _with_reasons(case),
        "resolutions": [(one.value, one.label) for one in resolutions_for(case)],
        "golden_sets": refusal_sets(scope=scope, actor=admin_user(request)),
        "mark_form": _mark_form(scope, mark),
        "is_marked": bool(mark["passage"]),
        "mark_hidden": mark_hidden(scope=scope, case=case),
        "reviewers": reviewers_of(case=case),
        "fix_link": case.fix if case.fix.startswith(("/", "https://", "http://")) and " " not in case.fix else "",
        "offered": offered,
        "golden_missing": golden_missing(scope=scope, actor=admin_user(request), case=case, offered=offered),
        "picker": flatatt(picker_attributes(scope=scope, names=picked, kind="passages")),
        "applied": applied,
        "latest_applied": next((one.application.pk for one in applied if one.application.undone is None), None),
        "found": diagnosis_view(stored, scope=scope, shows_answer=not answer["withheld"]) if stored else None,
        "is_desk": True,
        "notification": "" if answer["withheld"] else _notification(scope, case),
        "later_case": open_cases.filter(pk__lt=case.pk).first() or open_cases.first(),
    }


def replay_context(replay: CaseReplay) -> dict[str, Any]:
    """Template variables of a replay."""
    return {
        "replay": replay,
        "stages": [
            {"label": stage_label(stage_change.stage), "change": stage_change} for stage_change in replay.stages
        ],
    }


def case_test(request: HttpRequest, case: BadCase) -> dict[str, Any]:
    """Ask the question again; raises what answering raises."""
    replay = case_test_again(
        scope=admin_scope(request),
        viewer=admin_user(request),
        case=case,
        is_reviewer=is_reviewer(request),
        with_old_options=request.POST.get("options") == "then",
    )
    if not replay.uses_old_options:
        remedy_test_note(case=case, is_answered=replay.is_answered)
    return replay_context(replay)


# ── acts, each with its words ─────────────────────────────────────────────────────────────────────


def case_act(request: HttpRequest, case: BadCase, act: str) -> HttpResponse:
    """POST: one act, then back to the page."""
    run, done = ACTS[act]
    back = reverse("admin:feedback_badcase_change", args=[case.pk])
    return run_action(request, lambda: run(request, case), done=done, back=back)


def _act_mark(request: HttpRequest, case: BadCase) -> None:
    """The mark, and with it a new diagnosis, which it makes surer."""
    scope, actor = admin_scope(request), admin_user(request)
    lines = tuple(line for raw in request.POST.get("accepted", "").splitlines() if (line := raw.strip()))
    marked = case_mark_passage(
        scope=scope,
        actor=actor,
        case=case,
        passage=request.POST.get("passage", "")[:512],
        right_answer=request.POST.get("right_answer", "")[:4000],
        accepted=lines[:MAX_ACCEPTED],
    )
    if mark_hidden(scope=scope, case=marked):  # what others have written does not come into a diagnosis of this person
        wanted = Wanted(answers=lines[:MAX_ACCEPTED])
    else:
        wanted = Wanted(passage=marked_passage(marked), answers=tuple(marked.accepted))
    diagnosed = answer_diagnose(
        scope=scope,
        viewer=actor,
        message_id=str(case.message_id),
        wanted=wanted,
        is_reviewer=is_reviewer(request),
    )
    diagnosis_store(actor=actor, diagnosed=diagnosed, wanted=wanted)


def _act_resolve(request: HttpRequest, case: BadCase) -> None:
    case_conclude(
        scope=admin_scope(request),
        actor=admin_user(request),
        case=case,
        resolution=request.POST.get("resolution", ""),
        note=request.POST.get("note", "")[:4000],
        close=bool(request.POST.get("close")),
        golden_set_id=next(iter(ids_of([request.POST.get("golden_set", "")])), None),
    )


def _act_assign(request: HttpRequest, case: BadCase) -> None:
    chosen = next(iter(ids_of([request.POST.get("assignee", "")])), None)
    people = {user.pk: user for user in reviewers_of(case=case)}
    case_assign(actor=admin_user(request), case=case, assignee=people.get(chosen) if chosen else None)


def _act_fix(request: HttpRequest, case: BadCase) -> None:
    case_fix(actor=admin_user(request), case=case, fix=request.POST.get("fix", ""))


def _act_tell(request: HttpRequest, case: BadCase) -> None:
    asker_tell(actor=admin_user(request), case=case, is_mended=case_is_mended(case=case))


def _act_remedy(request: HttpRequest, case: BadCase) -> RemedyApplication:
    values = {name: value for name, value in request.POST.items() if isinstance(value, str)}
    return remedy_apply(
        scope=admin_scope(request),
        actor=admin_user(request),
        case=case,
        kind=request.POST.get("kind", ""),
        values=values,
    )


def _applied_words(application: RemedyApplication) -> str:
    remedy = REMEDIES[application.kind]
    words = _("Applied: %(remedy)s. Test the question again to see what it changes.")
    return str(words if remedy.changes_search else _("Applied: %(remedy)s.")) % {"remedy": remedy.label}


def _act_undo(request: HttpRequest, case: BadCase) -> None:
    chosen = next(iter(ids_of([request.POST.get("application", "")])), 0)
    remedy_undo(scope=admin_scope(request), actor=admin_user(request), case=case, application_id=chosen)


def _act_recover(request: HttpRequest, case: BadCase) -> None:
    case_recover(scope=admin_scope(request), viewer=admin_user(request), case=case, is_reviewer=is_reviewer(request))


def _act_publish(request: HttpRequest, case: BadCase) -> None:
    chosen = next(iter(ids_of([request.POST.get("draft", "")])), 0)
    case_draft_publish(scope=admin_scope(request), actor=admin_user(request), case=case, draft_id=chosen)


# what is done, and the words for it or for its result
ACTS: Mapping[str, tuple[Callable[[HttpRequest, BadCase], Any], Any]] = {
    "mark": (_act_mark, _("Saved, and diagnosed with it.")),
    "resolve": (_act_resolve, _("Saved.")),
    "assign": (_act_assign, _("Assigned.")),
    "fix": (_act_fix, _("Saved.")),
    "tell": (_act_tell, _("The user was notified.")),
    "remedy": (_act_remedy, _applied_words),
    "undo": (_act_undo, _("Undone.")),
    "recover": (_act_recover, _("Checked. The result is shown with the diagnosis.")),
    "publish": (_act_publish, _("Published.")),
}


def _notification(scope: Scope, case: BadCase) -> str:
    """What the asker would be told now, without a right answer that the viewer may not see."""
    kind, data = asker_message(case=case, is_mended=case_is_mended(case=case))
    if mark_hidden(scope=scope, case=case):
        data["answer"] = "…"
    return sentence_of(kind=kind, data=data)


def _mark(request: HttpRequest, case: BadCase) -> dict[str, str]:
    """What the form shows of the mark; nothing of a document that the viewer may not open."""
    hidden = mark_hidden(scope=admin_scope(request), case=case)
    return {
        "passage": "" if hidden else marked_passage(case),
        "right_answer": "" if hidden else case.right_answer,
        "accepted": "" if hidden else "\n".join(case.accepted),
    }


def _mark_form(scope: Scope, mark: dict[str, str]) -> CaseMarkForm:
    """The form, whose first field searches for documents and passages."""
    form = CaseMarkForm(initial=mark)
    form.fields["passage"].widget.attrs |= picker_attributes(scope=scope, names=[mark["passage"]])
    return form


def _with_reasons(case: BadCase) -> list[dict[str, Any]]:
    """Votes with their reasons in words."""
    labels = dict(Vote.Reason.choices)
    return [
        {"vote": vote, "reasons": [labels.get(reason, reason) for reason in vote.reasons]}
        for vote in case.message.down  # type: ignore[attr-defined]
    ]
