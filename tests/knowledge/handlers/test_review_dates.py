"""Review dates by the words of a source, through the field map or a rule of its handler."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import AuditEvent
from knowledge.models import DocumentReview, HandlerRule, Source, SourceHandler
from knowledge.services.documents import document_update
from knowledge.services.handlers.review_dates import day_read
from knowledge.services.sources.webhooks import WebhookEvent, webhook_events_apply
from notifications.models import Notification
from tests.factories import make_set, make_user, run_job, scope_of

DAYS = st.dates(date(1000, 1, 1), date(9999, 12, 31))
FORMS = (
    "{0}",
    "{0:%Y/%m/%d}",
    "{0.year}.{0.month}.{0.day}",
    "{0:%Y%m%d}",
    "{0.year}年{0.month}月{0.day}日",
    "{0}T08:30:00Z",
)


@given(DAYS, st.sampled_from(FORMS))
def test_days_that_begin_with_the_year_are_read(day, form):
    assert day_read(form.format(day)) == day


@pytest.mark.parametrize("value", ["31/01/2027", "2027-13-01", "2027-02-30", "soon", "", 7, True, {}, [], ["a", "b"]])
def test_anything_else_is_not_guessed(value: Any):
    assert day_read(value) is None


class Wiki:
    """A source that gives each page a date of review."""

    def __init__(self) -> None:
        self.owner = make_user("olga")
        self.handler = SourceHandler.objects.create(
            tenant=self.owner.tenant, code="wiki", name="Wiki", field_map={"复核": "review_by"}
        )
        self.source = Source.objects.create(
            tenant=self.owner.tenant, name="wiki", kind="webhook", owner=self.owner, handler=self.handler
        )
        make_set("wiki", owners=[self.owner]).set_sources.create(source=self.source)

    def send(self, text: str = "The timer is 40 ms.", **metadata: Any):
        event = WebhookEvent(event="upsert", external_id="page", text=text, metadata=metadata)
        done = webhook_events_apply(source=self.source, events=[event])
        run_job(done.job_id)
        return self.source.documents.get()

    def day(self):
        return DocumentReview.objects.values_list("review_by", flat=True).first()


@pytest.mark.django_db
def test_the_date_of_the_source_is_kept_until_it_gives_another_one():
    wiki = Wiki()
    document = wiki.send(复核="2027/1/31")
    assert wiki.day() == date(2027, 1, 31)
    assert "review_by" not in document.metadata

    document_update(scope=scope_of(wiki.owner), actor=wiki.owner, document_id=document.pk, review_by=date(2030, 1, 1))
    wiki.send("The timer is 50 ms.", 复核="2027/1/31")
    assert wiki.day() == date(2030, 1, 1)

    wiki.send("The timer is 50 ms.", 复核="2028年2月29日")
    assert wiki.day() == date(2028, 2, 29)
    events = AuditEvent.objects.filter(action="document.review", actor=None)
    assert [event.data["after"] for event in events.order_by("pk")] == ["2027-01-31", "2028-02-29"]


@pytest.mark.django_db
def test_of_a_date_that_cannot_be_read_the_owner_is_told_once():
    wiki = Wiki()

    for text in ("One.", "Two."):
        wiki.send(text, 复核="31/01/2027")

    assert wiki.day() is None
    assert list(Notification.objects.values_list("kind", flat=True)) == ["source.review_date_unread"]


@pytest.mark.django_db
def test_a_rule_reads_the_date_in_the_text():
    wiki = Wiki()
    HandlerRule.objects.create(
        handler=wiki.handler,
        looks="text",
        match="regex",
        pattern=r"Valid until (\S+)\.",
        action="attribute",
        attribute="review_by",
        value="{1}",
    )

    document = wiki.send("The timer is 40 ms. Valid until 2029-12-31.")

    assert wiki.day() == date(2029, 12, 31)
    assert "review_by" not in document.metadata
