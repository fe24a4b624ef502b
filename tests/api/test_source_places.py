"""`/api/v1/source-places`: folders and private hosts of tenants."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent, User
from accounts.services import api_key_create
from knowledge.models import SourcePlace
from knowledge.services.places import folder_allowed, hosts_allowed
from tests.api.world import error_of
from tests.factories import make_tenant, make_user

PLACES = "/api/v1/source-places"


@pytest.fixture
def other(world):
    """An administrator of another tenant."""
    return make_user("omar", tenant=make_tenant(), is_staff=True, is_superuser=True)


@pytest.fixture
def shelf(tmp_path, settings):
    settings.GRANTABLE_FOLDERS = (str(tmp_path),)
    (tmp_path / "radio").mkdir()
    return {"kind": "folder", "location": str(tmp_path / "radio"), "clearance_floor": 2}


def test_a_place_is_given_seen_changed_and_taken_back(root, client, other, shelf):
    given = root.post(PLACES, {**shelf, "tenant": other.tenant.name}, "json")
    assert given.status_code == 201, given.content
    place = given.json()
    assert place | {**shelf, "tenant": other.tenant.name, "for_owners": True} == place
    assert folder_allowed(shelf["location"], tenant_id=other.tenant_id).name == "radio"

    client.force_login(other)
    assert [row["id"] for row in client.get(PLACES).json()["results"]] == [place["id"]]
    assert client.get(f"{PLACES}/{place['id']}").json() == place

    changed = root.patch(f"{PLACES}/{place['id']}", {"clearance_floor": 3, "for_owners": False}, "json").json()
    assert (changed["clearance_floor"], changed["for_owners"]) == (3, False)
    assert root.get(f"{PLACES}?kind=host").json()["count"] == 0
    assert root.get(f"{PLACES}?tenant={other.tenant.name}").json()["count"] == 1
    assert root.delete(f"{PLACES}/{place['id']}").status_code == 204
    assert not SourcePlace.objects.exists()
    names = AuditEvent.objects.filter(action__startswith="place.").order_by("pk").values_list("action", flat=True)
    assert list(names) == ["place.give", "place.change", "place.take"]


def test_only_administrators_of_the_site_give_and_nobody_else_learns_of_them(root, alice, client, other, shelf):
    client.force_login(other)
    own = root.post(PLACES, {**shelf, "tenant": other.tenant.name}, "json").json()
    theirs = root.post(PLACES, {"kind": "host", "location": "wiki.example.org"}, "json").json()
    assert hosts_allowed(tenant_id=User.objects.get(username="alice").tenant_id)[-1] == "wiki.example.org"

    refused = client.post(PLACES, {"kind": "host", "location": "wiki.example.com"}, "application/json")
    assert (refused.status_code, error_of(refused)["code"]) == (403, "missing_right")
    for place in (own, theirs):
        assert client.patch(f"{PLACES}/{place['id']}", {"for_owners": False}, "application/json").status_code == 404
        assert client.delete(f"{PLACES}/{place['id']}").status_code == 404
    assert client.get(f"{PLACES}/{theirs['id']}").status_code == 404
    assert alice.get(PLACES).json()["count"] == 0
    assert alice.get(f"{PLACES}/{theirs['id']}").status_code == 404
    assert alice.post(PLACES, shelf, "json").status_code == 403
    assert SourcePlace.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"kind": "folder", "location": "/etc"}, 422, "place_invalid"),
        ({"kind": "folder", "location": "radio"}, 422, "place_invalid"),
        ({"kind": "folder", "location": "{shelf}/../.."}, 422, "place_invalid"),
        ({"kind": "host", "location": "http://wiki/"}, 422, "place_invalid"),
        ({"kind": "host", "location": "wiki", "tenant": "nobody"}, 422, None),
        ({"kind": "host", "location": "wiki", "clearance_floor": 5}, 422, "invalid"),
        ({"kind": "disk", "location": "wiki"}, 422, "invalid"),
        ({"kind": "host", "location": "wiki", "created_by": 1}, 422, "invalid"),
    ],
)
def test_what_cannot_be_given_is_refused(root, shelf, body, status, code):
    sent = {**body, "location": body["location"].format(shelf=shelf["location"])}

    answer = root.post(PLACES, sent, "json")

    assert (answer.status_code, code or error_of(answer)["code"]) == (status, error_of(answer)["code"])
    assert not SourcePlace.objects.exists()


def test_the_same_place_is_given_once(root):
    host = {"kind": "host", "location": "wiki.example.org"}
    assert root.post(PLACES, host, "json").status_code == 201

    again = root.post(PLACES, host, "json")

    assert (again.status_code, error_of(again)["code"]) == (409, "name_taken")


def test_a_key_needs_the_scope_to_manage(world, client):
    root = User.objects.get(username="root")
    for scopes, status in ((["read", "write", "ask"], 403), (["manage"], 200)):
        _, secret = api_key_create(user=root, name="k", scopes=scopes, actor=root)
        assert client.get(PLACES, headers={"authorization": f"Bearer {secret}"}).status_code == status
