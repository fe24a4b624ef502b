"""A source for which nobody answers takes in nothing, whichever way it is asked to."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from accounts.models import User
from knowledge.errors import SourcePausedError, SourceUnownedError
from knowledge.models import Document, IngestJob, Source
from knowledge.services.sources import (
    set_ingest,
    source_create,
    source_run_start,
    source_update,
    sources_start_due,
)
from knowledge.services.sources.credentials import credentials_encrypt
from tests.api.test_webhooks import SECRET, UPSERT, send
from tests.factories import make_admin, make_set, make_user, scope_of
from tests.knowledge.sources.building import sync_run

pytestmark = pytest.mark.django_db


def without_owner(source: Source) -> None:
    Source.objects.filter(pk=source.pk).update(owner=None)


def owner_inactive(source: Source) -> None:
    User.objects.filter(pk=source.owner_id).update(is_active=False)


def owner_of_owner_inactive(source: Source) -> None:
    """The source belongs to a service account."""
    boss = make_user("boss", is_active=False)
    user = User.objects.filter(pk=source.owner_id)
    user.update(is_service=True, service_owner=boss, password="!")


NOBODY = pytest.mark.parametrize(
    "nobody_answers", [without_owner, owner_inactive, owner_of_owner_inactive], ids=lambda one: one.__name__
)


@pytest.fixture
def root() -> User:
    return make_admin("root")


def source_of_eve(**values: Any) -> Source:
    eve = make_user("eve")
    return Source.objects.create(tenant=eve.tenant, name="feed", owner=eve, **values)


@pytest.fixture
def folder(tmp_path, settings) -> Source:
    settings.SOURCE_ROOTS = [str(tmp_path)]
    (tmp_path / "a.md").write_text("# A\n\nText of a.")
    return source_of_eve(kind="folder", location=str(tmp_path), schedule="daily", next_run=timezone.now())


@NOBODY
def test_no_webhook_is_taken(redis_client, nobody_answers):
    cache.clear()
    hook = source_of_eve(kind="webhook", credentials=credentials_encrypt({"secret": SECRET}))
    nobody_answers(hook)

    answer = send(hook, UPSERT)

    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "source_without_owner"
    assert not Document.objects.exists()


@NOBODY
def test_no_schedule_and_nobody_runs_it(folder, root, nobody_answers):
    nobody_answers(folder)

    assert sources_start_due() == []
    with pytest.raises(SourcePausedError, match="owner is deactivated|has no owner"):
        source_run_start(scope=scope_of(root), actor=root, source_id=folder.pk)
    assert not IngestJob.objects.exists()


@NOBODY
def test_a_run_that_waits_already_brings_nothing(folder, root, nobody_answers):
    chosen = make_set("radio", owners=[root])
    folder.set_sources.create(knowledge_set=chosen)
    job = set_ingest(scope=scope_of(root), actor=root, set_id=chosen.pk)
    nobody_answers(folder)

    done = sync_run(job_id=job.pk)

    assert [fault["code"] for fault in done.report["faults"]] == ["source_without_owner"]
    assert not Document.objects.exists()
    folder.refresh_from_db()
    assert folder.outcome == "failed"
    assert "owner" in folder.message


@NOBODY
def test_it_is_not_enabled_until_somebody_owns_it(folder, root, nobody_answers):
    Source.objects.filter(pk=folder.pk).update(enabled=False)
    nobody_answers(folder)
    to = {"scope": scope_of(root), "actor": root, "source_id": folder.pk}

    with pytest.raises(SourceUnownedError):
        source_update(**to, values={"enabled": True})
    source_update(**to, values={"name": "renamed"})
    assert source_update(**to, values={"enabled": True, "owner": "root"}).enabled


def test_none_is_made_or_left_enabled_without_an_owner(folder, root):
    who = {"scope": scope_of(root), "actor": root}
    with pytest.raises(SourceUnownedError):
        source_create(**who, values={"name": "new", "kind": "webhook", "owner": None})
    with pytest.raises(SourceUnownedError):
        source_update(**who, source_id=folder.pk, values={"owner": None})
    assert source_update(**who, source_id=folder.pk, values={"owner": None, "enabled": False}).owner is None
