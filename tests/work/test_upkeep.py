"""Work that nobody asks for: each subject is one job, which begins anew."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.factories import make_admin, scope_of
from tests.work.counting import Counting
from work.kinds import DueWork
from work.models import Job, State
from work.runner import slice_run
from work.services import work_pause
from work.upkeep import REST, due_run, due_start

pytestmark = pytest.mark.django_db
SUBJECT = "an index"


@pytest.fixture
def admin(monkeypatch):
    """Of the tenant in which counting up to three is due."""
    person = make_admin()
    due = DueWork(tenant_id=person.tenant_id, subject=SUBJECT, arguments={"to": 3})
    monkeypatch.setattr(Counting, "due", lambda self: [due])
    return person


def begin(**named):
    return due_start(kind=Counting.name, **named)


def test_what_is_due_is_started_once(admin):
    [job] = begin()

    assert (job.subject, job.arguments, job.author, job.state) == (SUBJECT, {"to": 3}, None, "queued")
    assert begin() == []
    assert slice_run(job_id=job.pk)


def test_a_job_that_is_done_begins_anew_in_its_row(admin):
    due_run(kind=Counting.name)
    assert Job.objects.get().state == "done"

    [job] = begin()

    assert (job.pk, job.state, job.started, job.finished) == (Job.objects.get().pk, "queued", None, None)


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED])
def test_what_has_failed_or_was_cancelled_rests_unless_somebody_wants_it_at_once(admin, state):
    [job] = begin()
    rows = Job.objects.filter(pk=job.pk)
    rows.update(state=state, finished=timezone.now())
    assert begin() == []

    assert [job.pk for job in begin(at_once=True)] == [job.pk]
    rows.update(state=state, finished=timezone.now() - 2 * REST)
    assert [job.pk for job in begin()] == [job.pk]


def test_what_is_paused_stays_so(admin):
    [job] = begin()
    work_pause(scope=scope_of(admin), actor=admin, job_id=job.pk)

    assert begin(at_once=True) == []
    assert Job.objects.get().state == "paused"


def test_other_subjects_are_left_alone(admin):
    assert begin(subject="another") == []
    assert len(begin(subject=SUBJECT)) == 1
