"""Runs of a source that lists by changes, killed at random points; what is missing, and what waits for a person."""

from __future__ import annotations

import pytest

from accounts.errors import NotFoundError
from knowledge.models import DeletionHold, Document, Source
from knowledge.services.sources import held_deletions, held_deletions_decide
from tests.contracts.source_run import SourceRunContract
from tests.factories import make_user, scope_of
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.scripted import Place, scripted_place, scripted_source

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(monkeypatch) -> Place:
    return scripted_place(monkeypatch)


class TestListOfChanges(SourceRunContract):
    @pytest.fixture
    def source(self, owner, place) -> Source:
        for name in ("ann", "ben"):
            make_user(name)
        return scripted_source(owner, options={"delete_missing": True})


# ── what is missing ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(owner, place) -> Source:
    """A source of thirty pages, which deletes what is missing."""
    for number in range(30):
        place.put(f"{number:02}", f"Page {number}.")
    made = scripted_source(owner, options={"delete_missing": True})
    run(owner, made)
    return made


def removed(place, numbers):
    for number in numbers:
        place.remove(f"{number:02}")


def decided(owner, source, *, delete):
    return held_deletions_decide(scope=scope_of(owner), actor=owner, source_id=source.pk, delete=delete)


def held(owner, source):
    return held_deletions(scope=scope_of(owner), source=source)


def test_a_source_that_suddenly_lacks_much_waits_for_a_person(owner, place, source):
    removed(place, range(12))

    job = run(owner, source)

    assert len(here(source)) == 30
    assert [note["code"] for note in job.report["notes"]] == ["not_deleted"]
    waiting = held(owner, source)
    assert (waiting.count, waiting.total, len(waiting.examples)) == (12, 30, 10)


def test_what_waits_is_not_forgotten_by_later_lists_of_changes_and_is_deleted_on_request(owner, place, source):
    removed(place, range(12))
    run(owner, source)
    removed(place, [12])
    run(owner, source)
    assert held(owner, source).count == 13

    assert decided(owner, source, delete=True) == 13

    assert here(source) == [f"{number:02}" for number in range(13, 30)]
    assert held(owner, source) is None
    with pytest.raises(NotFoundError):
        decided(owner, source, delete=True)


def test_what_turns_up_again_waits_no_more(owner, place, source):
    removed(place, range(12))
    run(owner, source)
    for number in range(4):
        place.put(f"{number:02}", f"Page {number}.")

    job = run(owner, source)

    assert counts(job)["deleted"] == 8
    assert len(here(source)) == 22
    assert held(owner, source) is None


def test_what_a_person_keeps_is_not_asked_about_again_until_it_was_back(owner, place, source):
    removed(place, range(12))
    run(owner, source)
    assert decided(owner, source, delete=False) == 12
    removed(place, [12])

    job = run(owner, source)

    assert counts(job)["deleted"] == 1
    assert len(here(source)) == 29
    place.put("00", "Page 0 is back.")
    run(owner, source)
    place.remove("00")
    run(owner, source)
    assert "00" not in here(source)
    assert "01" in here(source)


def test_nothing_waits_once_the_source_deletes_nothing(owner, place, source):
    removed(place, range(12))
    run(owner, source)
    source.options = {}
    source.save()

    run(owner, source)

    assert not DeletionHold.objects.exists()
    assert Document.objects.filter(deleted=None).count() == 30
