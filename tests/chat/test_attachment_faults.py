"""Faults that pass by themselves are no verdict on an attached file: it is read again, by itself or when asked to."""

import pytest
from django.core.files.base import ContentFile
from django.db import OperationalError

from accounts.errors import NotFoundError
from accounts.selectors import scope_for
from chat.attachments import reading
from chat.attachments.files import attachment_add
from chat.attachments.reading import MOST_FAULTS, attachment_read, attachment_retry
from tests.factories import make_user

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
    monkeypatch.setattr(reading, "reading_enqueue", lambda row, countdown_seconds=0: pauses.append(countdown_seconds))
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
    assert (row.state, row.error_code, row.faults) == ("ready", "", 0)
    assert calls == [5.0]


def test_pauses_grow_and_in_the_end_the_person_may_have_it_read_again(attached, trouble, calls):
    person, row = attached
    trouble(MemoryError())
    for _ in range(MOST_FAULTS):
        attachment_read(attachment_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.faults) == ("failed", "machine_busy", MOST_FAULTS)
    assert calls == sorted(calls)
    assert len(calls) == MOST_FAULTS - 1

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
