"""Systems call after a change; then the source is run."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from accounts.errors import NotAuthenticatedError
from knowledge.errors import SourceSettingsError, SourceUnownedError
from knowledge.models import Source, SyncRun
from knowledge.services.sources import source_called

pytestmark = pytest.mark.django_db

SECRET = "a secret of enough length"
BODY = b'{"action": "edited"}'


def signature(secret: str = SECRET, body: bytes = BODY) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def runs() -> int:
    return SyncRun.objects.filter(trigger="webhook").count()


@pytest.fixture
def issues(connected) -> Source:
    return connected("github", "http://127.0.0.1:9999", credentials={"token": "t", "webhook": SECRET})


@pytest.mark.parametrize("by", ["name", "pk"])
def test_signed_calls_start_one_run(issues, by):
    for _ in range(2):
        source_called(id_or_name=str(getattr(issues, by)), headers={"X-Hub-Signature-256": signature()}, body=BODY)

    assert runs() == 1


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-Hub-Signature-256": ""}, {"X-Hub-Signature-256": signature("another")}, {"X-Hub-Signature": signature()}],
)
def test_other_calls_learn_nothing_and_change_nothing(issues, headers):
    with pytest.raises(NotAuthenticatedError):
        source_called(id_or_name=issues.name, headers=headers, body=BODY)
    with pytest.raises(NotAuthenticatedError):
        source_called(id_or_name="nowhere", headers=headers, body=BODY)
    assert runs() == 0


def test_gitlab_sends_the_secret_itself(connected):
    source = connected("gitlab", "http://127.0.0.1:9999", credentials={"token": "t", "webhook": SECRET})

    with pytest.raises(NotAuthenticatedError):
        source_called(id_or_name=source.name, headers={"X-Gitlab-Token": signature()}, body=BODY)
    assert source_called(id_or_name=source.name, headers={"X-Gitlab-Token": SECRET}, body=BODY) == source


def test_without_a_secret_nobody_calls(connected):
    source = connected("gitlab", "http://127.0.0.1:9999", credentials={"token": "t"})

    with pytest.raises(NotAuthenticatedError):
        source_called(id_or_name=source.name, headers={"X-Gitlab-Token": ""}, body=BODY)


def test_a_source_without_an_active_owner_is_not_called(issues, owner):
    owner.is_active = False
    owner.save(update_fields=["is_active"])

    with pytest.raises(SourceUnownedError):
        source_called(id_or_name=issues.name, headers={"X-Hub-Signature-256": signature()}, body=BODY)


def test_a_short_secret_is_refused(connected):
    with pytest.raises(SourceSettingsError):
        connected("gitlab", "http://127.0.0.1:9999", credentials={"token": "t", "webhook": "short"})


def test_the_call_comes_by_http(issues, client):
    address = f"/api/v1/webhooks/{issues.pk}"

    refused = client.post(address, BODY, content_type="application/json")
    taken = client.post(address, BODY, content_type="application/json", headers={"X-Hub-Signature-256": signature()})

    assert (refused.status_code, taken.status_code) == (401, 202)
    assert runs() == 1
