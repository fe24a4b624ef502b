"""Small files do not wait for long work, in whichever stage that is."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from knowledge.models import DocumentVersion, IngestItem
from knowledge.services import ingestion_advance
from knowledge.services.ingestion import advance, short_lane
from tests.knowledge.uploads import upload

LONG = ("*a_b [" * 2_000).encode()  # few different passages
SMALL = b"# Small\n\nA filter has a loss of 3 dB."
STAGES = {
    "reading": (advance, "item_read", "ingest"),
    "splitting": (advance, "item_represent", "embed"),
    "embedding": (advance, "texts_embed", "embed"),
    "publishing": (advance, "versions_publish", "embed"),
}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(advance, "LONG_CHARACTERS", 2_000)
    monkeypatch.setattr(short_lane, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(short_lane, "WAITED_SECONDS", 0.0)


def states() -> dict[str, str]:
    return dict(DocumentVersion.objects.values_list("file_name", "document__state"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("stage", STAGES)
def test_a_small_file_is_searchable_before_the_long_one_beside_it(owner, common, monkeypatch, stage):
    module, name, queue = STAGES[stage]
    long = upload(owner, common, name="long.md", content=LONG)
    if queue == "embed":
        ingestion_advance(job_id=long.job.pk, queue="ingest")
    is_live = _live_in_the_lane(monkeypatch)
    step, main, seen = getattr(module, name), threading.current_thread(), []

    def lasts(*args, **kwargs):
        if threading.current_thread() is main and not seen:
            upload(owner, common, name="small.md", content=SMALL)
            assert is_live.wait(30)
            seen.append(states())
        return step(*args, **kwargs)

    monkeypatch.setattr(module, name, lasts)
    ingestion_advance(job_id=long.job.pk, queue=queue)
    ingestion_advance(job_id=long.job.pk, queue="embed")

    assert seen == [{"small.md": "live", "long.md": "processing"}]
    assert states() == {"small.md": "live", "long.md": "live"}
    assert set(IngestItem.objects.values_list("losses", "stage")) == {(0, "live")}


def _live_in_the_lane(monkeypatch) -> threading.Event:
    """Set when the lane has published something."""
    done, finish = threading.Event(), advance._advance_short

    def serve(job_id, queue):
        finish(job_id, queue)
        if "live" in states().values():
            done.set()

    monkeypatch.setattr(advance, "_advance_short", serve)
    return done


def served() -> list[int]:
    jobs: list[int] = []
    short_lane.lane_serve(lambda job_id, queue: jobs.append(job_id), threading.Event())
    return jobs


@pytest.mark.django_db
def test_the_lane_takes_small_files_that_nobody_reads_oldest_first(owner, common, monkeypatch):
    monkeypatch.setattr(short_lane, "SMALL_BYTES", 5_000)
    monkeypatch.setattr(short_lane, "SHORT", short_lane.short_items())
    upload(owner, common, name="long.md", content=LONG)
    small = [upload(owner, common, name=f"{n}.md", content=SMALL + b" %d" % n) for n in range(3)]
    assert served() == [one.job.pk for one in small]

    with transaction.atomic():
        advance.items_claim(job_id=small[0].job.pk)
    IngestItem.objects.filter(job=small[1].job).update(losses=1)

    assert served() == [small[2].job.pk]


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_loses_the_database_gives_its_small_files_back_to_the_lane(owner, common, monkeypatch):
    job = upload(owner, common, name="small.md", content=SMALL).job
    monkeypatch.setattr(short_lane, "LOOK_SECONDS", 60.0)
    monkeypatch.setattr(advance, "RETURN_PAUSE_SECONDS", 0.0)

    def cut_off(*args, **kwargs):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as patch:
        patch.setattr(advance, "item_read", cut_off)
        assert ingestion_advance(job_id=job.pk, queue="ingest") == 0

    item = IngestItem.objects.get()
    assert (item.lease_until, item.losses, item.error_code) == (None, 0, "store_unavailable")
    assert served() == []  # it waits a moment, as after every fault of the database
    IngestItem.objects.update(not_before=None)
    assert served() == [job.pk]


@pytest.mark.django_db
def test_a_long_text_of_a_small_file_is_not_for_the_lane(owner, common):
    long = upload(owner, common, name="long.md", content=LONG)
    ingestion_advance(job_id=long.job.pk, queue="ingest")

    assert IngestItem.objects.get().queue == "embed"
    assert served() == []


@pytest.mark.django_db
def test_what_has_just_come_is_left_to_the_worker_that_is_called(owner, common, monkeypatch):
    monkeypatch.setattr(short_lane, "WAITED_SECONDS", 60.0)
    upload(owner, common, name="small.md", content=SMALL)

    assert served() == []
