"""`/scim/v2/Users`: people of a tenant, kept by its directory."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from accounts.key_scopes import EVERYDAY_SCOPES, KeyScope
from accounts.models import ApiKey, AuditEvent, BrowserSession, User
from accounts.people.records import ENTERPRISE
from accounts.services import api_key_create
from tests.accounts.scim.conftest import MEI, Caller, caller_of
from tests.api.world import client_of, group_make, person


def test_a_person_is_made_with_the_profile_that_the_chat_uses(directory, world):
    answer = directory.post("Users", MEI)

    made = answer.json()
    mei = User.objects.get(username="mei")
    assert answer.status_code == 201
    assert answer.headers["Location"] == made["meta"]["location"] == f"http://testserver/scim/v2/Users/{made['id']}"
    assert answer.headers["Content-Type"] == "application/scim+json"
    assert answer.headers["ETag"] == made["meta"]["version"]
    assert (mei.tenant, mei.department, mei.product, mei.role) == (world.home, "Radio", "Panels", "Engineer")
    assert (mei.email, mei.first_name, mei.last_name, mei.locale) == ("mei@example.org", "Mei", "Chen", "zh-CN")
    assert (mei.clearance, mei.is_staff, mei.is_superuser, mei.has_usable_password()) == (0, False, False, False)
    expected = {**MEI, ENTERPRISE: {"department": "Radio", "division": "Panels"}}
    assert {name: made[name] for name in expected} == expected
    event = AuditEvent.objects.get(action="user.create", target="mei")
    assert (event.actor, event.data["source"]) == (world.root, "scim")


def test_the_language_of_a_person_is_that_of_their_pages_until_they_choose_another(directory, settings):
    directory.post("Users", MEI)
    mei = User.objects.get(username="mei")
    mei.set_password("correct horse battery")
    mei.save()
    browser, other = Client(), Client()
    other.cookies["django_language"] = "en"

    for each in (browser, other):
        each.post("/sign-in", {"username": "mei", "password": "correct horse battery"})

    assert browser.cookies["django_language"].value == "zh-hans"
    assert other.cookies["django_language"].value == "en"


def test_put_empties_what_it_does_not_name_and_says_nothing_of_active(directory):
    made = directory.post("Users", MEI).json()

    answer = directory.put(f"Users/{made['id']}", {"userName": "mei", "title": "Lead"})

    mei = User.objects.get(username="mei")
    assert answer.status_code == 200
    assert (mei.role, mei.department, mei.email, mei.locale, mei.is_active) == ("Lead", "", "", "", True)
    assert set(answer.json()) == {"schemas", "id", "userName", "displayName", "title", "active", "meta"}


def test_a_name_is_found_without_case_and_changes_where_nobody_has_it(directory, world):
    made = directory.post("Users", MEI).json()
    place = f"Users/{made['id']}"

    taken = directory.patch(place, {"op": "replace", "path": "userName", "value": "ALICE"})
    renamed = directory.patch(place, {"op": "replace", "value": {"userName": "mei.chen"}})

    assert (taken.status_code, taken.json()["scimType"]) == (409, "uniqueness")
    assert renamed.json()["userName"] == "mei.chen"
    assert directory.names('userName eq "MEI.Chen"') == ["mei.chen"]
    event = AuditEvent.objects.filter(action="user.change", target="mei.chen").latest("pk")
    assert event.data["changes"] == {"username": ["mei", "mei.chen"]}


@pytest.mark.parametrize(
    ("operations", "field", "value"),
    [
        # as Entra writes them
        ([{"op": "Replace", "path": "title", "value": "Lead"}], "role", "Lead"),
        ([{"op": "Add", "path": 'emails[type eq "work"].value', "value": "m@example.org"}], "email", "m@example.org"),
        ([{"op": "Replace", "path": f"{ENTERPRISE}:department", "value": "Antennas"}], "department", "Antennas"),
        ([{"op": "Add", "value": {f"{ENTERPRISE}:department": "Core", "name.givenName": "M"}}], "department", "Core"),
        ([{"op": "Replace", "path": "name.givenName", "value": "Meimei"}], "first_name", "Meimei"),
        ([{"op": "Remove", "path": "title"}], "role", ""),
        ([{"op": "Replace", "path": "title", "value": None}], "role", ""),
        ([{"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "7"}], "role", "Engineer"),
        ([{"op": "Replace", "path": 'addresses[type eq "work"].country', "value": "CN"}], "role", "Engineer"),
        # as Okta writes them
        ([{"op": "replace", "value": {"id": "x", "title": "Lead", "nickName": "M"}}], "role", "Lead"),
        ([{"op": "replace", "value": {ENTERPRISE: {"department": "Core"}}}], "department", "Core"),
        # of RFC 7644
        ([{"op": "add", "value": {"emails": [{"value": "b@e.org", "primary": True}]}}], "email", "b@e.org"),
        ([{"op": "remove", "path": 'emails[type eq "work" and value ew "example.org"]'}], "email", ""),
        ([{"op": "replace", "path": "preferredLanguage", "value": "en"}], "locale", "zh-CN"),
        ([{"op": "remove", "path": "name"}], "last_name", ""),
    ],
)
def test_patch_takes_the_forms_of_the_great_directories(directory, operations, field, value):
    made = directory.post("Users", MEI).json()

    answer = directory.patch(f"Users/{made['id']}", *operations)

    assert answer.status_code == 200, answer.json()
    assert getattr(User.objects.get(username="mei"), field) == value


@pytest.mark.parametrize(
    ("operation", "status", "scim_type"),
    [
        ({"op": "replace", "path": "shoeSize", "value": 43}, 400, "invalidPath"),
        ({"op": "replace", "path": "id", "value": "7"}, 400, "mutability"),
        ({"op": "replace", "path": "groups", "value": []}, 400, "mutability"),
        ({"op": "remove", "path": "userName"}, 400, "mutability"),
        ({"op": "remove"}, 400, "noTarget"),
        ({"op": "move", "path": "title"}, 400, "invalidSyntax"),
        ({"op": "replace", "path": "emails[type eq", "value": "x"}, 400, "invalidPath"),
        ({"op": "replace", "path": 'emails[type is "work"].value', "value": "x"}, 400, "invalidFilter"),
        ({"op": "replace", "path": "title", "value": 7}, 400, "invalidValue"),
        ({"op": "replace", "path": "title", "value": "x" * 200}, 400, "invalidValue"),
        ({"op": "replace", "path": "name", "value": "Mei"}, 400, "invalidValue"),
        ({"op": "replace", "path": "emails", "value": [7]}, 400, "invalidValue"),
        ({"op": "replace", "path": "externalId", "value": "a\u0000b"}, 400, "invalidValue"),
        ({"op": "replace", "path": "active", "value": "perhaps"}, 400, "invalidValue"),
        ({"op": "replace", "path": "userName", "value": "two words"}, 400, "invalidValue"),
    ],
)
def test_what_cannot_be_done_changes_nothing_and_says_why(directory, operation, status, scim_type):
    made = directory.post("Users", MEI).json()

    answer = directory.patch(f"Users/{made['id']}", {"op": "replace", "path": "title", "value": "Lead"}, operation)

    body = answer.json()
    assert (answer.status_code, body["status"], body["scimType"]) == (status, str(status), scim_type)
    assert body["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert len(body["detail"]) > 10
    assert User.objects.get(username="mei").role == "Engineer"


def test_whoever_is_deactivated_has_no_session_and_no_key_any_more(directory, world):
    made = directory.post("Users", MEI).json()
    mei = User.objects.get(username="mei")
    browser, key = Client(), client_of(mei)
    browser.force_login(mei)
    assert key.get("/api/v1/knowledge-sets").status_code == 200

    answer = directory.patch(f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": "False"})

    assert answer.json()["active"] is False
    assert key.get("/api/v1/knowledge-sets").status_code == 401
    assert not BrowserSession.objects.filter(user=mei).exists()
    assert ApiKey.objects.get(user=mei).revoked is not None
    assert AuditEvent.objects.filter(action="user.deactivate", target="mei", actor=world.root).exists()
    again = directory.patch(f"Users/{made['id']}", {"op": "replace", "value": {"active": True}})
    assert again.json()["active"] is True
    assert ApiKey.objects.get(user=mei).revoked is not None


def test_whoever_is_removed_is_gone_for_the_directory_and_stays_as_an_inactive_account(directory, world):
    group = group_make(world.home, "core")
    made = directory.post("Users", MEI).json()
    mei = User.objects.get(username="mei")
    group.members.add(mei)
    browser = Client()
    browser.force_login(mei)
    place = f"Users/{made['id']}"

    assert directory.delete(place).status_code == 204

    mei.refresh_from_db()
    assert (mei.is_active, list(mei.user_groups.all())) == (False, [])
    assert not BrowserSession.objects.filter(user=mei).exists()
    assert [call(place).status_code for call in (directory.get, directory.delete)] == [404, 404]
    assert directory.patch(place, {"op": "replace", "path": "active", "value": True}).status_code == 404
    assert directory.put(place, MEI).status_code == 404
    assert directory.names('userName eq "mei"') == []


def test_requests_that_come_twice_or_late_do_no_harm(directory):
    made = directory.post("Users", MEI).json()
    place = f"Users/{made['id']}"
    patch = {"op": "replace", "path": "title", "value": "Lead"}

    assert directory.post("Users", MEI).status_code == 409  # the same again
    assert directory.post("Users", {**MEI, "userName": "mei2"}).json()["detail"] == "Somebody has this externalId."
    directory.patch(place, patch)
    events = AuditEvent.objects.count()
    assert directory.patch(place, patch).json()["title"] == "Lead"
    assert AuditEvent.objects.count() == events
    directory.delete(place)
    back = directory.post("Users", MEI)  # somebody is hired again
    late = directory.delete(place)  # a request about who left comes once more

    assert back.status_code == 201
    assert back.json()["id"] != made["id"]
    assert late.status_code == 404
    assert User.objects.get(username="mei").is_active
    assert directory.names('active eq true and title eq "Engineer"') == ["mei"]


def test_a_name_alone_brings_nobody_back(directory):
    """It may be of somebody else by now, who must not read what the other one asked."""
    made = directory.post("Users", MEI).json()
    directory.delete(f"Users/{made['id']}")

    for external_id in ("e-2", None):
        answer = directory.post("Users", {**MEI, "externalId": external_id})
        assert answer.status_code == 409
        assert "erase the earlier one" in answer.json()["detail"]
    assert not User.objects.get(username="mei").is_active


def test_a_change_of_an_older_version_is_refused(directory):
    first = directory.post("Users", MEI)
    place, old = f"Users/{first.json()['id']}", first.headers["ETag"]

    assert directory.get(place, if_none_match=old).status_code == 304
    second = directory.put(place, {**MEI, "title": "Lead"}, if_match=old)
    assert second.status_code == 200
    assert second.headers["ETag"] != old
    for answer in (
        directory.put(place, MEI, if_match=old),
        directory.patch(place, {"op": "remove", "path": "title"}, if_match=old),
        directory.delete(place, if_match=old),
    ):
        assert (answer.status_code, answer.json()["status"]) == (412, "412")
    assert directory.get(place, if_none_match=old).json()["title"] == "Lead"
    assert directory.delete(place, if_match=f'W/"x", {second.headers["ETag"]}').status_code == 204


def test_a_version_changes_with_what_administrators_do_too(directory):
    first = directory.post("Users", MEI)
    User.objects.filter(username="mei").update(department="Elsewhere")

    assert directory.get(f"Users/{first.json()['id']}").headers["ETag"] != first.headers["ETag"]


# ── rights ────────────────────────────────────────────────────────────────────────────────────────


def test_a_tenant_sees_and_changes_its_own_people_only(directory, abroad, world):
    made = directory.post("Users", MEI).json()
    place = f"Users/{made['id']}"

    assert abroad.names('userName sw ""') == ["eve"]
    for answer in (abroad.get(place), abroad.put(place, MEI), abroad.delete(place)):
        assert (answer.status_code, answer.json()["detail"]) == (404, f"There is no user {made['id']!r}.")
    assert abroad.patch(place, {"op": "replace", "path": "active", "value": False}).status_code == 404
    taken = abroad.post("Users", {"userName": "mei"})
    assert (taken.status_code, taken.json()["detail"]) == (409, "Somebody has this userName.")
    assert User.objects.get(username="mei").is_active


def test_administrators_are_neither_made_nor_taken_away(directory, world):
    helper = person("helper", world.home, is_staff=True, is_superuser=True)
    place, entry = f"Users/{helper.pk}", {"userName": "helper", "active": True}

    refused = [
        directory.patch(place, {"op": "replace", "path": "active", "value": False}),
        directory.patch(place, {"op": "replace", "path": "userName", "value": "other"}),
        directory.delete(place),
    ]
    profile = directory.patch(place, {"op": "replace", "path": "title", "value": "Lead"})

    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert "pages of the administration" in refused[0].json()["detail"]
    assert profile.json()["title"] == "Lead"
    User.objects.filter(pk=helper.pk).update(is_active=False)
    assert directory.put(place, entry).status_code == 403
    assert not User.objects.get(pk=helper.pk).is_active
    attempt = {**MEI, "roles": [{"value": "administrator"}], "is_superuser": True, "clearance": 4, "isStaff": True}
    directory.post("Users", {**attempt, "entitlements": [{"value": "admin"}]})
    mei = User.objects.get(username="mei")
    assert (mei.is_superuser, mei.is_staff, mei.clearance, mei.can_create_sets) == (False, False, 0, False)


def test_an_owner_who_leaves_the_organisation_is_deactivated(directory, world):
    owner = person("owner", world.home, is_staff=True)

    assert directory.delete(f"Users/{owner.pk}").status_code == 204
    assert not User.objects.get(pk=owner.pk).is_active


def test_service_accounts_are_nobody_to_a_directory(directory, world):
    account = person("robot", world.home, is_service=True, service_owner=world.root, password="!")

    assert directory.get(f"Users/{account.pk}").status_code == 404
    assert directory.names('userName eq "robot"') == []


@pytest.mark.parametrize("scope", EVERYDAY_SCOPES + (KeyScope.KEYS,))
def test_other_scopes_open_nothing(world, scope):
    answer = caller_of(world.root, scope).get("Users")

    assert (answer.status_code, answer.json()["status"]) == (403, "403")
    assert "does not have the scope 'directory'" in answer.json()["detail"]


def test_the_key_must_be_of_an_administrator_or_of_a_service_account_that_one_owns(world):
    robot = person("robot", world.home, is_service=True, service_owner=world.root, password="!")
    other = person("other", world.home, is_service=True, service_owner=world.bob, password="!")

    statuses = [caller_of(user).get("Users").status_code for user in (robot, other, world.bob, world.alice)]

    assert statuses == [200, 403, 403, 403]


def test_only_administrators_give_the_scope(world):
    body = {"username": "alice", "name": "k", "scopes": ["directory"]}

    by_alice = client_of(world.alice).post("/api/v1/api-keys", body)
    by_root = client_of(world.root).post("/api/v1/api-keys", {**body, "username": "root"})

    assert by_alice.json()["error"]["message"] == "Only administrators may give a key the scope 'directory'."
    assert by_root.status_code == 201


def test_a_key_made_by_the_command_is_noted_when_used_and_ends_when_revoked(world, capsys):
    call_command("api_key", "create", "--user", "root", "--name", "Entra", "--scope", "directory")
    secret = capsys.readouterr().out.splitlines()[-1]
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    assert client.get("/scim/v2/Users").status_code == 200
    assert ApiKey.objects.get(name="Entra").last_used is not None
    ApiKey.objects.filter(name="Entra").update(revoked=ApiKey.objects.get(name="Entra").last_used)
    answer = client.get("/scim/v2/Users")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


def test_a_browser_opens_nothing(world):
    browser = Client()
    browser.force_login(world.root)

    assert browser.get("/scim/v2/Users").status_code == 401
    assert Client().get("/scim/v2/Schemas").status_code == 401


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────


def test_pages_begin_where_they_should_and_tell_how_many_there_are(directory):
    for number in range(5):
        directory.post("Users", {"userName": f"p{number}", "title": "x"})

    def page(**query: object) -> tuple[int, int, int, list[str]]:
        body = directory.client.get("/scim/v2/Users", {"filter": 'title eq "x"', **query}).json()
        names = [resource["userName"] for resource in body["Resources"]]
        return body["totalResults"], body["startIndex"], body["itemsPerPage"], names

    assert page(startIndex=2, count=2) == (5, 2, 2, ["p1", "p2"])
    assert page(startIndex=5, count=9) == (5, 5, 1, ["p4"])
    assert page(startIndex=0, count=-1) == (5, 1, 0, [])
    assert page(startIndex=9) == (5, 9, 0, [])
    assert page(count=10**9)[2] == 5
    bad = directory.client.get("/scim/v2/Users", {"count": "many"})
    assert (bad.status_code, bad.json()["detail"]) == (400, "count must be a number.")


def test_a_longer_list_takes_no_more_queries(directory, world, django_assert_max_num_queries):
    group = group_make(world.home, "core")
    for number in range(12):
        directory.post("Users", {"userName": f"p{number}", "externalId": f"x{number}"})
    group.members.add(*world.home.users.all())

    with django_assert_max_num_queries(14):
        assert directory.get("Users?count=20").json()["itemsPerPage"] > 12
    with django_assert_max_num_queries(14):
        assert len(directory.get("Groups").json()["Resources"][0]["members"]) > 12


def test_a_list_shows_the_attributes_that_are_asked_for(directory):
    directory.post("Users", MEI)
    rows = {"filter": 'userName eq "mei"'}

    def shown(**query: str) -> dict:
        return directory.client.get("/scim/v2/Users", {**rows, **query}).json()["Resources"][0]

    names = shown(attributes="userName,name.givenName")
    assert set(names) == {"schemas", "id", "userName", "name"}
    assert names["name"] == {"givenName": "Mei"}
    assert shown(attributes=f"{ENTERPRISE}:department")[ENTERPRISE] == {"department": "Radio"}
    assert "emails" not in shown(excludedAttributes="emails,id")
    assert "id" in shown(excludedAttributes="emails,id")


def test_a_search_may_stand_in_a_body(directory):
    directory.post("Users", MEI)
    body = {"filter": 'userName eq "mei"', "attributes": ["title"], "count": 1}

    answer = directory.post("Users/.search", body).json()

    assert (answer["totalResults"], answer["Resources"][0]["title"]) == (1, "Engineer")
    assert "userName" not in answer["Resources"][0]
    assert directory.post("Users/.search", {"filter": 7}).status_code == 400
    assert directory.post("Users/.search", {"attributes": 7}).status_code == 400


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("{", "application/scim+json", 400),
        ("[]", "application/scim+json", 400),
        ('{"userName": 7}', "application/json", 400),
        ('{"name": {"givenName": "x"}}', "application/json", 400),
        ('{"userName": "x", "name": "y"}', "application/json", 400),
        ('{"userName": "x", "emails": ["y"]}', "application/json", 201),
        ('{"userName": "x"}', "text/plain", 415),
    ],
)
def test_bodies_that_cannot_be_read_are_refused_in_the_form_of_scim(directory, body, content_type, status):
    answer = directory.client.generic("POST", "/scim/v2/Users", body, content_type=content_type)

    assert answer.status_code == status, answer.content
    assert status == 201 or answer.json()["status"] == str(status)


def test_a_service_account_of_somebody_who_left_opens_nothing(world):
    boss = person("boss", world.home, is_staff=True, is_superuser=True)
    robot = person("robot", world.home, is_service=True, service_owner=boss, password="!")
    caller = Caller(APIClient())
    secret = api_key_create(user=robot, name="k", scopes=[KeyScope.DIRECTORY])[1]
    caller.client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert caller.get("Users").status_code == 200

    User.objects.filter(pk=boss.pk).update(is_active=False)

    assert caller.get("Users").status_code == 401
