"""The page of use and quality: what was asked, how it ended, how long it took, what it cost, what it saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from accounts.services import audit_record
from chat.admin import is_reviewer
from evaluation.admin.base import judges_quality
from evaluation.admin.charts import Chart, Series, bar_chart, line_chart
from evaluation.admin.usage_patterns import pattern_rows, patterns_of, patterns_shown
from evaluation.models import Diagnosis, GoldenCase
from evaluation.selectors import diagnosis_shown
from feedback.dashboard import (
    DEFAULT_MINUTES,
    Dashboard,
    Range,
    Viewer,
    dashboard,
    estimates_of,
    unused_documents,
)
from feedback.estimates import MOST_MINUTES, estimate_set
from feedback.rating_patterns import RatingPatterns
from feedback.selectors import cases_reviewable
from knowledge.selectors import sets_managed
from ragcore.errors import RagError
from ragcore.text.csv_rows import BOM, csv_line

PAGE = "admin:evaluation_usage"
COLUMNS = (
    *("day", "questions", "answered", "refused", "searched", "cached", "median_seconds", "p95_seconds"),
    *("cost", "tokens", "up", "down"),
)
MOST_SETS = 50  # in an address

View = Callable[..., HttpResponseBase]


class RangeForm(forms.Form):
    """Days and sets of the page; what cannot be read is left out."""

    first = forms.DateField(
        required=False, label=gettext_lazy("from"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    last = forms.DateField(
        required=False, label=gettext_lazy("to"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )


class EstimateForm(forms.Form):
    """Minutes that an answer from one set saves."""

    set = forms.IntegerField(min_value=1, max_value=2**62)
    minutes = forms.IntegerField(min_value=0, max_value=MOST_MINUTES)


@admin_page("usage/", of=GoldenCase, name="evaluation_usage", allowed=judges_quality)
def usage_view(request: HttpRequest) -> HttpResponseBase:
    """The page."""
    viewer, period = _asked(request)
    report, patterns = dashboard(viewer=viewer, period=period), patterns_of(viewer, period)
    estimates = estimates_of(scope=viewer.scope)
    sets = sets_managed(scope=viewer.scope).order_by("code")
    page = {
        "title": _("Use and quality"),
        "found": report,
        "charts": [*charts_of(report), score_chart(patterns, period)],
        "causes": causes_of(request, viewer, period),
        "patterns": patterns_shown(patterns),
        "sets": [(home, home.pk in viewer.chosen) for home in viewer.choices[:500]],
        "estimates": [(home, estimates.get(home.pk, DEFAULT_MINUTES), home.pk in estimates) for home in sets[:200]],
        "query": request.GET.urlencode(),
        "most_minutes": MOST_MINUTES,
    }
    return page_response(request, "admin/evaluation/usage/page.html", page)


@admin_page("usage/csv/", of=GoldenCase, name="evaluation_usage_csv", allowed=judges_quality)
def csv_view(request: HttpRequest) -> HttpResponseBase:
    """The figures of each day as CSV, without any question; `?of=figures`: everything else that the page shows."""
    viewer, period = _asked(request)
    report = dashboard(viewer=viewer, period=period)
    is_rest = request.GET.get("of") == "figures"
    rows = figure_rows(request, viewer, report) if is_rest else _day_rows(report)
    head = ("figure", "of", "value") if is_rest else COLUMNS
    content = BOM + "".join(map(csv_line, (head, *rows)))
    audit_record(actor=admin_user(request), action="usage.export", target=f"{period.first} – {period.last}")
    name = f"{'figures' if is_rest else 'usage'}-{period.first}-{period.last}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _day_rows(report: Dashboard) -> Iterator[Sequence[Any]]:
    for day in report.days:
        yield [getattr(day, name) for name in COLUMNS]


def figure_rows(request: HttpRequest, viewer: Viewer, report: Dashboard) -> Iterator[Sequence[Any]]:
    """Name of a figure, of what it is, its value. Questions and topics for those alone who see them on the page."""
    totals = report.totals
    for name in ("questions", "answered", "searched", "refused", "cached", "cost", "tokens", "up", "down"):
        yield name, "", getattr(totals, name)
    yield from (("people", "", report.people), ("satisfaction", "", report.satisfaction))
    yield from (("mean_rating", "", report.mean_rating), ("saved_minutes", "", report.saved_minutes))
    for share, seconds in report.percentiles.items():
        yield f"p{share}_seconds", "", seconds
    for cause, number in causes_of(request, viewer, report.range):
        yield "cause", cause, number
    yield from pattern_rows(patterns_of(viewer, report.range))
    for model in report.models:
        yield "model_answers", model.model, model.answers
        yield "model_tokens", model.model, model.tokens
        yield "model_cost", model.model, model.cost
        yield "model_mean_seconds", model.model, model.mean_seconds
    for question in report.top_questions:
        yield "question_asked", question.text, question.asked
        yield "question_unanswered", question.text, question.unanswered
    for word, number in report.topics:
        yield "topic_unanswered", word, number
    for home in report.unused_sets:
        yield "unused_set", str(home), home.code
    for pk, title in unused_documents(viewer=viewer, period=report.range).values_list("pk", "title").iterator():
        yield "unused_document", title, pk


@admin_page("usage/estimate/", of=GoldenCase, name="evaluation_usage_estimate", allowed=judges_quality)
def estimate_view(request: HttpRequest) -> HttpResponseBase:
    """Keep the minutes that an answer saves; back to the page."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = EstimateForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The estimate must be a whole number of minutes from 0 to 480."))
        return redirect(PAGE)
    values = form.cleaned_data
    try:
        estimate_set(actor=admin_user(request), set_id=values["set"], minutes=values["minutes"])
    except NotFoundError as error:
        raise Http404 from error
    except RagError as error:
        messages.error(request, error_message(error))
    else:
        messages.success(request, _("The estimate is saved."))
    query = request.POST.get("query", "")[:2000]
    return redirect(f"{reverse(PAGE)}?{query}" if query else reverse(PAGE))


def score_chart(patterns: RatingPatterns, period: Range) -> Chart:
    """The mean score of each day; days without a judgement leave a gap."""
    means = {day.day: day.mean for day in patterns.series}
    values = [means.get(day) for day in period.days]
    return line_chart(
        _("Mean score a day"), period.days, [Series(name=gettext_lazy("score"), kind="answered", values=values)]
    )


def charts_of(report: Dashboard) -> list[Chart]:
    """The charts of the page, each with its table beside it."""
    days: list[date] = [day.day for day in report.days]

    def series(name: Any, kind: str, field: str) -> Series:
        return Series(name=name, kind=kind, values=[getattr(day, field) for day in report.days])

    return [
        bar_chart(
            _("Questions a day"),
            days,
            [
                series(pgettext_lazy("questions", "answered"), "answered", "answered"),
                series(pgettext_lazy("questions", "search results shown"), "searched", "searched"),
                series(pgettext_lazy("questions", "refused"), "refused", "refused"),
            ],
        ),
        bar_chart(
            _("Votes a day"),
            days,
            [series(gettext_lazy("helpful"), "answered", "up"), series(gettext_lazy("not helpful"), "refused", "down")],
        ),
        line_chart(
            _("Time to answer"),
            days,
            [
                series(gettext_lazy("median"), "answered", "median_seconds"),
                series(gettext_lazy("95 % finish within"), "searched", "p95_seconds"),
            ],
            unit=" s",
        ),
        bar_chart(_("Answers from the cache a day"), days, [series(gettext_lazy("cache"), "answered", "cached")]),
        bar_chart(_("Tokens a day"), days, [series(gettext_lazy("tokens"), "answered", "tokens")]),
        bar_chart(_("Cost a day"), days, [series(gettext_lazy("cost"), "answered", "cost")]),
    ]


def causes_of(request: HttpRequest, viewer: Viewer, period: Range) -> list[tuple[str, int]]:
    """Causes of failed answers by their latest diagnosis, among the cases that the person may review.

    That a document was hidden by rights is counted for those alone who administer everything.
    """
    begin, end = period.bounds
    cases = cases_reviewable(scope=viewer.scope, is_reviewer=is_reviewer(request)).order_by()
    turns = viewer.turns().filter(asked__gte=begin, asked__lt=end)
    rows = Diagnosis.objects.filter(message__in=cases.values("message"), message__figures__in=turns)
    diagnoses = Diagnosis.objects.filter(diagnosis_shown(scope=viewer.scope))  # others do not exist for the viewer
    latest = diagnoses.filter(message=OuterRef("message")).order_by("-created", "-id").values("pk")[:1]
    rows = rows.filter(pk=Subquery(latest)).exclude(cause=Diagnosis.Cause.NONE)
    if viewer.scope.administers != "everything":
        rows = rows.exclude(cause=Diagnosis.Cause.PERMISSION)
    counted = rows.order_by().values("cause").annotate(number=Count("pk")).order_by("-number", "cause")
    return [(str(Diagnosis.Cause(row["cause"]).label), row["number"]) for row in counted]


def _asked(request: HttpRequest) -> tuple[Viewer, Range]:
    """Who looks, and at which days; a set that the person may not choose is as if it did not exist."""
    form = RangeForm(request.GET)
    form.is_valid()
    chosen = [int(text) for text in request.GET.getlist("set")[:MOST_SETS] if text.isdecimal() and len(text) < 18]
    viewer = Viewer(scope=admin_scope(request), is_reviewer=is_reviewer(request), set_ids=chosen)
    return viewer, Range.of(form.cleaned_data.get("first"), form.cleaned_data.get("last"))
