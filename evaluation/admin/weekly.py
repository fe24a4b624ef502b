"""The page of the weekly report, and its CSV."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.services import audit_record
from chat.admin import is_reviewer
from evaluation.admin.base import judges_quality
from evaluation.admin.diagnosis_words import REMEDIES
from evaluation.services.weekly_report import DAYS, WeeklyReport, cause_label, report_csv, weekly_report
from feedback.models import BadCase

TYPES = {  # of questions, see ragcore.text.question_type
    "definition": gettext_lazy("Definition"),
    "process": gettext_lazy("How to do something"),
    "comparison": gettext_lazy("Comparison"),
    "application": gettext_lazy("What something is for"),
    "general": gettext_lazy("Other facts"),
}
RANGES = (7, 28, 91)  # days


@admin_page("report/", of=BadCase, name="feedback_badcase_report", allowed=judges_quality)
def report_page(request: HttpRequest) -> HttpResponse:
    """GET `?days=`: trends, priorities, patterns, recommendations and gaps."""
    report = _report(request)
    page = {
        "title": _("Weekly report"),
        "report": report,
        "days": len(report.by_day),
        "ranges": RANGES,
        "most": max((number for _day, number in report.by_day), default=0),
        "tables": [
            (_("By cause"), [(cause_label(row.name), row) for row in report.by_cause]),
            (_("By knowledge set"), [(row.name, row) for row in report.by_set]),
            (_("By resolution"), [(BadCase.Resolution(row.name).label, row) for row in report.by_resolution]),
            (_("By type of question"), [(TYPES.get(row.name, row.name or "–"), row) for row in report.by_type]),
        ],
        "clusters": [(cluster, cause_label(cluster.cause)) for cluster in report.clusters],
        "recommendations": [
            (REMEDIES.get(row.remedy, row.remedy), row, round(100 * row.rate)) for row in report.recommendations
        ],
    }
    return page_response(request, "admin/feedback/badcase/report.html", page)


@admin_page("report.csv", of=BadCase, name="feedback_badcase_report_csv", allowed=judges_quality)
def report_file(request: HttpRequest) -> HttpResponseBase:
    """GET: the cases of the report as CSV."""
    report = _report(request)
    audit_record(actor=admin_user(request), action="case.export", target="weekly report", cases=len(report.cases))
    answer = StreamingHttpResponse(report_csv(report), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="feedback-cases.csv"'
    return answer


def _report(request: HttpRequest) -> WeeklyReport:
    text = request.GET.get("days", "")
    days = int(text) if text.isdecimal() and len(text) < 4 and int(text) in RANGES else DAYS
    return weekly_report(scope=admin_scope(request), is_reviewer=is_reviewer(request), days=days)
