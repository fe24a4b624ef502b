"""Clearance and readers by the words of a source, through the field map of its handler."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import AuditEvent, User
from knowledge.access_errors import ClearanceTooLowError
from knowledge.models import Document, HandlerRule, Source, SourceHandler
from knowledge.selectors.readers import readers_of
from knowledge.services.documents import document_update
from knowledge.services.handlers.security import level_read
from knowledge.services.sources import source_update
from knowledge.services.sources.webhooks import WebhookEvent, webhook_events_apply
from notifications.models import Notification
from tests.factories import make_set, make_user, run_job, scope_of
from tests.forms_plugin import examples

pytestmark = pytest.mark.django_db


@pytest.mark.every_row
@pytest.mark.parametrize(
    ("value", "level"),
    [
        *((0, 0), (4, 4), ("3", 3), ("３", 3), (" 机密 ", 3), ("内部公开", 1), ("Top_Secret", 4), (["公开"], 0)),
        *((5, None), (-1, None), (True, None), ("", None), ("very", None), ({}, None), (["公开", "机密"], None)),
        *((1.5, None), ("C3", 2)),
    ],
)
def test_a_level_is_read_by_number_name_or_the_words_of_the_source(value: Any, level: int | None) -> None:
    assert level_read(value, levels={"c3": 2}) == level


class Wiki:
    """A source that says for each page how secret it is and who may read it."""

    def __init__(self) -> None:
        self.owner = make_user("olga")
        self.ann = make_user("ann")
        self.home = make_set("wiki", owners=[self.owner])
        self.handler = SourceHandler.objects.create(
            tenant=self.owner.tenant, code="wiki", name="Wiki", field_map={"密级": "clearance", "acl": "readers"}
        )
        self.source = Source.objects.create(
            tenant=self.owner.tenant, name="wiki", kind="webhook", owner=self.owner, handler=self.handler
        )
        self.home.set_sources.create(source=self.source)

    def options(self, **options: Any) -> None:
        source_update(
            scope=scope_of(self.owner), actor=self.owner, source_id=self.source.pk, values={"options": options}
        )
        self.source.refresh_from_db()

    def send(self, text: str = "The timer is 40 ms.", clearance: int = 0, **metadata: Any) -> Document:
        event = WebhookEvent(event="upsert", external_id="page", text=text, metadata=metadata, clearance=clearance)
        done = webhook_events_apply(source=self.source, events=[event])
        assert not done.rejected, done.rejected
        if done.job_id is not None:
            run_job(done.job_id)
        return Document.objects.get(external_id="page")

    def told(self) -> list[str]:
        return sorted(Notification.objects.filter(recipient=self.owner).values_list("kind", flat=True))


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


def test_the_level_of_the_source_is_the_clearance_and_its_change_applies_without_new_text(wiki: Wiki) -> None:
    assert wiki.send(密级="秘密").clearance == 2
    assert wiki.send(密级="机密").clearance == 3
    assert wiki.send(密级=0).clearance == 0
    assert wiki.send("The timer is 50 ms now.", 密级="内部").clearance == 1
    assert Document.objects.get().live_version.number == 2  # type: ignore[union-attr]
    assert AuditEvent.objects.filter(action="document.security", actor=None).count() >= 3


def test_what_cannot_be_read_takes_the_strictest_of_default_and_floor_and_the_owner_is_told_once(wiki: Wiki) -> None:
    wiki.options(clearance=2, clearance_floor=1)

    assert wiki.send().clearance == 2  # it says nothing: the default
    assert wiki.send(密级="公开").clearance == 1  # never below the floor
    assert wiki.send(密级="???").clearance == 2
    assert wiki.send(密级="!!!").clearance == 2

    assert wiki.told() == ["source.security_unread"]


def test_what_a_sender_asks_for_by_name_is_a_floor_of_its_own(wiki: Wiki) -> None:
    assert wiki.send(clearance=3, 密级="公开").clearance == 3
    assert wiki.send("Another text.", 密级="公开").clearance == 3


def test_keepers_raise_what_the_source_says_and_the_source_does_not_lower_it_again(wiki: Wiki) -> None:
    document = wiki.send(密级="内部")

    document_update(scope=scope_of(wiki.owner), actor=wiki.owner, document_id=document.pk, clearance=3)

    assert wiki.send("Another text.", 密级="公开").clearance == 3
    assert wiki.send(密级="绝密").clearance == 4


def test_a_raised_floor_raises_what_is_there_and_nobody_goes_below_it(wiki: Wiki) -> None:
    document = wiki.send(密级="公开")

    wiki.options(clearance_floor=2)

    document.refresh_from_db()
    assert document.clearance == 2
    with pytest.raises(ClearanceTooLowError):
        document_update(scope=scope_of(wiki.owner), actor=wiki.owner, document_id=document.pk, clearance=1)
    assert wiki.send(密级="机密").clearance == 3
    assert wiki.send(密级="公开").clearance == 2


def test_a_rule_of_the_handler_sets_it_too_and_the_stricter_one_holds(wiki: Wiki) -> None:
    HandlerRule.objects.create(
        handler=wiki.handler, looks="text", pattern="timer", action="attribute", attribute="clearance", value="机密"
    )

    document = wiki.send(密级="内部")
    assert document.clearance == 3
    assert "clearance" not in document.metadata
    assert wiki.send(密级="公开").clearance == 3  # the text has not been read again, and says the same
    assert wiki.send("Nothing of that kind.", 密级="公开").clearance == 0


def test_readers_of_the_source_are_taken_and_unknown_ones_are_told(wiki: Wiki) -> None:
    scope = scope_of(wiki.owner)

    document = wiki.send(acl=["ann"])
    assert readers_of(scope=scope, document=document)[1].users == ("ann",)  # type: ignore[union-attr]
    document = wiki.send(acl="ann, nobody")
    assert readers_of(scope=scope, document=document)[1].unknown == ("nobody",)  # type: ignore[union-attr]
    assert wiki.told() == ["source.readers_unknown"]
    assert document.metadata == {}  # its readers see the attributes, and need not know of each other
    assert wiki.send("Another text, and not a word about readers.").source_readers_id == document.source_readers_id

    assert wiki.send(acl="*").source_readers is None
    wiki.handler.field_map = {}
    wiki.handler.save()
    wiki.send("Without a map.", acl=["ann"])
    assert Document.objects.get().source_readers is None


LEVELS = ["公开", "内部", "秘密", "机密", "绝密"]


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    says=st.lists(st.sampled_from([*LEVELS, "?", None]), min_size=1, max_size=3),
    usual=st.integers(0, 4),
    floor=st.integers(0, 4),
)
def test_the_last_word_of_the_source_holds_never_below_the_floor(
    wiki: Wiki, says: list[str | None], usual: int, floor: int
) -> None:
    Document.objects.all().delete()
    wiki.source.options = {"clearance": usual, "clearance_floor": floor}
    wiki.source.save()
    User.objects.filter(pk=wiki.owner.pk).update(clearance=4)

    for one in says:
        event = WebhookEvent(event="upsert", external_id="page", text="A text.", metadata={"密级": one})
        webhook_events_apply(source=wiki.source, events=[event])

    expected = max(floor, LEVELS.index(says[-1])) if says[-1] in LEVELS else max(floor, usual)
    assert Document.objects.get().clearance == expected
