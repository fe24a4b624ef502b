"""A long document makes way for small files, in the middle of its embedding."""

from __future__ import annotations

import pytest

from knowledge.models import Document, IngestItem
from knowledge.services import ingestion_advance
from knowledge.services.ingestion import advance, chunk_and_represent
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db
LONG = "\n\n".join(f"## Part {number}\n\nThe antenna {number} has {number} ports." for number in range(400)).encode()


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch):
    monkeypatch.setattr(chunk_and_represent, "EMBEDDED_TEXTS", 4)
    monkeypatch.setattr(advance, "LONG_CHARACTERS", 2_000)
    monkeypatch.setattr(advance, "WAITED_SECONDS", 0.0)


def test_a_small_file_that_comes_while_a_long_one_is_embedded_is_searchable_before_it(owner, common, monkeypatch):
    long = upload(owner, common, name="long.md", content=LONG)
    ingestion_advance(job_id=long.job.pk, queue="ingest")
    assert IngestItem.objects.get().queue == "embed"
    seen: list[tuple[str, str]] = []
    make_way = advance.make_way

    def comes_meanwhile():
        if not seen:
            upload(owner, common, name="small.md", content=b"# Small\n\nA filter has a loss of 3 dB.")
        make_way()
        states = dict(Document.objects.values_list("title", "state"))
        seen.append((states["small"], states["long"]))

    monkeypatch.setattr(advance, "make_way", comes_meanwhile)
    assert ingestion_advance(job_id=long.job.pk, queue="embed") == 1

    assert seen[0] == ("live", "processing")
    assert set(Document.objects.values_list("state", flat=True)) == {"live"}
    assert set(IngestItem.objects.values_list("attempt", "losses", "stage")) == {(2, 0, "live"), (1, 0, "live")}


def test_what_has_just_come_is_left_to_the_worker_that_is_called(owner, common, monkeypatch):
    monkeypatch.setattr(advance, "WAITED_SECONDS", 60.0)
    upload(owner, common, name="small.md", content=b"# Small\n\nA filter has a loss of 3 dB.")

    advance.make_way()

    assert Document.objects.get().state == "processing"
