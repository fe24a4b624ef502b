"""What every kind of background work keeps to. `tests.work.test_counting` tries it in all its parts; each real kind
takes `KindContract` for a class of its own, and says how a job is made and what it has written.

In the short form a real kind proves what depends on what it writes: a kill behind a checkpoint, from which another
worker goes on, and a worker that comes back after another one has done what it had not stored. `by_the_runner` marks
what `work.runner` and `work.claims` do for all kinds alike, and what those two tests imply: there only the counting
kind tries it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.scope import Scope
from tests.factories import make_admin
from work import runner
from work.claims import LEASE, jobs_sweep
from work.models import OPEN, Job, State
from work.runner import slice_run
from work.services import work_cancel, work_pause, work_resume
from work.signs_of_life import BEAT_SECONDS

SLICES = 1000  # more than any job here takes


by_the_runner = pytest.mark.full(but_for="TestCounting")


class Killed(BaseException):
    """The process of a worker ends here."""


def lease_lapse(job: Job) -> None:
    """As after the death of its worker."""
    Job.objects.filter(pk=job.pk, lease_until__isnull=False).update(
        lease_until=timezone.now() - timedelta(seconds=1), called=None
    )


def due(job: Job) -> None:
    """The time of its next try has come."""
    Job.objects.filter(pk=job.pk).update(not_before=None)


def work_off(job: Job) -> Job:
    """As workers would, one slice after the other."""
    for _ in range(SLICES):
        if not slice_run(job_id=job.pk):
            break
    job.refresh_from_db()
    return job


def killed(job: Job, monkeypatch: pytest.MonkeyPatch, *, at: int, is_stored: bool) -> bool:
    """Run a slice in a worker that dies at its checkpoint of this number, before or after it is stored.

    False where it had no such checkpoint. The lease has lapsed then.
    """
    real, count = runner.checkpoint_store, 0

    def dying(*values: Any) -> None:
        nonlocal count
        count += 1
        if count != at:
            real(*values)
            return
        if is_stored:
            real(*values)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runner, "checkpoint_store", dying)
        try:
            slice_run(job_id=job.pk)
        except Killed:
            lease_lapse(job)
            return True
    return False


def once_before_a_checkpoint(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen before the next checkpoint of a worker is stored."""
    real, acts = runner.checkpoint_store, [act]

    def storing(*values: Any) -> None:
        if acts:
            acts.pop()()
        real(*values)

    monkeypatch.setattr(runner, "checkpoint_store", storing)


class KindContract:
    """Subclasses define `start` and `outcome`."""

    def start(self) -> Job:
        """A job with something to do, which has not begun."""
        raise NotImplementedError

    def outcome(self, job: Job) -> Any:
        """What it has written, so that two outcomes can be compared; the same for each job of `start`."""
        raise NotImplementedError

    def whole(self) -> Any:
        """The outcome of a job that nothing disturbed."""
        raise NotImplementedError

    def scope_of_all(self) -> Scope:
        return Scope(tenant_id=0, user_id=0, clearance=0, administers="everything")

    @by_the_runner
    def test_an_undisturbed_job_is_done(self) -> None:
        job = work_off(self.start())

        assert (job.state, job.error_code) == ("done", "")
        assert (job.lease_until, job.finished is not None, job.started is not None) == (None, True, True)
        assert self.outcome(job) == self.whole()

    @pytest.mark.parametrize(
        "is_stored", [pytest.param(False, marks=by_the_runner, id="before"), pytest.param(True, id="after")]
    )
    def test_a_worker_that_is_killed_loses_nothing_and_nothing_is_done_twice(self, monkeypatch, is_stored) -> None:
        job = self.start()
        assert killed(job, monkeypatch, at=1, is_stored=is_stored)

        assert jobs_sweep() == int(Job.objects.get(pk=job.pk).state in OPEN)
        work_off(job)

        assert (job.state, self.outcome(job)) == ("done", self.whole())

    @by_the_runner
    def test_a_second_worker_finds_nothing_to_claim_while_the_first_one_is_at_it(self, monkeypatch) -> None:
        job, found = self.start(), []
        once_before_a_checkpoint(monkeypatch, lambda: found.append(slice_run(job_id=job.pk)))

        work_off(job)

        assert found == [False]
        assert (job.state, self.outcome(job)) == ("done", self.whole())

    def test_a_stale_worker_writes_nothing_after_another_one_took_the_job_over(self, monkeypatch) -> None:
        job = self.start()

        def successor() -> None:
            lease_lapse(job)
            work_off(job)
            assert job.state == "done"

        once_before_a_checkpoint(monkeypatch, successor)
        assert slice_run(job_id=job.pk)

        before = (job.state, job.attempt, job.done, job.finished)
        job.refresh_from_db()
        assert (job.state, job.attempt, job.done, job.finished) == before
        assert self.outcome(job) == self.whole()

    @by_the_runner
    def test_a_paused_job_stands_still_and_goes_on_where_it_was(self, monkeypatch) -> None:
        job, admin = self.start(), make_admin("pausing")

        def pause() -> None:
            work_pause(scope=self.scope_of_all(), actor=admin, job_id=job.pk)

        once_before_a_checkpoint(monkeypatch, pause)
        assert slice_run(job_id=job.pk)
        assert not slice_run(job_id=job.pk)
        assert jobs_sweep() == 0
        job.refresh_from_db()
        assert (job.state, job.lease_until) == ("paused", None)

        work_resume(scope=self.scope_of_all(), actor=admin, job_id=job.pk)

        work_off(job)
        assert (job.state, self.outcome(job)) == ("done", self.whole())

    @by_the_runner
    def test_a_cancelled_job_writes_nothing_more(self, monkeypatch) -> None:
        job, admin, outcomes = self.start(), make_admin("cancelling"), []

        def cancel() -> None:
            work_cancel(scope=self.scope_of_all(), actor=admin, job_id=job.pk)
            outcomes.append(self.outcome(job))

        once_before_a_checkpoint(monkeypatch, cancel)
        slice_run(job_id=job.pk)

        assert not slice_run(job_id=job.pk)
        job.refresh_from_db()
        assert (job.state, job.lease_until, job.finished is not None) == ("cancelled", None, True)
        assert [self.outcome(job)] == outcomes

    @by_the_runner
    def test_a_message_of_an_earlier_attempt_is_nothing(self) -> None:
        job = self.start()
        Job.objects.filter(pk=job.pk).update(attempt=F("attempt") + 1)

        assert not slice_run(job_id=job.pk, attempt=job.attempt)

    @by_the_runner
    def test_a_lease_is_longer_than_several_signs_of_life(self) -> None:
        assert timedelta(seconds=3 * BEAT_SECONDS) <= LEASE


__all__ = ["Killed", "KindContract", "State", "due", "killed", "lease_lapse", "once_before_a_checkpoint", "work_off"]
