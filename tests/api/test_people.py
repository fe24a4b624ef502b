"""`/api/v1/users` and `/api/v1/api-keys`."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiKey, Tenant, User
from tests.api.world import error_of, fields_of

USERS = "/api/v1/users"
KEYS = "/api/v1/api-keys"


def test_an_administrator_makes_a_user_with_profile_and_groups(root):
    response = root.post(
        USERS,
        {
            "username": "carol",
            "clearance": 3,
            "groups": ["radio"],
            "profile": {"department": "RAN", "interests": ["beams"]},
        },
    )

    assert response.status_code == 201
    expected = {
        "username": "carol",
        "tenant": "default",
        "clearance": 3,
        "groups": ["radio"],
        "profile": {"department": "RAN", "product": "", "role": "", "interests": ["beams"]},
        "can_create_sets": False,
        "service_owner": None,
    }
    assert response.json() == {"id": User.objects.get(username="carol").pk, **expected}
    assert not User.objects.get(username="carol").is_staff


def test_a_new_tenant_name_makes_the_tenant(root, eve):
    assert root.post(USERS, {"username": "dan", "tenant": "new"}).json()["tenant"] == "new"
    assert eve.post(USERS, {"username": "fay", "tenant": "newer"}).status_code == 404
    assert eve.post(USERS, {"username": "fay"}).json()["tenant"] == "abroad"
    assert not Tenant.objects.filter(name="newer").exists()


def test_only_administrators_make_users(alice):
    response = alice.post(USERS, {"username": "carol"})

    assert (response.status_code, error_of(response)["code"]) == (403, "missing_right")
    assert not User.objects.filter(username="carol").exists()


def test_a_user_name_is_used_once(root):
    response = root.post(USERS, {"username": "alice"})

    assert (response.status_code, error_of(response)["code"]) == (409, "name_taken")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"username": ""}, "username"),
        ({"username": "two words"}, "username"),
        ({"username": "u" * 151}, "username"),
        ({"username": 7}, "username"),
        ({"tenant": "t" * 65}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"clearance": 5}, "clearance"),
        ({"clearance": True}, "clearance"),
        ({"groups": "radio"}, "groups"),
        ({"profile": {"salary": 1}}, "profile.salary"),
        ({"profile": {"interests": [1]}}, "profile.interests.0"),
        ({"profile": []}, "profile"),
        ({"is_staff": True}, "is_staff"),
        ({"is_superuser": True}, "is_superuser"),
        ({"password": "x"}, "password"),
    ],
)
def test_a_bad_field_of_a_user_is_named(root, change, field):
    response = root.post(USERS, {"username": "carol", **change})

    assert response.status_code == 422
    assert fields_of(response) == {field}


def test_a_key_is_shown_once_and_works(world, root):
    response = root.post(KEYS, {"username": "bob", "name": "script"})

    assert response.status_code == 201
    assert response.headers["Cache-Control"] == "no-store"
    key = response.json()["key"]
    assert ApiKey.objects.get(name="script").user == world.bob
    assert not ApiKey.objects.filter(digest__contains=key).exists()
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    assert client.get("/api/v1/knowledge-sets").status_code == 200


def test_people_make_keys_for_themselves_only(bob):
    assert bob.post(KEYS, {"username": "bob", "name": "mine"}).status_code == 201

    others, unknown = (bob.post(KEYS, {"username": name, "name": "k"}) for name in ("alice", "nobody"))

    assert others.status_code == unknown.status_code == 404
    assert error_of(others)["message"].replace("alice", "") == error_of(unknown)["message"].replace("nobody", "")


def test_administrators_of_a_tenant_make_keys_within_it_only(root, eve):
    assert eve.post(KEYS, {"username": "root", "name": "k"}).status_code == 404
    assert root.post(KEYS, {"username": "eve", "name": "k"}).status_code == 201


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"username", "name"}),
        ({"username": "bob", "name": ""}, {"name"}),
        ({"username": "bob", "name": "n" * 65}, {"name"}),
        ({"username": "bob", "name": "n", "user": 1}, {"user"}),
    ],
)
def test_a_bad_key_request_is_refused(bob, body, fields):
    assert fields_of(bob.post(KEYS, body)) == fields
