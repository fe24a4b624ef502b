"""A worker whose claim has lapsed changes nothing any more, of every kind of background work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.apps import apps

from knowledge import queue
from knowledge.models import (
    IngestItem,
)
from notifications.models import Notification
from tests.factories import make_admin, make_set
from tests.knowledge.uploads import upload
from work.fencing import claim, fenced
from work.models import Job

pytestmark = pytest.mark.django_db
LAPSED = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(queue, "_send", lambda *_args: None)


@pytest.fixture
def admin(db):
    return make_admin("admin")


def an_item(admin):
    return upload(admin, make_set("common", owners=[admin])).job.items.get()


MAKERS = {
    IngestItem: (an_item, {"progress_done": 7}),
    Notification: (lambda a: Notification.objects.create(recipient=a, kind="test"), {"link": "7"}),
    Job: (lambda a: Job.objects.create(tenant=a.tenant, kind="test"), {"total": 7}),
}


def test_every_kind_of_fenced_work_is_tried_here():
    assert {model for model in apps.get_models() if hasattr(model, "FENCE")} == set(MAKERS)


@pytest.mark.parametrize("model", MAKERS, ids=lambda model: model.__name__)
def test_what_a_stale_worker_writes_changes_nothing(admin, model):
    make, values = MAKERS[model]
    pk = make(admin).pk
    stale = claim(model.objects.all(), pk=pk)  # whose lease lapses
    holder = claim(model.objects.all(), pk=pk)

    assert fenced(holder).update(**values) == 1
    assert fenced(stale).update(**dict.fromkeys(values, 0)) == 0

    now = model.objects.get(pk=pk)
    assert {name: getattr(now, name) for name in values} == values
    assert getattr(now, model.FENCE) == getattr(holder, model.FENCE) != getattr(stale, model.FENCE)
