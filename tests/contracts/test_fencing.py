"""A worker whose claim has lapsed changes nothing any more, of every kind of background work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.apps import apps
from django.core.files.base import ContentFile

from accounts.selectors import scope_for
from chat.attachments import reading
from chat.attachments.files import attachment_add
from chat.attachments.reading import attachment_read
from chat.models import Attachment
from evaluation.models import (
    EvaluationRun,
    GoldenSet,
)
from knowledge import queue
from knowledge.models import (
    IngestItem,
    IngestJob,
    QueryAdapter,
    RerankerFit,
    SyncRun,
)
from knowledge.services.fencing import claim, fenced
from tests.factories import make_admin, make_set, make_user
from tests.knowledge.uploads import upload
from work.models import Job

pytestmark = pytest.mark.django_db
LAPSED = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(queue, "_send", lambda *_args: None)


@pytest.fixture
def admin(db):
    return make_admin("admin")


def golden_set(admin):
    return GoldenSet.objects.create(tenant=admin.tenant, name="cases", created_by=admin)


def an_item(admin):
    return upload(admin, make_set("common", owners=[admin])).job.items.get()


def a_file(admin):
    return attachment_add(scope=scope_for(admin), name="a.md", content=ContentFile(b"text", name="a.md"))


def a_sync_run(admin):
    return SyncRun.objects.create(job=IngestJob.objects.create(tenant=admin.tenant), trigger="person")


def an_adapter(admin):
    return QueryAdapter.objects.create(tenant=admin.tenant, knowledge_set=make_set("radio"), number=1)


MAKERS = {
    IngestItem: (an_item, {"progress_done": 7}),
    SyncRun: (a_sync_run, {"trigger": "command"}),
    QueryAdapter: (an_adapter, {"round": 7}),
    RerankerFit: (lambda a: RerankerFit.objects.create(tenant=a.tenant, number=1), {"round": 7}),
    EvaluationRun: (lambda a: EvaluationRun.objects.create(golden_set=golden_set(a), total=1), {"total": 7}),
    Attachment: (a_file, {"progress_done": 7}),
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
    assert fenced(stale).update(**dict.fromkeys(values, 0 if model is not SyncRun else "person")) == 0

    now = model.objects.get(pk=pk)
    assert {name: getattr(now, name) for name in values} == values
    assert getattr(now, model.FENCE) == getattr(holder, model.FENCE) != getattr(stale, model.FENCE)


# ── a second worker comes while the first one is at work ──────────────────────────────────────────


def once(monkeypatch, module, name, meanwhile):
    """Let something happen before the first call of a function of a module."""
    real, called = getattr(module, name), []

    def first(*args, **kwargs):
        if not called:
            called.append(name)
            meanwhile()
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, first)


def test_a_stale_reader_of_an_attached_file_stores_nothing(monkeypatch):
    row = attachment_add(
        scope=scope_for(make_user()), name="a.md", content=ContentFile(b"Beams fail. They recover.", name="a.md")
    )

    def second_worker():
        attachment_read(attachment_id=row.pk)
        assert Attachment.objects.get().state == "ready"

    once(monkeypatch, reading, "clean", second_worker)
    attachment_read(attachment_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_code, row.passages.count()) == ("ready", "", 1)
