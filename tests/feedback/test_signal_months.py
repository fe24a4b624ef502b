"""Signals in monthly partitions."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.db import connection

from accounts.month_partitions import PARTITIONS
from chat.models import Conversation, Message
from feedback.models import Signal
from feedback.signal_months import MONTHS, signal_months_make, signals_expire
from tests.factories import make_user

pytestmark = pytest.mark.django_db
TODAY = date(2031, 5, 20)


def months():
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS, [MONTHS.table])
        return [name for (name,) in cursor.fetchall()]


def where(signal):
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM feedback_signal WHERE id = %s", [signal.pk])
        return cursor.fetchone()[0]


@pytest.fixture
def message():
    user = make_user("reader")
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    return Message.objects.create(conversation=conversation, question="x", state="done", status="answered")


def signal_at(message, year, month, day):
    signal = Signal.objects.create(message=message, user=message.conversation.user, kind="copy")
    Signal.objects.filter(pk=signal.pk).update(created=datetime(year, month, day, 12, tzinfo=UTC))
    return signal


def test_this_month_and_the_next_ones_are_there_from_the_migration(message):
    signal = Signal.objects.create(message=message, user=message.conversation.user, kind="copy")

    assert where(signal) == f"feedback_signal_{datetime.now(UTC):%Y%m}"
    assert signal_months_make() == []


def test_what_was_written_before_its_month_was_made_moves(message):
    signal = signal_at(message, 2031, 5, 3)
    assert where(signal) == "feedback_signal_default"

    made = signal_months_make(today=TODAY)

    assert made == ["feedback_signal_203105", "feedback_signal_203106", "feedback_signal_203107"]
    assert where(signal) == "feedback_signal_203105"
    assert Signal.objects.get(pk=signal.pk).kind == "copy"


def test_retention_drops_whole_months_and_deletes_the_rest(message, settings):
    settings.KEEP_SIGNALS_DAYS = 30  # until 20 April
    signal_months_make(today=date(2031, 2, 1))
    signal_months_make(today=TODAY)
    for month, day in ((2, 5), (3, 31), (4, 10), (4, 25), (5, 19)):
        signal_at(message, 2031, month, day)

    assert signals_expire(today=TODAY) == 3

    kept = Signal.objects.order_by("created").values_list("created", flat=True)
    assert [(at.month, at.day) for at in kept] == [(4, 25), (5, 19)]
    assert "feedback_signal_203103" not in months()
    assert "feedback_signal_203104" in months()


def test_without_a_limit_everything_stays(message, settings):
    settings.KEEP_SIGNALS_DAYS = 0
    signal_at(message, 2031, 1, 1)

    assert signals_expire(today=TODAY) == 0
    assert Signal.objects.count() == 1


def test_signals_go_with_their_message(message):
    signal_at(message, 2031, 1, 1)
    message.conversation.delete()

    assert not Signal.objects.exists()
