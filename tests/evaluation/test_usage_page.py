"""The page of use and quality."""

from __future__ import annotations

import csv
import io
from datetime import date, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent
from chat.models import Conversation, Message
from chat.turns.turn_figures import turn_figures_store
from evaluation.admin.charts import Series, bar_chart, line_chart
from evaluation.models import Diagnosis
from feedback.models import BadCase, SetEstimate, Vote
from knowledge.models import Document
from tests.admin.conftest import make_document, signed_in
from tests.factories import ingest, make_admin, make_set, make_user

pytestmark = pytest.mark.django_db
PAGE = "admin:evaluation_usage"


def ask(user, question, *sets, status="answered", vote=""):
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    conversation.sets.set(sets)
    message = Message.objects.create(
        conversation=conversation,
        question=question,
        status=status,
        state="done",
        request={"sets": [one.pk for one in sets]},
        metadata={"total_time": 1.2, "model": "small", "cost": 0.25, "usage": {"total_tokens": 1000}},
    )
    turn_figures_store(message_id=message.pk)
    if vote:
        Vote.objects.create(message=message, user=user, vote=vote)
    return message


@pytest.fixture
def asked():
    owner, reader = make_user("owner", is_staff=True), make_user("reader")
    own = make_set("own", owners=[owner])
    ask(reader, "secret words of a colleague?", own, vote="up")
    wrong = ask(reader, "Secret words of a colleague?", own, status="refused", vote="down")
    BadCase.objects.create(message=wrong)
    Diagnosis.objects.create(message=wrong, cause="retrieval", subcause="missed retrieval", confidence=0.9)
    hidden = ask(reader, "hidden?", own, status="refused")
    BadCase.objects.create(message=hidden)
    Diagnosis.objects.create(message=hidden, cause="permission", subcause="not visible", confidence=0.9)
    return owner, own


def test_an_owner_sees_charts_and_no_question(asked):
    owner, own = asked
    page = signed_in(owner).get(reverse(PAGE)).content.decode()

    assert page.count('class="us-chart"') == 6  # nothing came from the cache
    assert page.count("<strong>3</strong>") == 1
    assert "colleague" not in page.lower().replace("a colleague’s", "")
    assert ">Search<" in page
    assert ">Rights<" not in page
    assert f'name="set" value="{own.pk}"' in page


def test_a_cause_that_rests_on_a_hidden_document_is_not_counted(asked):
    owner, _own = asked
    wrong = Message.objects.get(question="Secret words of a colleague?")
    secret = make_document("secret", make_set("closed", visibility="members"))
    Diagnosis.objects.create(message=wrong, document=secret, cause="reranking", subcause="low recall", confidence=0.9)

    page = signed_in(owner).get(reverse(PAGE)).content.decode()

    assert (">Search<" in page, ">Ranking<" in page) == (True, False)  # the cause before, which they may know


def test_an_administrator_sees_questions_and_causes(asked):
    page = signed_in(make_admin("root")).get(reverse(PAGE)).content.decode()

    assert "words of a colleague?" in page
    assert "asked 2 times" in page
    assert ">Rights<" in page
    assert "colleagu" in page


def test_a_range_without_questions_says_so(asked):
    owner, _own = asked
    before = timezone.localdate() - timedelta(days=40)
    page = signed_in(owner).get(reverse(PAGE), {"first": before, "last": before, "set": "x"}).content.decode()

    assert "No data for this period." in page


@pytest.mark.parametrize("query", [{"first": "yesterday"}, {"set": "99999999999999999999"}, {"set": ["1"] * 200}])
def test_nonsense_in_the_address_is_left_out(asked, query):
    assert signed_in(asked[0]).get(reverse(PAGE), query).status_code == 200


def test_the_csv_has_the_days_and_is_recorded(asked):
    owner, _own = asked
    response = signed_in(owner).get(reverse("admin:evaluation_usage_csv"))
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))

    assert len(rows) == 30
    assert (rows[-1]["questions"], rows[-1]["refused"], rows[-1]["cost"], rows[0]["median_seconds"]) == (
        "3",
        "2",
        "0.75",
        "",
    )
    assert "colleague" not in response.content.decode()
    assert AuditEvent.objects.filter(action="usage.export", actor=owner).exists()


def figures(user) -> dict[tuple[str, str], str]:
    response = signed_in(user).get(reverse("admin:evaluation_usage_csv"), {"of": "figures"})
    rows = csv.DictReader(io.StringIO(response.content.decode("utf-8-sig")))
    return {(row["figure"], row["of"]): row["value"] for row in rows}


def test_the_csv_of_figures_has_everything_else_that_the_page_shows(asked):
    owner, own = asked
    idle = make_set("idle", owners=[owner])
    ingest(owner, idle, manual="Nobody asks for it.")

    seen = figures(owner)

    assert (seen["questions", ""], seen["answered", ""], seen["refused", ""]) == ("3", "1", "2")
    assert (seen["satisfaction", ""], seen["saved_minutes", ""], seen["people", ""]) == ("0.5", "5", "1")
    assert {f"p{share}_seconds" for share in (50, 90, 95, 99)} <= {name for name, _of in seen}
    assert (seen["cause", "Search"], seen["model_answers", "small"], seen["model_cost", "small"]) == ("1", "3", "0.75")
    assert seen["unused_set", str(idle)] == "idle"
    assert ("unused_document", Document.objects.get().title) in seen
    assert not any(name.startswith(("question_", "topic_")) for name, _of in seen)  # not for owners
    assert ("cause", "Rights") not in seen

    everything = figures(make_admin("root"))
    assert everything["question_asked", "Secret words of a colleague?"] == "2"
    assert everything["question_unanswered", "Secret words of a colleague?"] == "1"
    assert everything["cause", "Rights"] == "1"


def test_an_owner_estimates_saved_time_and_a_stranger_cannot(asked):
    owner, own = asked
    address = reverse("admin:evaluation_usage_estimate")
    assert (
        signed_in(owner).post(address, {"set": own.pk, "minutes": 30, "query": "first=2026-01-01"}).status_code == 302
    )
    assert SetEstimate.objects.get().minutes == 30
    assert signed_in(owner).post(address, {"set": own.pk, "minutes": 9999}).status_code == 302
    assert signed_in(owner).get(address).status_code == 405

    stranger = make_user("stranger", is_staff=True)
    make_set("theirs", owners=[stranger])
    response = signed_in(stranger).post(address, {"set": own.pk, "minutes": 1})

    assert response.status_code in (302, 404)
    assert SetEstimate.objects.get().minutes == 30


def test_people_without_a_role_are_turned_away(asked):
    for name in ("evaluation_usage", "evaluation_usage_csv", "evaluation_usage_estimate"):
        assert signed_in(make_user(f"nobody-{name}", is_staff=True)).get(reverse(f"admin:{name}")).status_code == 403


def test_bars_stand_on_each_other_and_fit_the_plane():
    days = [date(2026, 11, 1), date(2026, 11, 2)]
    chart = bar_chart(
        "t",
        days,
        [Series(name="a", kind="answered", values=[3, 0]), Series(name="b", kind="refused", values=[1, None])],
    )

    first, second = chart.bars
    assert first.y == pytest.approx(second.y + second.height)
    assert first.y + first.height == 160
    assert "3" in first.words
    assert chart.ticks[0][0] == 160
    assert chart.ticks[-1][0] == 0
    assert not chart.is_empty


def test_a_line_has_a_gap_where_a_day_has_no_figure():
    days = [date(2026, 11, 1) + timedelta(days=n) for n in range(5)]
    chart = line_chart("t", days, [Series(name="a", kind="answered", values=[1, 2, None, 3, 0.5])], unit=" s")

    (line,) = chart.lines
    assert len(line.pieces) == 2
    assert len(line.dots) == 4
    assert line_chart("t", days, [Series(name="a", kind="x", values=[None] * 5)]).is_empty
