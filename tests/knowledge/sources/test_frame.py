"""What every connector gets from the frame: tries again, rests, rate, hours, whole runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from knowledge.connector_errors import ItemOfSourceError, SourceBusyError, SourceUnreachableError
from knowledge.connectors.items import ItemRelation
from knowledge.models import Document, DocumentRelation, ItemFault, Source
from knowledge.services.sources import pacing, source_run_start, source_update, sync_items
from knowledge.services.sources.item_faults import MOST_TRIES
from knowledge.services.sources.known_items import KnownItems
from knowledge.services.sources.pacing import Pace, opens_at
from knowledge.services.sources.sync_runs import EVERYTHING, WHOLE_LIST, run_open, sources_start_due
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run, sync_run, work_of
from tests.knowledge.sources.scripted import Place, scripted_place, scripted_source
from work.models import State

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(monkeypatch) -> Place:
    """A wiki of three pages."""
    made = scripted_place(monkeypatch)
    for name in ("a", "b", "c"):
        made.put(name, f"Page {name}.")
    return made


def fresh(source: Source) -> Source:
    source.refresh_from_db()
    return source


def run_as(owner, source, mode):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk, mode=mode)
    return sync_run(job_id=job.pk)


# ── items that fail ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", [SourceUnreachableError(), ConnectionResetError(), TimeoutError()])
def test_an_item_that_could_not_be_read_for_now_is_read_by_the_next_run(owner, place, fault):
    source = scripted_source(owner)
    place.things["b"].fails = fault
    run(owner, source)
    assert here(source) == ["a", "c"]
    assert ItemFault.objects.get(source=source).is_passing

    place.things["b"].fails = None
    job = run(owner, source)

    assert here(source) == ["a", "b", "c"]
    assert counts(job) == {"found": 3, "new": 1, "unchanged": 2}
    assert place.reads == {"a": 1, "b": 1, "c": 1}
    assert fresh(source).cursor == {"at": 3}
    assert not ItemFault.objects.exists()


def test_what_changed_while_an_item_failed_is_lost_neither(owner, place):
    source = scripted_source(owner)
    run(owner, source)
    place.put("b", "Page b, changed.")
    place.things["b"].fails = SourceUnreachableError()
    run(owner, source)
    place.put("d", "Page d.")
    place.things["b"].fails = None

    run(owner, source)

    assert here(source) == ["a", "b", "c", "d"]
    assert place.reads == {"a": 1, "b": 2, "c": 1, "d": 1}
    assert place.lists == [0, 3, 3]


def test_an_item_that_cannot_be_taken_at_all_holds_nothing_up(owner, place):
    source = scripted_source(owner)
    place.things["b"].fails = ItemOfSourceError("lfs")

    run(owner, source)

    assert fresh(source).cursor == {"at": 3}
    row = ItemFault.objects.get(source=source)
    assert (row.external_id, row.error["code"], row.is_passing) == ("b", "item_not_taken", False)


def test_after_some_runs_the_list_moves_on_and_a_person_tries_again(owner, place):
    source = scripted_source(owner)
    place.things["b"].fails = SourceUnreachableError()
    for _ in range(MOST_TRIES - 1):
        run(owner, source)
        assert fresh(source).cursor == {}
    run(owner, source)
    assert fresh(source).cursor == {"at": 3}
    place.things["b"].fails = None
    run(owner, source)
    assert here(source) == ["a", "c"]
    assert ItemFault.objects.get(source=source).tries == MOST_TRIES

    run_as(owner, source, WHOLE_LIST)

    assert here(source) == ["a", "b", "c"]
    assert place.reads == {"a": 1, "b": 1, "c": 1}
    assert not ItemFault.objects.exists()


def test_a_fault_of_an_item_that_is_gone_there_is_forgotten(owner, place):
    source = scripted_source(owner)
    place.things["b"].fails = ItemOfSourceError("lfs")
    run(owner, source)
    place.remove("b")

    run(owner, source)

    assert not ItemFault.objects.exists()


# ── runs of everything ──────────────────────────────────────────────────────────────────────────


def test_everything_is_read_again_on_request_and_the_same_bytes_change_nothing(owner, place):
    source = scripted_source(owner)
    run(owner, source)
    place.things["b"].text = "Changed there, and its version was not."

    job = run_as(owner, source, EVERYTHING)

    assert place.reads == {"a": 2, "b": 2, "c": 2}
    assert counts(job) == {"found": 3, "changed": 1, "unchanged": 2}
    assert sorted(Document.objects.values_list("external_id", "versions__number")) == [
        ("a", 1),
        ("b", 1),
        ("b", 2),
        ("c", 1),
    ]


def test_options_that_take_other_items_make_the_next_list_a_whole_one(owner, place):
    source = scripted_source(owner, options={"include": ["a"]})
    run(owner, source)
    assert here(source) == ["a"]

    source_update(scope=scope_of(owner), actor=owner, source_id=source.pk, values={"options": {"include": ["a", "c"]}})
    run(owner, source)

    assert here(source) == ["a", "c"]
    assert place.reads == {"a": 1, "c": 1}


def test_in_a_whole_list_what_has_not_changed_is_known_without_looking_it_up(owner, place, monkeypatch):
    for name in ("a", "c"):
        place.put(name, f"Page {name}.", ["user:é", "group:x"])
    source = scripted_source(owner)
    run(owner, source)
    place.put("b", "Page b, changed.")
    place.things["c"].readers = ["group:x"]
    looked_up = []
    document = KnownItems.document
    monkeypatch.setattr(KnownItems, "document", lambda known, name: looked_up.append(name) or document(known, name))

    job = run_as(owner, source, WHOLE_LIST)

    assert looked_up == ["b", "c"]
    assert counts(job) == {"found": 3, "changed": 1, "unchanged": 2}
    assert Document.objects.get(external_id="c").source_readers.names == ["group:x"]


def test_relations_count_also_where_the_item_is_the_same_and_cost_nothing_where_they_are(owner, place, monkeypatch):
    place.things["a"].relations = [ItemRelation(kind="belongs_to", external_id="b")]
    place.things["c"].relations = [ItemRelation(kind="links", external_id="a")]
    source = scripted_source(owner)
    run(owner, source)
    place.things["a"].relations = [ItemRelation(kind="belongs_to", external_id="c")]
    written = []
    write = sync_items.item_relations_write
    monkeypatch.setattr(
        sync_items,
        "item_relations_write",
        lambda **values: written.append(values["item"].external_id) or write(**values),
    )

    run_as(owner, source, WHOLE_LIST)

    assert written == ["a"]
    assert related(source) == {("a", "belongs_to", "c"), ("c", "links", "a")}
    place.things["c"].relations = ()
    run_as(owner, source, WHOLE_LIST)
    assert related(source) == {("a", "belongs_to", "c")}


def related(source):
    """What the source states: id, kind, id."""
    rows = DocumentRelation.objects.filter(origin="connector", source__source=source)
    return {
        (id_there, kind, key.rpartition(":")[2])
        for id_there, kind, key in rows.values_list("source__external_id", "kind", "target_key")
    }


def test_what_is_gone_from_a_source_that_deletes_nothing_is_told(owner, place):
    source = scripted_source(owner)
    run(owner, source)
    place.remove("a")

    job = run_as(owner, source, WHOLE_LIST)

    assert here(source) == ["a", "b", "c"]
    assert [note["message"][:42] for note in job.report["notes"]] == ["1 document is no longer in the source. It "]
    place.put("a", "Page a is back.")
    assert run_as(owner, source, WHOLE_LIST).report["notes"] == []


# ── rests, rate, hours ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("where", ["list", "reading"])
def test_a_source_that_wants_to_be_left_alone_is_read_later_by_the_same_run(owner, place, where):
    source = scripted_source(owner)
    if where == "list":
        place.fails, place.fails_after = SourceBusyError(90), 2
    else:
        place.things["c"].fails = SourceBusyError(90)
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)

    sync_run(job_id=job.pk)

    work = work_of(job.pk)
    assert work.state == State.QUEUED
    assert timedelta(seconds=80) < work.not_before - timezone.now() <= timedelta(seconds=90)
    assert here(source) == ["a", "b"]
    assert fresh(source).outcome == "running"

    place.fails = place.things["c"].fails = None
    work.not_before = None
    work.save()
    done = sync_run(job_id=job.pk)

    assert here(source) == ["a", "b", "c"]
    assert counts(done) == {"found": 3, "new": 3}
    assert place.reads == {"a": 1, "b": 1, "c": 1}
    assert fresh(source).outcome == "succeeded"


def test_a_source_that_never_lets_anything_through_ends_the_run(owner, place, monkeypatch):
    monkeypatch.setattr("knowledge.jobs.sync_sources.MOST_RESTS", 2)
    source = scripted_source(owner)
    place.fails = SourceBusyError(1)
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)

    for _ in range(3):
        work = work_of(job.pk)
        work.not_before = None
        work.save()
        sync_run(job_id=job.pk)

    assert (fresh(source).outcome, source.message_data["code"]) == ("failed", "source_busy")


def test_requests_are_spread_evenly(monkeypatch):
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(round(seconds, 3))
        now[0] += seconds

    monkeypatch.setattr(pacing, "clock", lambda: now[0])
    monkeypatch.setattr(pacing, "sleep", sleep)
    pace = Pace(120)

    for _ in range(3):
        pace()
    now[0] += 10
    pace()

    assert slept == [0.5, 0.5]


@pytest.mark.parametrize(
    ("hours", "at", "opens"),
    [
        ("", "12:00", None),
        ("08:00-18:00", "12:00", None),
        ("08:00-18:00", "18:00", "08:00+1"),
        ("08:00-18:00", "07:59", "08:00"),
        ("22:00-06:00", "23:00", None),
        ("22:00-06:00", "05:59", None),
        ("22:00-06:00", "06:00", "22:00"),
        ("07:00-07:00", "06:00", None),
    ],
)
def test_hours_of_the_day(settings, hours, at, opens):
    settings.TIME_ZONE = "UTC"
    day = datetime(2026, 3, 4, tzinfo=UTC)
    hour, minute = map(int, at.split(":"))

    with timezone.override(UTC):
        opening = opens_at(hours, day.replace(hour=hour, minute=minute))

    if opens is None:
        assert opening is None
    else:
        clock, _, days = opens.partition("+")
        assert (opening.strftime("%H:%M"), opening.day) == (clock, 4 + int(days or 0))


def closed_now() -> str:
    """Hours of a day that end a minute ago and begin in two hours, or so."""
    now = timezone.localtime()
    return f"{now + timedelta(hours=2):%H:%M}-{now + timedelta(hours=3):%H:%M}"


def test_a_due_source_waits_for_its_hours(owner, place):
    source = scripted_source(owner, schedule="hourly", options={"hours": closed_now()})

    assert sources_start_due() == []

    assert timedelta(hours=1) < fresh(source).next_run - timezone.now() <= timedelta(hours=2)


@pytest.mark.parametrize(("trigger", "state"), [("schedule", State.QUEUED), ("person", State.DONE)])
def test_a_run_of_the_schedule_rests_when_its_hours_are_over(owner, place, monkeypatch, trigger, state):
    monkeypatch.setattr("knowledge.jobs.sync_sources.STORE_SECONDS", 0)
    source = scripted_source(owner, options={"hours": closed_now()})
    job = run_open(sources=[source], actor=owner, trigger=trigger)

    sync_run(job_id=job.pk)

    assert work_of(job.pk).state == state
