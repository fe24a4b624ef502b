"""Faults that pass by themselves are no verdict on an attached file: it is read again, by itself or when asked to."""

import pytest
from django.core.files.base import ContentFile
from django.db import OperationalError

from accounts.errors import NotFoundError
from accounts.selectors import scope_for
from chat.attachments import reading
from chat.attachments.files import attachment_add
from chat.attachments.reading import attachment_retry
from chat.jobs.read_attachment import ReadAttachment
from chat.models import Attachment
from tests.chat.reading import attachment_read, reading_of
from tests.factories import make_user
from tests.migrating import migrations_apply, migrations_unapply
from work.models import Job

pytestmark = pytest.mark.django_db
PASSING = [MemoryError(), OSError(12, "Cannot allocate memory"), OperationalError("server closed the connection")]


@pytest.fixture
def attached():
    person = make_user()
    text = ContentFile(b"The allowance is 34 euros a day.", name="travel.md")
    return person, attachment_add(scope=scope_for(person), name="travel.md", content=text)


@pytest.fixture
def trouble(monkeypatch):
    """`trouble(error)`: reading meets the error; `trouble(None)`: it is over."""
    healthy = reading.parse_small

    def set_trouble(error):
        def parse(content, *, name):
            if error is not None:
                raise error
            return healthy(content, name=name)

        monkeypatch.setattr(reading, "parse_small", parse)

    return set_trouble


@pytest.fixture
def calls(monkeypatch):
    """Seconds after which workers were called, in order."""
    pauses = []
    monkeypatch.setattr("work.claims.slice_enqueue", lambda **values: pauses.append(values["countdown_seconds"]))
    return pauses


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_a_passing_fault_is_told_and_the_file_is_read_again_later(attached, trouble, calls, error):
    _, row = attached
    trouble(error)
    attachment_read(attachment_id=row.pk)
    row.refresh_from_db()
    assert row.state == "reading"
    assert row.error_code in ("machine_busy", "store_unavailable")

    trouble(None)
    attachment_read(attachment_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_code, row.can_retry) == ("ready", "", False)
    assert calls == [5.0]


def test_pauses_grow_and_in_the_end_the_person_may_have_it_read_again(attached, trouble, calls):
    person, row = attached
    trouble(MemoryError())
    for _ in range(ReadAttachment.most_failures):
        attachment_read(attachment_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.can_retry) == ("failed", "machine_busy", True)
    assert calls == sorted(calls)
    assert len(calls) == ReadAttachment.most_failures - 1

    trouble(None)
    again = attachment_retry(scope=scope_for(person), key=row.key)
    assert (again.state, again.error_code) == ("reading", "")
    attachment_read(attachment_id=row.pk)

    row.refresh_from_db()
    assert row.state == "ready"


def test_a_file_that_says_nothing_stays_as_it_is_and_others_cannot_ask_for_it(attached, trouble, calls):
    person, row = attached
    trouble(ValueError("nobody knows"))
    attachment_read(attachment_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_code) == ("failed", "ingestion_fault")

    assert attachment_retry(scope=scope_for(person), key=row.key).state == "failed"
    assert calls == []
    with pytest.raises(NotFoundError):
        attachment_retry(scope=scope_for(make_user("other")), key=row.key)


@pytest.mark.django_db(transaction=True)
def test_files_that_were_being_read_before_readings_were_jobs_are_read():
    scope = scope_for(make_user())
    names = ("waiting.md", "failed.md", "broken.md")
    rows = [attachment_add(scope=scope, name=name, content=ContentFile(b"text", name=name)) for name in names]
    waiting, failed, broken = (row.pk for row in rows)
    migrations = ("chat", "0016", "0017", "0018")
    try:
        former = migrations_unapply(*migrations).get_model("chat", "Attachment").objects
        former.filter(pk=waiting).update(attempts=1)
        former.filter(pk=failed).update(state="failed", faults=9)
        former.filter(pk=broken).update(state="failed")
        assert not Job.objects.exists()
    finally:
        migrations_apply(*migrations)

    job = Job.objects.get()
    assert (job.subject, job.state, job.attempt, job.author_id) == (f"file:{waiting}", "queued", 1, rows[0].user_id)
    flags = dict(Attachment.objects.values_list("pk", "can_retry"))
    assert flags == {waiting: False, failed: True, broken: False}
    attachment_read(attachment_id=reading_of(waiting).arguments["attachment_id"])
    assert Attachment.objects.get(pk=waiting).state == "ready"
