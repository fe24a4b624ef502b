"""Who is let in together with another content reads the new content, and never what was there before."""

from __future__ import annotations

import pytest

from accounts.models import User
from knowledge.models import Document, DocumentVersion, Source, SourceHandler
from knowledge.selectors import documents_askable
from knowledge.services.composition import set_sources_put
from knowledge.services.handlers import handlers_apply
from knowledge.services.sources import source_update
from knowledge.services.sources.webhooks import WebhookEvent, webhook_events_apply
from knowledge.types import SourceFilter
from tests.factories import make_admin, make_set, make_user, run_job, scope_of
from tests.knowledge.sources.building import run
from tests.knowledge.sources.scripted import Place, scripted_place, scripted_source

pytestmark = pytest.mark.django_db

ANN, BEN = "user:ann", "user:ben"


@pytest.fixture
def place(monkeypatch) -> Place:
    return scripted_place(monkeypatch)


@pytest.fixture
def people(db) -> list[User]:
    return [make_user("ann"), make_user("ben")]


@pytest.fixture
def source(place, people) -> Source:
    """The plan for Ann alone is live, in a set that everybody reads."""
    owner = make_admin()
    made = scripted_source(owner)
    pairs = [(made.pk, SourceFilter())]
    set_sources_put(scope=scope_of(owner), actor=owner, set_id=make_set("open").pk, sources=pairs)
    place.put("plan", "The plan: Ben is to be dismissed.", [ANN])
    run_job(run(owner, made).pk)
    assert who_reads(people) == ["ann"]
    return made


def who_reads(people) -> list[str]:
    return [person.username for person in people if documents_askable(scope=scope_of(person)).exists()]


@pytest.mark.parametrize("readers", [[ANN, BEN], ["everyone"]])
def test_more_readers_with_another_content_read_once_that_is_live(place, source, people, readers):
    place.put("plan", "The plan: Ben is to stay.", readers)

    job = run(source.owner, source)

    assert who_reads(people) == ["ann"]
    run(source.owner, source)  # says the same again
    assert who_reads(people) == ["ann"]
    run_job(job.pk)
    assert who_reads(people) == ["ann", "ben"]
    assert "live" not in Document.objects.get().handled["security"]


def test_who_is_taken_out_with_another_content_is_out_at_once(place, source, people):
    place.put("plan", "The plan: Ann is to leave.", [BEN])

    job = run(source.owner, source)

    assert who_reads(people) == []
    run_job(job.pk)
    assert who_reads(people) == ["ben"]


def test_more_readers_of_the_same_content_read_it_at_once(place, source, people):
    place.things["plan"].readers = [ANN, BEN]
    place.log.append("plan")

    run(source.owner, source)

    assert who_reads(people) == ["ann", "ben"]


def test_a_version_that_says_nothing_new_but_its_number_lets_in_at_once(place, source, people):
    place.put("plan", place.things["plan"].text, [ANN, BEN])

    run(source.owner, source)

    assert who_reads(people) == ["ann", "ben"]


def test_while_the_content_cannot_be_read_nobody_new_reads_and_who_is_out_is_out(place, source, people):
    place.put("plan", "The plan: Ann is to leave.", [BEN])
    place.things["plan"].fails = OSError("not now")

    run(source.owner, source)

    assert who_reads(people) == []


def test_readers_that_change_while_the_new_content_is_on_its_way_are_held_back_too(place, source, people):
    place.put("plan", "The plan: Ben is to stay.", [ANN])
    job = run(source.owner, source)
    place.things["plan"].readers = [ANN, BEN]
    place.log.append("plan")

    run(source.owner, source)

    assert who_reads(people) == ["ann"]
    run_job(job.pk)
    assert who_reads(people) == ["ann", "ben"]


def test_a_table_of_names_that_changes_meanwhile_counts_for_both(place, source, people):
    place.put("plan", "The plan: Ben is to stay.", [ANN, BEN])
    run(source.owner, source)
    options = {"people": {ANN: "user:ben"}}

    source_update(scope=scope_of(source.owner), actor=source.owner, source_id=source.pk, values={"options": options})

    assert who_reads(people) == ["ben"]  # the name of the old readers means Ben from now on


# ── what a handler reads of the metadata ────────────────────────────────────────────────────────


@pytest.fixture
def wiki(people) -> Source:
    owner = make_user("olga")
    handler = SourceHandler.objects.create(
        tenant=owner.tenant, code="wiki", name="Wiki", field_map={"level": "clearance", "acl": "readers"}
    )
    made = Source.objects.create(tenant=owner.tenant, name="wiki", kind="webhook", owner=owner, handler=handler)
    make_set("wiki", owners=[owner]).set_sources.create(source=made)
    return made


def sent(wiki: Source, text: str, **metadata: object) -> int:
    """The job of a page with this text."""
    event = WebhookEvent(event="upsert", external_id="page", text=text, metadata=metadata)
    done = webhook_events_apply(source=wiki, events=[event])
    assert not done.rejected, done.rejected
    return done.job_id or 0


@pytest.mark.parametrize("wider", [{"acl": "ann, ben"}, {"acl": "*"}])
def test_readers_of_a_field_are_held_back_too(wiki, people, wider):
    run_job(sent(wiki, "Ben is to be dismissed.", acl="ann"))

    job = sent(wiki, "Ben is to stay.", **wider)

    assert who_reads(people) == ["ann"]
    run_job(job)
    assert who_reads(people) == ["ann", "ben"]


def test_a_lower_clearance_counts_with_the_content_that_it_came_with(wiki, people):
    User.objects.filter(username="ben").update(clearance=1)
    people[1].refresh_from_db()
    run_job(sent(wiki, "Ben is to be dismissed.", level=3))
    assert who_reads(people) == ["ann"]

    job = sent(wiki, "Ben is to stay.", level=0)

    assert who_reads(people) == ["ann"]
    run_job(job)
    assert who_reads(people) == ["ann", "ben"]
    sent(wiki, "Ben is to stay.", level=2)
    assert who_reads(people) == ["ann"]  # stricter, or the same content: at once
    sent(wiki, "Ben is to stay.", level=0)
    assert who_reads(people) == ["ann", "ben"]


def test_reading_the_new_content_opens_nothing_before_it_is_live(wiki, people):
    run_job(sent(wiki, "Ben is to be dismissed.", acl="ann"))
    job = sent(wiki, "Ben is to stay.", acl="ann, ben")

    handlers_apply(DocumentVersion.objects.get(number=2), "Ben is to stay.")  # as the first stage does

    assert who_reads(people) == ["ann"]
    run_job(job)
    assert who_reads(people) == ["ann", "ben"]
