"""The weekly report: counted within the rights of its reader, clustered, with recommendations and gaps."""

from __future__ import annotations

import csv
import io
from datetime import datetime, time, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from evaluation.models import Diagnosis, RemedyApplication, WantedDocument
from evaluation.services import weekly_sending
from evaluation.services.weekly_report import report_csv, weekly_report
from evaluation.services.weekly_sending import weekly_reports_send
from feedback.models import BadCase
from notifications.kinds import sentence_of
from notifications.models import Notification
from tests.admin.conftest import signed_in
from tests.api.world import message_make
from tests.factories import make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def reviewer():
    return make_admin("reviewer", email="r@example.org")


@pytest.fixture
def travel(reviewer):
    return make_set("travel", owners=[reviewer], name="Travel")


def case_of(question, travel, cause="", remedy="none", days=1, state="open", **values) -> BadCase:
    message = message_make(make_user(), question=question, answer="–", state="done", status="refused")
    message.conversation.sets.add(travel)
    case = BadCase.objects.create(message=message, state=state, features={"query_type": "fact"})
    BadCase.objects.filter(pk=case.pk).update(created=timezone.now() - timedelta(days=days))
    if cause:
        Diagnosis.objects.create(
            message=message, cause=cause, subcause="x", detail="y", confidence=0.8, remedy=remedy, **values
        )
    return case


@pytest.fixture
def cases(travel):
    return [
        case_of("Who approves business travel abroad?", travel, "retrieval", "add_question"),
        case_of("Who approves travel abroad?", travel, "retrieval", "add_question"),
        case_of("=What is the canteen menu?", travel, "knowledge_gap", "ask_owner"),
        case_of("How many holidays are there?", travel, "reranking", "option", state="closed"),
        case_of("How are holidays counted?", travel, "reranking", "option", days=9),
    ]


def report_for(user, **values):
    return weekly_report(scope=scope_of(user), is_reviewer=True, **values)


def test_the_report_counts_compares_and_groups(reviewer, travel, cases):
    RemedyApplication.objects.create(case=cases[0], kind="add_question", is_answered=True)
    BadCase.objects.filter(pk=cases[3].pk).update(resolution="should_refuse")

    report = report_for(reviewer)

    assert (len(report.cases), report.before, report.open) == (4, 1, 3)
    assert [(row.name, row.now, row.before, row.open) for row in report.by_cause][0] == ("retrieval", 2, 0, 2)
    assert [(row.name, row.now, row.change) for row in report.by_set] == [("Travel", 4, 3)]
    assert [row.name for row in report.by_type] == ["fact"]
    assert [(row.name, row.now, row.open) for row in report.by_resolution] == [("should_refuse", 1, 0)]
    assert sum(number for _day, number in report.by_day) == 4
    assert [{one.case.pk for one in cluster.cases} for cluster in report.clusters] == [{cases[0].pk, cases[1].pk}]
    best = report.recommendations[0]
    assert (best.remedy, best.cases, best.tested, best.rate) == ("add_question", 2, 1, 0.667)
    assert best.gain == pytest.approx(2 * 0.8 * 2 / 3, abs=0.05)
    assert [one.case.pk for one in report.gaps] == [cases[2].pk]
    WantedDocument.objects.create(knowledge_set=travel, case=cases[2], text="Menus", asked_by=reviewer)
    assert ([row.text for row in report_for(reviewer).wanted], report_for(reviewer).gaps) == (["Menus"], ())


def test_the_days_of_the_report_are_whole_days(reviewer, travel):
    case = case_of("Who approves business travel abroad?", travel)
    first = timezone.localdate() - timedelta(days=6)
    midnight = timezone.make_aware(datetime.combine(first, time.min))

    for opened, counts in ((midnight, (1, 0)), (midnight - timedelta(seconds=1), (0, 1))):
        BadCase.objects.filter(pk=case.pk).update(created=opened)
        report = report_for(reviewer)
        assert (report.new, report.before) == counts
        assert sum(number for _day, number in report.by_day) == counts[0]


def test_every_case_is_new_in_exactly_one_of_the_reports_that_are_sent(reviewer, travel):
    case = case_of("Who approves business travel abroad?", travel)
    monday = timezone.localdate()
    for hours in (1, 5, 23):
        opened = timezone.make_aware(datetime.combine(monday - timedelta(days=7), time(hours)))
        BadCase.objects.filter(pk=case.pk).update(created=opened)
        ends = [monday - timedelta(days=1), monday - timedelta(days=8)]
        assert [report_for(reviewer, last=last).new for last in ends] == [1, 0]


def test_answers_and_their_traces_are_not_read(reviewer, cases):
    with CaptureQueriesContext(connection) as captured:
        "".join(report_csv(report_for(reviewer)))

    statements = " ".join(one["sql"] for one in captured.captured_queries)
    for column in ("answer", "answer_html", "sentences", "trace", "evidence", "metadata"):
        assert f'."{column}"' not in statements
    assert len(captured) < 16


def test_the_csv_has_a_line_a_case_and_no_formula(reviewer, cases):
    rows = list(csv.DictReader(io.StringIO("".join(report_csv(report_for(reviewer))).removeprefix("\ufeff"))))

    assert len(rows) == 4
    assert {row["question"][:2] for row in rows} >= {"'="}


def test_nobody_counts_what_they_may_not_review(cases):
    stranger = make_user("stranger", is_staff=True)
    assert weekly_report(scope=scope_of(stranger), is_reviewer=False).cases == ()


def test_it_is_sent_to_those_with_cases_and_says_the_main_figures(reviewer, cases):
    make_user("stranger", is_staff=True)

    assert weekly_reports_send() == 1

    sent = Notification.objects.get(kind="weekly_report")
    assert sent.recipient == reviewer
    said = sentence_of(kind=sent.kind, data=sent.data)
    assert "4 new cases (+3); 3 open; most frequent cause: Search (2)" in said
    with translation.override("zh-hans"):
        said = sentence_of(kind=sent.kind, data=sent.data)
    assert "新增待改进问答 4 个（+3）; 3 个未处理; 最常见原因：" in said
    assert "new cases" not in said
    assert "an old one" in sentence_of(kind=sent.kind, data={"summary": "an old one"})


def test_it_is_sent_once_a_week_and_a_person_whose_report_fails_keeps_nobody_from_theirs(reviewer, cases, monkeypatch):
    other = make_admin("other")
    made = weekly_sending.weekly_report

    def report_or_fail(*, scope, **more):
        if scope.user_id == reviewer.pk:
            raise ValueError("a case that nobody expected")
        return made(scope=scope, **more)

    monkeypatch.setattr(weekly_sending, "weekly_report", report_or_fail)
    first = weekly_reports_send()
    monkeypatch.setattr(weekly_sending, "weekly_report", made)

    assert [first, weekly_reports_send(), weekly_reports_send()] == [1, 1, 0]
    assert {row.recipient for row in Notification.objects.all()} == {reviewer, other}
    Notification.objects.update(data={"summary": "of an earlier week"})
    assert weekly_reports_send() == 2


def test_cases_beyond_the_most_that_are_listed_are_counted(reviewer, cases, monkeypatch):
    monkeypatch.setattr("evaluation.services.weekly_report.MOST_CASES", 2)

    report = report_for(reviewer)

    assert (len(report.cases), report.new, report.before, report.open, report.left_out) == (2, 4, 1, 3, 2)
    assert sum(number for _day, number in report.by_day) == 4
    assert "2 older cases are not listed" in "".join(report_csv(report))
    page = signed_in(reviewer).get(reverse("admin:feedback_badcase_report")).content.decode()
    assert "2 older cases are counted here and by day only" in page


def test_the_page_and_its_file_open_for_reviewers_only(reviewer, cases):
    client = signed_in(reviewer)
    page = client.get(reverse("admin:feedback_badcase_report"), {"days": "28"})
    assert page.status_code == 200
    assert "Who approves travel abroad?" in page.content.decode()
    file = client.get(reverse("admin:feedback_badcase_report_csv"))
    assert b"canteen" in b"".join(file.streaming_content)
    client = signed_in(make_user("nobody", is_staff=True))
    assert client.get(reverse("admin:feedback_badcase_report")).status_code == 403
