"""How long ago something was has one form per language."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from accounts.relative_time import exact_day, exact_time, relative_time


@pytest.mark.parametrize(
    ("passed", "english", "chinese"),
    [
        (timedelta(seconds=5), "just now", "刚刚"),
        (timedelta(seconds=50), "1 minute ago", "1 分钟前"),
        (timedelta(minutes=35), "35 minutes ago", "35 分钟前"),
        (timedelta(hours=2), "2 hours ago", "2 小时前"),
        (timedelta(days=3), "3 days ago", "3 天前"),
    ],
)
def test_a_time_is_said_in_one_form(passed, english, chinese):
    moment = timezone.now() - passed

    with translation.override("en"):
        assert relative_time(moment) == english
    with translation.override("zh-hans"):
        assert relative_time(moment) == chinese


def test_an_old_time_is_said_by_its_day_and_one_to_come_exactly():
    old, coming = timezone.now() - timedelta(days=31), timezone.now() + timedelta(hours=5)

    assert relative_time(old) == exact_day(old) == old.date().isoformat()
    assert relative_time(coming) == exact_time(coming) == f"{coming:%Y-%m-%d %H:%M}"
