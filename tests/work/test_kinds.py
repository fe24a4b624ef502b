"""The registry of kinds: one name is one kind, and all of the product are there with words and a queue."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.utils import translation

from tests.work.counting import Counting
from work import kinds
from work.errors import UnknownKindError
from work.kinds import JobKind, job_kind, kind_get


def product_kinds() -> list[JobKind]:
    return [kind for kind in kinds.kinds() if not type(kind).__module__.startswith("tests.")]


def test_two_kinds_never_share_a_name():
    assert job_kind(Counting) is Counting

    with pytest.raises(ValueError, match=r"test\.count"):
        job_kind(type("Other", (Counting,), {}))


def test_an_unknown_kind_is_an_error_with_a_code():
    with pytest.raises(UnknownKindError):
        kind_get("test.nothing")


def test_every_kind_of_the_product_has_a_queue_and_words_in_both_languages():
    queues = {queue.name for queue in settings.CELERY_TASK_QUEUES}

    assert [kind.name for kind in product_kinds() if kind.queue not in queues] == []
    with translation.override("zh-hans"):
        assert [kind.name for kind in product_kinds() if str(kind.label).isascii()] == []
