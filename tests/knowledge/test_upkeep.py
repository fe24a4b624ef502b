"""Work on the whole corpus waits for running ingestion, not for ever, and begins when ingestion has ended."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone
from redis import RedisError

from knowledge.models import EntityReading, IngestItem, IngestJob, RefusalLine
from knowledge.queue import READ_ENTITIES
from knowledge.services import document_delete, ingestion_advance, upkeep
from knowledge.services.refusal_lines import refusal_lines_draw
from knowledge.services.upkeep import AFTER_INGESTION, put_off
from tests.factories import ingest, make_set, make_user, run_job, scope_of
from tests.knowledge.fills import entities_tend
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db(transaction=True)

MINUTES = timedelta(minutes=10)


@pytest.fixture(autouse=True)
def _nothing_remembered():
    cache.clear()


@pytest.fixture
def sent(monkeypatch):
    """Names of the tasks that are sent, and after how many seconds they shall begin."""
    found = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, _, options: found.append((name, options["countdown"])))
    monkeypatch.setattr(
        "work.queue.send", lambda name, named, options: found.append((named.get("kind", name), options["countdown"]))
    )
    return found


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def own(owner):
    return make_set(owners=[owner])


def after(sent):
    """Those that ingestion starts when it has ended."""
    return [name for name, countdown in sent if countdown == upkeep.SETTLE_SECONDS + 1]


def test_work_is_put_off_while_a_worker_holds_an_item_or_could_take_one(owner, own):
    assert not put_off("this", at_most=MINUTES)

    job = upload(owner, own).job
    assert put_off("this", at_most=MINUTES)
    IngestItem.objects.update(lease_until=timezone.now() + MINUTES)
    assert put_off("this", at_most=MINUTES)

    IngestItem.objects.update(lease_until=None)
    IngestJob.objects.filter(pk=job.pk).update(paused=timezone.now())
    assert not put_off("this", at_most=MINUTES)


def test_work_is_put_off_for_so_long_only_and_then_anew(owner, own, monkeypatch):
    upload(owner, own)
    now = [1_000_000.0]
    monkeypatch.setattr(upkeep.time, "time", lambda: now[0])
    waits = []

    for minute in (0, 9, 11, 12, 23):
        now[0] = 1_000_000.0 + 60 * minute
        waits.append(put_off("this", at_most=MINUTES))

    assert waits == [True, True, False, True, False]


def test_what_has_waited_begins_once_when_the_last_document_is_through(owner, own, sent):
    jobs = [upload(owner, own, name=f"{n}.txt", content=b"Beams are steered. %d" % n).job for n in range(3)]

    run_job(jobs[0].pk)
    assert after(sent) == []
    for job in jobs[1:]:
        run_job(job.pk)
    assert after(sent) == [*AFTER_INGESTION, READ_ENTITIES]

    ingest(owner, own, more="One more right behind it.")
    assert after(sent) == [*AFTER_INGESTION, READ_ENTITIES]


def test_a_load_whose_last_document_fails_has_ended_too(owner, own, sent):
    job = upload(owner, own, name="broken.pdf", content=b"%PDF-1.7 nothing").job

    ingestion_advance(job_id=job.pk)

    assert IngestItem.objects.get(job=job).stage == "failed"
    assert after(sent) == [*AFTER_INGESTION, READ_ENTITIES]


def test_a_batch_is_through_although_the_cache_is_away(owner, own, monkeypatch):
    def away(*_, **__):
        raise RedisError

    monkeypatch.setattr(upkeep.cache, "add", away)

    ingest(owner, own, a="Beams are steered.")

    assert IngestItem.objects.get().stage == "live"


@pytest.mark.full
def test_refusal_lines_and_entities_wait_for_ingestion(owner, own):
    ingest(owner, own, **{f"d{n}": f"Report {n} of the Office for Beams about antennas {n}." for n in range(8)})
    waiting = upload(owner, own)

    def made():
        refusal_lines_draw()
        entities_tend()
        return [model.objects.exists() for model in (RefusalLine, EntityReading)]

    assert made() == [False, False]
    document_delete(scope=scope_of(owner), actor=owner, document_id=waiting.document.pk)
    IngestItem.objects.filter(job=waiting.job).update(finished=timezone.now())
    assert made() == [True, True]
