"""The contract of all kinds on a counting one, and what only such a one can show: every point, every order of acts."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.selectors import scope_for
from tests.factories import make_admin
from tests.forms_plugin import is_full
from tests.work.contract import KindContract, due, killed, lease_lapse, once_before_a_checkpoint, work_off
from tests.work.counting import Counting, count_to, numbers
from work import claims, runner
from work.claims import CALL_LASTS, job_claim, jobs_sweep
from work.errors import JobLostError
from work.fencing import job_writing
from work.kinds import Checkpoint, kind_get
from work.models import Job, State
from work.runner import checkpoint_store, slice_run
from work.services import FROM, job_cancel_now, job_move, work_retry

TOTAL = 5
EXAMPLES = 60 if is_full() else 20
pytestmark = pytest.mark.django_db


class TestCounting(KindContract):
    def start(self):
        return count_to(TOTAL)

    def outcome(self, job):
        return numbers(job)

    def whole(self):
        return [1, 2, 3, 4, 5]


# ── kills ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_stored", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, TOTAL + 1))
def test_a_worker_may_be_killed_at_any_checkpoint(monkeypatch, at, is_stored):
    job = count_to(TOTAL)

    assert killed(job, monkeypatch, at=at, is_stored=is_stored)
    job.refresh_from_db()
    assert numbers(job) == list(range(1, at + is_stored))
    assert job.done == at - 1 + is_stored

    work_off(job)
    assert (job.state, numbers(job)) == ("done", [1, 2, 3, 4, 5])


def test_a_kill_while_a_checkpoint_is_written_stores_none_of_it(monkeypatch):
    job = count_to(TOTAL)
    values = runner._values

    def dying(*given_values):
        assert numbers(job) == [1]  # written, but not committed
        raise SystemExit

    monkeypatch.setattr(runner, "_values", dying)
    with pytest.raises(SystemExit):
        slice_run(job_id=job.pk)

    assert numbers(job) == []
    monkeypatch.setattr(runner, "_values", values)
    lease_lapse(job)
    assert numbers(work_off(job)) == [1, 2, 3, 4, 5]


def test_a_job_that_stops_each_of_its_workers_is_given_up(monkeypatch):
    job = count_to(TOTAL)
    for _ in range(Counting.most_failures):
        assert killed(job, monkeypatch, at=1, is_stored=False)

    assert not slice_run(job_id=job.pk)

    job.refresh_from_db()
    assert (job.state, job.error_code, job.lease_until) == ("failed", "interrupted", None)


def test_a_job_that_gets_on_is_not_given_up(monkeypatch):
    job = count_to(2 * Counting.most_failures)
    for _ in range(2 * Counting.most_failures):
        assert killed(job, monkeypatch, at=1, is_stored=True)

    assert work_off(job).state == "done"


# ── slices and calls ────────────────────────────────────────────────────────────────────────────


def test_a_slice_that_is_over_gives_the_job_to_the_next_worker(monkeypatch, sent, django_capture_on_commit_callbacks):
    monkeypatch.setattr(Counting, "slice_seconds", 0)
    with django_capture_on_commit_callbacks(execute=True):
        job = count_to(TOTAL)

    attempts = 0
    while sent:
        name, kwargs, options = sent.pop()
        assert (name, options["queue"]) == ("work.run_slice", "nightly")
        with django_capture_on_commit_callbacks(execute=True):
            assert slice_run(**kwargs)
        attempts += 1

    job.refresh_from_db()
    assert (job.state, numbers(job)) == ("done", [1, 2, 3, 4, 5])
    assert attempts == TOTAL + 1  # the last one finds nothing left


def test_messages_carry_ids_only(sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        job = count_to(1)

    assert sent == [("work.run_slice", {"job_id": job.pk, "attempt": 0}, {"queue": "nightly", "countdown": None})]


def test_a_slice_that_takes_too_long_loses_the_job(monkeypatch):
    """Between two checkpoints it gives no sign of life any more; the next worker takes the job over."""
    job = count_to(TOTAL)

    def hang():
        lease_lapse(job)
        assert slice_run(job_id=job.pk)

    Counting.meanwhile[3] = hang
    assert slice_run(job_id=job.pk)

    job.refresh_from_db()
    assert (job.state, numbers(job), job.attempt) == ("done", [1, 2, 3, 4, 5], 2)


def test_the_sweeper_calls_once_to_what_was_lost(sent, django_capture_on_commit_callbacks):
    job = count_to(1)
    assert jobs_sweep() == 0  # its call is on its way
    Job.objects.update(called=timezone.now() - CALL_LASTS - timedelta(seconds=1))

    with django_capture_on_commit_callbacks(execute=True):
        assert (jobs_sweep(), jobs_sweep()) == (1, 0)

    assert [kwargs for _name, kwargs, _options in sent] == [{"job_id": job.pk, "attempt": 0}]


def test_two_starts_make_one_job_and_another_subject_another_one():
    assert count_to(1).pk == count_to(1).pk != count_to(1, subject="other").pk


# ── faults ──────────────────────────────────────────────────────────────────────────────────────


def fail_with(error):
    def failing():
        raise error

    return failing


def test_a_poisonous_payload_fails_at_once_and_keeps_what_was_reached(caplog):
    job = count_to(TOTAL)
    Counting.meanwhile[3] = fail_with(ZeroDivisionError("a fault of the software"))

    work_off(job)

    assert (job.state, job.error_code, numbers(job)) == ("failed", "internal", [1, 2])
    assert "ZeroDivisionError" in caplog.text


def test_a_write_that_fails_is_rolled_back_with_its_checkpoint(monkeypatch):
    job = count_to(TOTAL)
    monkeypatch.setattr(runner, "_values", lambda *_values: fail_with(KeyError("broken"))())

    work_off(job)

    assert (job.state, job.checkpoint, numbers(job)) == ("failed", {}, [])


def test_a_passing_fault_is_tried_again_later_and_from_the_checkpoint():
    job = count_to(TOTAL)
    Counting.meanwhile[3] = fail_with(OperationalError("gone"))

    work_off(job)
    assert (job.state, job.error_code, job.failures) == ("queued", "store_unavailable", 1)
    assert job.not_before > timezone.now()
    assert jobs_sweep() == 0
    due(job)

    work_off(job)
    assert (job.state, job.error_code, job.failures, numbers(job)) == ("done", "", 0, [1, 2, 3, 4, 5])


def test_a_fault_that_passes_each_time_anew_ends_the_job():
    job = count_to(TOTAL)
    for _ in range(Counting.most_failures):
        Counting.meanwhile[1] = fail_with(OperationalError("gone"))
        work_off(job)
        due(job)

    assert (job.state, job.error_code) == ("failed", "store_unavailable")


def test_somebody_tries_a_failed_job_again_from_its_checkpoint():
    admin = make_admin("admin")
    job = count_to(TOTAL, author=admin)
    Counting.meanwhile[3] = fail_with(ZeroDivisionError())
    work_off(job)

    work_retry(scope=scope_for(admin), actor=admin, job_id=job.pk)

    assert (work_off(job).state, numbers(job)) == ("done", [1, 2, 3, 4, 5])


def test_a_job_of_a_kind_that_is_gone_fails_and_says_so():
    job = count_to(TOTAL)
    Job.objects.update(kind="test.gone", called=None)

    jobs_sweep()

    job.refresh_from_db()
    assert (job.state, job.error_code) == ("failed", "unknown_kind")


def test_work_with_the_rights_of_somebody_who_is_gone_fails(monkeypatch):
    admin = make_admin("admin")
    job = count_to(TOTAL, author=admin)
    admin.is_active = False
    admin.save()

    assert not slice_run(job_id=job.pk)

    job.refresh_from_db()
    assert (job.state, job.error_code, numbers(job)) == ("failed", "author_gone", [])


@pytest.mark.django_db(transaction=True)
def test_a_connection_to_the_database_that_breaks_costs_one_try():
    job = count_to(TOTAL)

    def break_connection():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()[0]

        def terminate():
            with connection.cursor() as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
            connection.close()

        thread = threading.Thread(target=terminate)
        thread.start()
        thread.join()

    Counting.meanwhile[3] = break_connection
    assert slice_run(job_id=job.pk)

    job.refresh_from_db()
    assert (job.state, job.error_code, numbers(job)) == ("queued", "store_unavailable", [1, 2])
    due(job)
    assert (work_off(job).state, numbers(job)) == ("done", [1, 2, 3, 4, 5])


@pytest.mark.django_db(transaction=True)
def test_a_claim_waits_for_a_write_and_then_finds_the_job_held(monkeypatch):
    """The lease lapses while its worker writes: the row is locked, and held again when the write is over."""
    job = count_to(TOTAL)
    held, claimed, threads = job_claim(job_id=job.pk), [], []

    def claim_beside():
        claimed.append(job_claim(job_id=job.pk))
        connection.close()

    def write():
        thread = threading.Thread(target=claim_beside)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        threads.append(thread)

    lease_lapse(job)
    checkpoint_store(held, Checkpoint(data={"number": 1}, write=write))
    threads[0].join()

    assert claimed == [None]
    job.refresh_from_db()
    assert (job.attempt, job.checkpoint) == (held.attempt, {"number": 1})


# ── every order of acts ─────────────────────────────────────────────────────────────────────────


class Worker:
    """A worker that goes one checkpoint at a time."""

    def __init__(self, job):
        self.job = job_claim(job_id=job.pk)
        self.checkpoints = kind_get(job.kind).run(self.job) if self.job else iter(())

    def step(self):
        """False once it has ended, or lost the job."""
        checkpoint = next(self.checkpoints, None)
        if checkpoint is None:
            if self.job:
                claims.job_finish(self.job)
            return False
        try:
            checkpoint_store(self.job, checkpoint)
        except JobLostError:
            return False
        return True


ACTS = st.lists(
    st.one_of(
        st.just(("claim", 0)),
        st.just(("lapse", 0)),
        st.just(("pause", 0)),
        st.just(("resume", 0)),
        st.tuples(st.just("step"), st.integers(0, 2)),
        st.tuples(st.just("release"), st.integers(0, 2)),
    ),
    max_size=30,
)


@given(total=st.integers(0, 6), acts=ACTS, is_cancelled=st.booleans())
@settings(
    max_examples=60 if is_full() else 20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_workers_and_people_do_each_number_is_written_once_and_in_order(total, acts, is_cancelled):
    with transaction.atomic():
        job, workers = count_to(total), []
        for act, which in acts:
            disturb(job, workers, act, which)
            job.refresh_from_db()
            assert numbers(job) == list(range(1, job.checkpoint.get("number", 0) + 1))
        if is_cancelled:
            job_cancel_now(job)
            before = numbers(job)
        else:
            Job.objects.filter(pk=job.pk, state="paused").update(state="queued")
            lease_lapse(job)
            work_off(job)
            before = list(range(1, total + 1))
        while workers:  # those that are left find out
            workers = [worker for worker in workers if worker.step()]
        assert numbers(job) == before
        job.refresh_from_db()
        assert job.state in ("done", "cancelled")
        assert job.lease_until is None
        transaction.set_rollback(True)


def disturb(job, workers, act, which):
    if act == "claim":
        workers.append(Worker(job))
    elif act == "lapse":
        lease_lapse(job)
    elif act in ("pause", "resume"):
        row = Job.objects.get(pk=job.pk)
        if row.state in FROM[act]:
            job_move(row, State.PAUSED if act == "pause" else State.QUEUED)
    elif which < len(workers):
        worker = workers[which]
        if act == "release" and worker.job:
            claims.job_release(worker.job)
            workers.pop(which)
        elif act == "step" and not worker.step():
            workers.pop(which)


# ── the fence by itself ─────────────────────────────────────────────────────────────────────────


def test_a_block_of_a_stale_worker_is_not_entered():
    job = count_to(TOTAL)
    stale = job_claim(job_id=job.pk)
    lease_lapse(job)
    job_claim(job_id=job.pk)

    with pytest.raises(JobLostError), job_writing(stale):
        pytest.fail("a stale worker wrote")


def test_a_released_job_is_out_of_reach_of_who_released_it():
    job = count_to(TOTAL)
    held = job_claim(job_id=job.pk)
    claims.job_release(held)

    with pytest.raises(JobLostError):
        checkpoint_store(held, Checkpoint(done=3))


def test_something_happens_once_before_a_checkpoint(monkeypatch):
    calls = []
    once_before_a_checkpoint(monkeypatch, lambda: calls.append(1))

    work_off(count_to(TOTAL))

    assert calls == [1]
