"""`/scim/v2/Groups`: user groups, which share access to knowledge sets."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent, User, UserGroup
from accounts.scim.resources import person_id
from tests.accounts.scim.conftest import MEI
from tests.api.world import client_of, document_make, group_make, person, set_make


def members(name: str = "core") -> list[str]:
    return sorted(UserGroup.objects.get(name=name).members.values_list("username", flat=True))


def add(*users: User) -> dict:
    return {"op": "add", "path": "members", "value": [{"value": person_id(user)} for user in users]}


def test_a_group_gives_its_members_the_sets_that_it_reads(directory, world):
    private = set_make(world.alice, visibility="members")
    made = directory.post("Groups", {"displayName": "core", "externalId": "g-1"}).json()
    private.member_groups.add(UserGroup.objects.get(name="core"))
    reader, address = client_of(world.bob), f"/api/v1/documents/{document_make(private).pk}"
    assert reader.get(address).status_code == 404

    directory.patch(f"Groups/{made['id']}", add(world.bob))

    assert members() == ["bob"]
    assert directory.get(f"Users/{world.bob.pk}").json()["groups"][0]["display"] == "core"
    assert reader.get(address).status_code == 200
    event = AuditEvent.objects.filter(action="group.change", target="core").latest("pk")
    assert (event.data["members_added"], event.data["source"]) == (["bob"], "scim")


def test_members_come_and_go_in_every_form(directory, world):
    made = directory.post("Groups", {"displayName": "core", "members": [{"value": str(world.bob.pk)}]}).json()
    place = f"Groups/{made['id']}"
    mei = directory.post("Users", MEI).json()
    assert members() == ["bob"]

    directory.patch(place, add(world.bob, world.alice))  # one is there already
    assert members() == ["alice", "bob"]
    # Entra lists who leaves; RFC 7644 names them in the path
    directory.patch(place, {"op": "Remove", "path": "members", "value": [{"value": str(world.bob.pk)}]})
    assert members() == ["alice"]
    removal = {"op": "remove", "path": f'members[value eq "{world.alice.pk}"]'}
    assert [directory.patch(place, removal).status_code for _ in range(2)] == [200, 200]
    assert members() == []
    directory.patch(place, {"op": "Add", "path": "members", "value": [{"$ref": None, "value": mei["id"]}]})
    directory.patch(place, {"op": "replace", "value": {"id": made["id"], "displayName": "kernel"}})  # Okta
    assert members("kernel") == ["mei"]
    directory.put(place, {"displayName": "kernel", "members": [{"value": str(world.bob.pk)}]})
    assert members("kernel") == ["bob"]
    directory.patch(place, {"op": "remove", "path": "members"})
    assert members("kernel") == []


def test_who_was_removed_and_came_back_is_added_by_the_new_id_only(directory):
    group = directory.post("Groups", {"displayName": "core"}).json()
    first = directory.post("Users", MEI).json()
    directory.delete(f"Users/{first['id']}")
    second = directory.post("Users", MEI).json()

    late = directory.patch(f"Groups/{group['id']}", {"op": "add", "path": "members", "value": [{"value": first["id"]}]})
    now = directory.patch(f"Groups/{group['id']}", {"op": "add", "path": "members", "value": [{"value": second["id"]}]})

    assert (late.status_code, now.status_code) == (400, 200)
    assert [member["value"] for member in now.json()["members"]] == [second["id"]]


@pytest.mark.parametrize(
    ("member", "status"), [("eve", 400), ("robot", 400), ("nobody", 400), ("group", 400), ("bob", 200)]
)
def test_members_are_people_of_the_tenant(directory, world, member, status):
    person("robot", world.home, is_service=True, service_owner=world.root, password="!")
    group = directory.post("Groups", {"displayName": "core"}).json()
    ids = {"nobody": "999999", "group": {"value": group["id"]}}
    value = ids.get(member) or str(User.objects.get(username=member).pk)

    answer = directory.patch(f"Groups/{group['id']}", {"op": "add", "path": "members", "value": [{"value": value}]})

    assert answer.status_code == status, answer.json()
    assert members() == (["bob"] if status == 200 else [])


def test_names_are_unique_in_a_tenant_and_free_in_another(directory, abroad):
    assert directory.post("Groups", {"displayName": "core"}).status_code == 201
    again = directory.post("Groups", {"displayName": "core"})

    assert (again.status_code, again.json()["scimType"]) == (409, "uniqueness")
    assert abroad.post("Groups", {"displayName": "core"}).status_code == 201
    assert abroad.names('displayName eq "CORE"', "Groups") == ["core"]
    for name in ("", None, 7, "x" * 200, "a\nb"):
        assert directory.post("Groups", {"displayName": name}).status_code == 400


def test_groups_of_others_do_not_exist(directory, abroad, world):
    group = group_make(world.home, "core", world.bob)
    place = f"Groups/{group.pk}"

    for answer in (
        abroad.get(place),
        abroad.put(place, {"displayName": "mine"}),
        abroad.delete(place),
        abroad.patch(place, {"op": "remove", "path": "members"}),
    ):
        assert answer.status_code == 404
    assert members() == ["bob"]


def test_a_group_that_is_deleted_lets_nobody_read_any_more(directory, world):
    group = group_make(world.home, "core", world.bob)
    private = set_make(world.alice, visibility="members")
    private.member_groups.add(group)

    assert directory.delete(f"Groups/{group.pk}").status_code == 204
    assert directory.delete(f"Groups/{group.pk}").status_code == 404

    assert not private.member_groups.exists()
    assert AuditEvent.objects.filter(action="group.delete", target="core").exists()


def test_a_list_can_leave_the_members_out_and_is_searched_by_them(directory, world):
    group_make(world.home, "core", world.bob)
    group_make(world.home, "edge", world.alice)

    rows = directory.client.get("/scim/v2/Groups", {"excludedAttributes": "members"}).json()["Resources"]

    assert [set(row) & {"displayName", "members"} for row in rows] == [{"displayName"}, {"displayName"}]
    assert directory.names(f'members.value eq "{world.bob.pk}"', "Groups") == ["core"]
    assert directory.names(f'members[value eq "{world.alice.pk}"]', "Groups") == ["edge"]


def test_a_service_account_in_a_group_stays_when_the_directory_puts_the_members(directory, world):
    robot = person("robot", world.home, is_service=True, service_owner=world.root, password="!")
    group = group_make(world.home, "core", robot)

    answer = directory.put(f"Groups/{group.pk}", {"displayName": "core", "members": [{"value": str(world.bob.pk)}]})

    assert members() == ["bob", "robot"]
    assert [member["value"] for member in answer.json()["members"]] == [str(world.bob.pk)]


def test_an_older_version_of_a_group_changes_nothing(directory, world):
    first = directory.post("Groups", {"displayName": "core"})
    place = f"Groups/{first.json()['id']}"
    directory.patch(place, add(world.bob))

    assert directory.put(place, {"displayName": "core"}, if_match=first.headers["ETag"]).status_code == 412
    assert members() == ["bob"]
