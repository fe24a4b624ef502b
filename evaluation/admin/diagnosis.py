"""The page "Why did this fail?": an answer, what is known of the right one, and the diagnosis."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from chat.admin import answer_context, is_reviewer
from chat.models import Message
from evaluation.admin.base import judges_quality
from evaluation.admin.diagnosis_words import diagnosis_view
from evaluation.admin.picker import picker_attributes
from evaluation.models import GoldenCase
from evaluation.selectors import diagnosis_latest
from evaluation.services.bearing import Wanted
from evaluation.services.diagnosis import answer_diagnose, diagnosis_store
from evaluation.services.lab.replay import replay_get
from ragcore.errors import RagError

PAGE = "admin:evaluation_diagnosis"
MAX_LINES = 20  # accepted answers, and key points


class DiagnosisForm(forms.Form):
    """What is known of the right answer; all of it may be left empty."""

    passage = forms.CharField(
        label=gettext_lazy("Document with the right answer"),
        required=False,
        max_length=512,
        help_text=gettext_lazy("Type words of its title or text, and choose. If empty, it is searched for."),
        widget=UnfoldAdminTextInputWidget,
    )
    answers = forms.CharField(
        label=gettext_lazy("accepted answers"),
        required=False,
        max_length=8000,
        help_text=gettext_lazy("One per line. A right answer contains one of them."),
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
    )
    points = forms.CharField(
        label=gettext_lazy("key points"),
        required=False,
        max_length=8000,
        help_text=gettext_lazy("One per line. A right answer contains all of them."),
        widget=UnfoldAdminTextareaWidget({"rows": 3}),
    )

    def wanted(self) -> Wanted:
        """Raises KeyError for a form that is not valid."""
        values = self.cleaned_data
        return Wanted(
            passage=values["passage"].strip(), answers=_lines(values["answers"]), points=_lines(values["points"])
        )


@admin_page("diagnosis/", of=GoldenCase, name="evaluation_diagnosis", allowed=judges_quality)
def diagnosis_page(request: HttpRequest) -> HttpResponseBase:
    """GET `?message=`: the answer with its latest diagnosis; POST: diagnose it with what the form says."""
    message = _message(request)
    form = DiagnosisForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _diagnose(request, message, form.wanted()):
        return redirect(f"{reverse(PAGE)}?message={message.pk}")
    scope = admin_scope(request)
    stored = diagnosis_latest(scope=scope, message=message)
    if stored is not None and request.method != "POST":
        form = DiagnosisForm(initial=_initial(stored))
    names = [str(form["passage"].value() or "")]
    form.fields["passage"].widget.attrs |= picker_attributes(scope=scope, names=names)
    answer = answer_context(request, message=message)
    shows_answer = not answer.get("withheld")
    page = {
        **answer,
        "title": _("Why did this fail?"),
        "form": form,
        "found": diagnosis_view(stored, scope=scope, shows_answer=shows_answer) if stored else None,
    }
    return page_response(request, "admin/evaluation/diagnosis/page.html", page)


def _message(request: HttpRequest) -> Message:
    name = request.GET.get("message", "")
    try:
        return replay_get(scope=admin_scope(request), message_id=name, is_reviewer=is_reviewer(request)).message
    except NotFoundError as error:
        raise Http404(error.message) from error


def _diagnose(request: HttpRequest, message: Message, wanted: Wanted) -> bool:
    """Whether it could be done; if not, the page says why."""
    actor = admin_user(request)
    try:
        found = answer_diagnose(
            scope=admin_scope(request),
            viewer=actor,
            message_id=str(message.pk),
            wanted=wanted,
            is_reviewer=is_reviewer(request),
        )
    except RagError as error:
        messages.error(request, error_message(error))
        return False
    diagnosis_store(actor=actor, diagnosed=found, wanted=wanted)
    return True


def _initial(stored: Any) -> dict[str, str]:
    passage = ""
    if stored.document_id is not None:
        passage = f"#{stored.document_id}" + ("" if stored.ordinal is None else f":{stored.ordinal + 1}")
    return {"passage": passage, "answers": "\n".join(stored.answers), "points": "\n".join(stored.points)}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for raw in text.splitlines() if (line := raw.strip()))[:MAX_LINES]
