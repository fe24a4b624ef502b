"""A disk that fills up: told in time, files refused before it is full, questions go on."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.services import api_key_create
from knowledge import disk_space
from knowledge.models import Document
from knowledge.services import ingestion_advance
from knowledge.services.disk_watch import disk_watch
from notifications.kinds import sentence_of
from notifications.models import Notification
from ragsite.errors import problem_of
from tests.factories import make_admin, make_set
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

MIB = 1024 * 1024


@pytest.fixture
def disk(monkeypatch, settings):
    """A disk whose free space the test sets, in MB; 500 MB are kept back, and 2,000 are worth a warning."""
    settings.DISK_RESERVE_BYTES, settings.DISK_WARNING_BYTES = 500 * MIB, 2000 * MIB
    made = SimpleNamespace(free=5000, flags=0)
    monkeypatch.setattr(
        disk_space.os,
        "statvfs",
        lambda path: SimpleNamespace(f_bavail=made.free, f_blocks=10_000, f_frsize=MIB, f_flag=made.flags),
    )
    cache.clear()
    yield made
    cache.clear()


@pytest.fixture
def api(owner):
    _, key = api_key_create(user=owner, name="tests")
    return {"authorization": f"Bearer {key}"}


def send(api, common):
    file = SimpleUploadedFile("a.md", b"# Title\n\nText.")
    return Client().post("/api/v1/documents", {"file": file, "sets": [common.pk]}, headers=api)


def test_uploads_are_refused_in_words_before_the_disk_is_full(disk, api, common, redis_client):
    disk.free = 400

    refused = send(api, common)
    asked = Client().get("/api/v1/documents", headers=api)
    disk.free = 501
    taken = send(api, common)

    assert refused.status_code == 507
    assert refused.json()["error"]["code"] == "storage_full"
    assert "400.0" in refused.json()["error"]["message"]
    assert asked.status_code == 200
    assert taken.status_code == 202
    assert Document.objects.count() == 1


def test_ingestion_waits_for_space_and_goes_on(disk, owner, common, redis_client):
    result = upload(owner, common)
    disk.free = 100
    waiting = ingestion_advance(job_id=result.job.pk)
    disk.free = 5000

    assert waiting == 0
    assert ingestion_advance(job_id=result.job.pk) == 1


def test_administrators_are_told_once_for_each_step_and_again_after_a_recovery(disk, redis_client):
    admin = make_admin()
    told = []
    for free in (5000, 1500, 1400, 300, 300, 5000, 1500):
        disk.free = free
        disk_watch()
        told.append(Notification.objects.filter(recipient=admin).count())
    last = Notification.objects.filter(recipient=admin).latest("pk")

    assert told == [0, 1, 1, 2, 2, 2, 3]
    assert "The disk is filling up" in sentence_of(kind=last.kind, data=last.data)


@pytest.mark.parametrize(
    ("free", "flags", "state"), [(5000, 0, "ok"), (1500, 0, "low"), (300, 0, "full"), (5000, os.ST_RDONLY, "read_only")]
)
def test_health_metrics_and_the_admin_tell_how_the_disk_is(disk, free, flags, state, redis_client):
    disk.free, disk.flags = free, flags
    browser = Client()
    browser.force_login(make_admin())

    health = Client().get("/health").json()
    deep = Client().get("/health?deep").json()["parts"]["dependencies"]["disk"]
    metrics = Client().get("/metrics").content.decode()
    home = browser.get(reverse("admin:index"), headers={"accept-language": "en"}).content.decode()

    assert health["disk"] == {"status": state}
    assert health["redis"]["status"] == "ok"
    assert (deep["state"], deep["free_bytes"]) == ("up" if state in ("ok", "low") else "down", free * MIB)
    free_told = re.search(r'ragsite_disk_free_bytes{place="files"} (\S+)', metrics)
    assert free_told is not None
    assert float(free_told[1]) == free * MIB
    assert ("The disk" in home) == (state != "ok")


def test_health_does_not_blame_redis_for_a_full_disk(redis_client, monkeypatch):
    from redis.exceptions import ResponseError

    def misconf(self):
        raise ResponseError("MISCONF Errors writing to the AOF file: No space left on device")

    monkeypatch.setattr("redis.Redis.ping", misconf)

    answer = Client().get("/health")

    assert answer.status_code == 503
    assert answer.json()["redis"] == {"status": "unavailable", "reason": "storage_full"}


@pytest.fixture
def tiny(tmp_path, settings):
    """A real file system of 2 MB for files."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only root may mount a file system here")
    settings.MEDIA_ROOT = folder
    settings.DISK_RESERVE_BYTES = 0
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_file_that_does_not_fit_on_a_real_disk_leaves_nothing_half_written(tiny, api, owner, common, redis_client):
    before = [path for path in tiny.rglob("*") if path.is_file()]
    with pytest.raises(OSError, match="No space") as full:
        default_storage.save("1/ab/long.md", ContentFile(b"x" * 4 * MIB))
    problem = problem_of(full.value)
    subprocess.run(["mount", "-o", "remount,ro", str(tiny)], check=True)
    with pytest.raises(OSError, match="Read-only") as closed:
        default_storage.save("1/ab/a.md", ContentFile(b"x"))

    assert before == [path for path in tiny.rglob("*") if path.is_file()]
    assert (problem.code, problem.http_status) == ("storage_full", 507)
    assert "cannot be written" in problem_of(closed.value).message
    assert send(api, common).status_code == 507
    assert not Document.objects.exists()
    assert Path(tiny).exists()
    assert make_set("later").pk
