"""Who opens or downloads confidential documents is recorded, and only that."""

from __future__ import annotations

from hashlib import sha256

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from accounts.models import AuditEvent
from accounts.services import api_key_create
from tests.admin.conftest import make_document
from tests.factories import make_set, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(redis_client):
    user = make_user("mei", clearance=2)
    client = Client()
    client.force_login(user)
    return client, user


def events() -> list[tuple[str, str, str]]:
    rows = AuditEvent.objects.filter(action__startswith="document.").order_by("pk")
    return list(rows.values_list("action", "target", "actor_name"))


def test_opening_and_downloading_is_recorded_from_confidential_on(reader, tmp_path, settings):
    settings.MEDIA_ROOT = tmp_path
    client, user = reader
    _key, secret = api_key_create(user=user, name="script")
    key = {"authorization": f"Bearer {secret}"}
    chosen = make_set("radio")
    for clearance in (1, 2, 3):
        document = make_document(f"level {clearance}", chosen, clearance=clearance)
        version = document.live_version
        version.sha256 = sha256(b"text").hexdigest()
        version.file.save("a.txt", ContentFile(b"text"))
        for path in (f"/documents/{document.pk}", f"/documents/{document.pk}", f"/documents/{document.pk}/original"):
            client.get(path)
        Client().get(f"/api/v1/documents/{document.pk}/markdown", headers=key)
        Client().get(f"/api/v1/documents/{document.pk}/chunks", headers=key)

    assert events() == [("document.view", "level 2", "mei"), ("document.download", "level 2", "mei")]


def test_each_person_counts_and_reading_by_a_key_too(reader):
    _client, user = reader
    document = make_document("plan", make_set("radio"), clearance=2)
    for person in (user, make_user("li", clearance=4)):
        _key, secret = api_key_create(user=person, name="script")
        Client().get(f"/api/v1/documents/{document.pk}/chunks", headers={"authorization": f"Bearer {secret}"})

    assert [name for _action, _target, name in events()] == ["mei", "li"]
