"""What every run of a source holds to, also one that is killed: nothing lost, nothing twice, nothing half visible.

A test class inherits it and has the fixtures `place` (see tests.knowledge.sources.scripted) and `source`, a source of
it that deletes what is missing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from knowledge.models import Document, DocumentVersion, IngestItem, Source
from knowledge.services.sources import source_run_start
from tests.factories import scope_of
from tests.knowledge.sources.building import sync_run, work_of
from tests.knowledge.sources.scripted import Place
from work.models import Job, State

IS_FULL = os.environ.get("TESTS_FULL") == "1"
KILLS = 30 if IS_FULL else 5
SEED = int(os.environ.get("SEED", "0")) or (random.SystemRandom().randrange(10**6) if IS_FULL else 2)
STEPS = (  # before and after each of them a worker may be killed
    "knowledge.services.sources.sync_items.document_register",
    "knowledge.services.sources.sync_items.stamp_store",
    "knowledge.services.sources.sync_items.item_readers_write",
    "knowledge.services.sources.sync_items.items_add",
    "knowledge.services.sources.sync_items.missing_settle",
    "knowledge.services.sources.sync_items.cursor_store",
    "knowledge.jobs.sync_sources.report_store",
    "knowledge.jobs.sync_sources.source_claim",
    "knowledge.jobs.sync_sources.source_release",
)


class Killed(BaseException):
    """The worker is gone: nothing that catches errors sees it."""


class Killer:
    """Counts the points of a run; at one of them the worker is gone."""

    def __init__(self, monkeypatch: Any, place: Place) -> None:
        self.points, self.at = 0, -1
        place.hook = self.point
        for name in STEPS:
            module, _, function = name.rpartition(".")
            monkeypatch.setattr(name, self._around(vars(__import__(module, fromlist=[function]))[function]))

    def point(self) -> None:
        self.points += 1
        if self.points == self.at:
            raise Killed

    def arm(self, at: int) -> None:
        """The worker is killed at this point of what follows; -1: never."""
        self.points, self.at = 0, at

    def _around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def acting(*values: Any, **named: Any) -> Any:
            self.point()
            result = act(*values, **named)
            self.point()
            return result

        return acting


class SourceRunContract:
    """Each test changes the place, and kills a run of the source once or more."""

    def test_killed_at_any_point_a_run_loses_nothing_and_does_nothing_twice(self, monkeypatch, place, source):
        rng, killer = random.Random(SEED), Killer(monkeypatch, place)
        place_change(place, rng, first=True)
        points = whole_run(source, killer)  # so many a run has
        for number in range(KILLS):
            before = versions_of(source)
            changed = place_change(place, rng)
            place.reads.clear()
            at = rng.randrange(1, points) if number else points - 1
            killed_run(source, killer, at)
            half_visible_check(source, place)
            whole_run(source, killer)
            run_check(source, place, before, changed, where=(SEED, number, at))


def place_change(place: Place, rng: random.Random, *, first: bool = False) -> set[str]:
    """Some items new, changed, gone or with other readers; the names of those with other bytes."""
    changed = {f"item {len(place.log)}-{n}" for n in range(12 if first else 2)}
    if not first:
        present = sorted(place.things)
        changed |= set(rng.sample(present, 2))
        rest = [name for name in present if name not in changed]
        place.remove(rest[0])
        place.things[rest[1]].readers = ["user:" + rng.choice(("ann", "ben"))]
        place.log.append(rest[1])
    for name in sorted(changed):
        place.put(name, f"{name}, {rng.random()}", ["user:" + rng.choice(("ann", "ben"))])
    return changed


def killed_run(source: Source, killer: Killer, at: int) -> None:
    """A run whose worker is killed, and whose lease has lapsed since."""
    job = run_start(source)
    killer.arm(at)
    try:
        sync_run(job_id=job)
    except Killed:
        Job.objects.filter(pk=work_of(job).pk, state=State.RUNNING).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
    killer.arm(-1)


def whole_run(source: Source, killer: Killer) -> int:
    """Let a worker go on with the run, or begin one; the points that it passed."""
    killer.arm(-1)
    job = run_start(source)
    sync_run(job_id=job)
    assert work_of(job).state == State.DONE
    return killer.points


def run_start(source: Source) -> int:
    assert source.owner is not None
    return source_run_start(scope=scope_of(source.owner), actor=source.owner, source_id=source.pk).pk


def versions_of(source: Source) -> dict[str, int]:
    """How many versions each document has."""
    rows = Document.objects.filter(source=source, deleted=None)
    return {row.external_id: row.versions.count() for row in rows}


def half_visible_check(source: Source, place: Place) -> None:
    """Whatever stands there is whole: with a version, a place in a job, and the readers that it has at its source."""
    for row in Document.objects.filter(source=source, deleted=None).select_related("source_readers"):
        assert row.versions.exists()
        assert row.source_readers is not None
        assert "seen" in row.handled
    assert not DocumentVersion.objects.filter(document__source=source).exclude(
        pk__in=IngestItem.objects.values("version")
    )


def run_check(source: Source, place: Place, before: dict[str, int], changed: set[str], *, where: Any) -> None:
    """All that is there is here, once; what has changed has one more version, and nothing else has."""
    after = versions_of(source)
    rows = Document.objects.filter(source=source, deleted=None)
    assert sorted(rows.values_list("external_id", flat=True)) == sorted(place.things), where
    for name, count in after.items():
        assert count == before.get(name, 0) + (name in changed), (*where, name)
        assert place.reads[name] <= 2 * (name in changed), (*where, name)
        listed = rows.get(external_id=name).source_readers
        assert listed is not None
        assert listed.names == sorted(place.things[name].readers or ()), (*where, name)
    source.refresh_from_db()
    assert source.outcome == Source.Outcome.SUCCEEDED, where
    assert source.cursor == {"at": len(place.log)}, where
