"""`/api/v1/knowledge-sets`."""

from __future__ import annotations

import pytest

from knowledge.models import KnowledgeSet
from tests.api.world import document_make, error_of, fields_of, group_make, set_make

SETS = "/api/v1/knowledge-sets"


def test_who_makes_a_set_owns_it(alice, world):
    response = alice.post(SETS, {"name": "Radio", "axis": "X", "code": "radio", "visibility": "members"})

    assert response.status_code == 201
    assert response.json() | {"name": "Radio", "axis": "X", "code": "radio", "visibility": "members"} == response.json()
    assert KnowledgeSet.objects.get(pk=response.json()["id"]).owners.get() == world.alice


def test_a_set_is_for_everyone_and_common_unless_said_otherwise(alice):
    made = alice.post(SETS, {"name": "通用", "code": "common"}).json()

    assert (made["axis"], made["visibility"], made["tenant"]) == ("1", "everyone", "default")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 129}, "name"),
        ({"name": 5}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"code": "two words"}, "code"),
        ({"axis": "Z"}, "axis"),
        ({"axis": ["X"]}, "axis"),
        ({"visibility": "nobody"}, "visibility"),
        ({"example_questions": "one"}, "example_questions"),
        ({"example_questions": ["q" * 257]}, "example_questions.0"),
        ({"options": {}}, "options"),
        ({"owners": []}, "owners"),
    ],
)
def test_a_bad_field_is_named(alice, change, field):
    response = alice.post(SETS, {"name": "Radio", "code": "radio", **change})

    assert response.status_code == 422
    assert error_of(response)["code"] == "invalid"
    assert fields_of(response) == {field}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"name": "\\ud800", "code": "a"}', "invalid"),
        (b'{"name": "a", "code": "a", "axis": "\\ud800"}', "invalid"),
        (b'{"name": "a", "code": "a", "\\ud800": 1}', "invalid"),
        (b'{"name": ', "malformed"),
        (b"\xff\xfe", "malformed"),
        (b'{"name": NaN}', "malformed"),
        (b"[" * 100_000, "malformed"),
        (b"[]", "invalid"),
        (b'"text"', "invalid"),
        (b"null", "invalid"),
        (b"", "invalid"),
    ],
)
def test_a_body_that_cannot_be_used_is_refused(alice, body, code):
    response = alice.post(SETS, body, content_type="application/json; charset=base64")

    assert (response.status_code, error_of(response)["code"]) == (422, code)


def test_a_body_is_small(alice):
    response = alice.post(SETS, {"name": "x" * 2_000_000})

    assert (response.status_code, error_of(response)["code"]) == (413, "body_too_large")


def test_all_faults_come_together(alice):
    response = alice.post(SETS, {"axis": "Z", "nonsense": 1})

    assert fields_of(response) == {"name", "code", "axis", "nonsense"}


def test_a_code_is_unique_in_its_tenant_only(alice, eve):
    body = {"name": "Radio", "code": "radio"}

    assert alice.post(SETS, body).status_code == 201
    assert error_of(alice.post(SETS, body))["code"] == "name_taken"
    assert eve.post(SETS, body).status_code == 201


def test_administrators_of_everything_make_sets_in_other_tenants(root, alice, eve, world):
    body = {"name": "Radio", "code": "radio", "tenant": "abroad"}

    assert root.post(SETS, body).json()["tenant"] == "abroad"
    assert alice.post(SETS, body).status_code == 404
    assert eve.post(SETS, {**body, "tenant": "default"}).status_code == 404
    unknown = root.post(SETS, {**body, "tenant": "nowhere"})
    assert (unknown.status_code, error_of(unknown)["code"]) == (422, "unknown_tenant")


def test_everyone_sees_that_a_set_of_the_tenant_exists(world, bob, eve):
    hidden = set_make(world.alice, visibility="members")

    assert [row["id"] for row in bob.get(SETS).json()["results"]] == [hidden.pk]
    assert bob.get(f"{SETS}/{hidden.pk}").json()["name"] == hidden.name
    assert eve.get(SETS).json()["results"] == []
    assert eve.get(f"{SETS}/{hidden.pk}").status_code == 404


def test_the_list_has_pages_and_filters(world, alice):
    for axis in "1XXY":
        set_make(world.alice, axis=axis)

    page = alice.get(SETS, {"axis": "X", "page_size": 1}).json()

    assert (page["count"], len(page["results"]), page["previous"]) == (2, 1, None)
    assert len(alice.get(page["next"]).json()["results"]) == 1


@pytest.mark.parametrize(
    "query", [{"page_size": 501}, {"page_size": 0}, {"page": 0}, {"axis": "Z"}, {"unknown": 1}, {"page": "x"}]
)
def test_a_bad_query_is_refused(alice, query):
    assert fields_of(alice.get(SETS, query)) == set(query)


def test_owners_change_a_set_and_others_do_not(world, alice, bob):
    made = set_make(world.alice)

    changed = alice.patch(f"{SETS}/{made.pk}", {"name": "Renamed", "visibility": "members"})

    assert (changed.status_code, changed.json()["name"], changed.json()["visibility"]) == (200, "Renamed", "members")
    assert error_of(bob.patch(f"{SETS}/{made.pk}", {"name": "Mine"}))["code"] == "not_allowed"
    assert fields_of(alice.patch(f"{SETS}/{made.pk}", {"tenant": "abroad"})) == {"tenant"}


def test_a_patch_changes_only_what_it_names(world, alice):
    made = set_make(world.alice, axis="X", visibility="members")

    alice.patch(f"{SETS}/{made.pk}", {"name": "Renamed"})

    made.refresh_from_db()
    assert (made.name, made.axis, made.visibility) == ("Renamed", "X", "members")


def test_a_deleted_set_lets_its_documents_go(world, alice, bob):
    made, other = set_make(world.alice), set_make(world.alice)
    document = document_make(made, other)

    assert bob.delete(f"{SETS}/{made.pk}").status_code == 404
    assert alice.delete(f"{SETS}/{made.pk}").status_code == 204

    assert list(document.sets.all()) == [other]
    assert alice.get(f"{SETS}/{made.pk}").status_code == 404


@pytest.mark.parametrize("wrong", ["0", "999999", str(2**63), str(10**40)])
def test_an_unknown_set_is_not_found(alice, wrong):
    assert error_of(alice.get(f"{SETS}/{wrong}"))["code"] == "not_found"


def test_members_are_replaced_by_name_or_id(world, alice, bob):
    made = set_make(world.alice, visibility="members")
    group = group_make(world.home, "radio")

    response = alice.put(
        f"{SETS}/{made.pk}/members", {"users": ["bob"], "groups": [group.pk], "owners": [world.alice.pk, "root"]}
    )

    expected = {"users": ["bob"], "groups": ["radio"], "owners": ["alice", "root"], "editors": []}
    assert response.json() == expected
    assert alice.get(f"{SETS}/{made.pk}/members").json() == response.json()
    assert bob.get(f"{SETS}/{made.pk}/members").status_code == 404


def test_a_list_that_is_left_out_stays(world, alice):
    made = set_make(world.alice)
    made.members.add(world.bob)

    assert alice.put(f"{SETS}/{made.pk}/members", {"groups": []}).json()["users"] == ["bob"]
    assert alice.put(f"{SETS}/{made.pk}/members", {"users": []}).json()["users"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"users": ["nobody"]}, "unknown_people"),
        ({"users": ["eve"]}, "unknown_people"),  # of another tenant
        ({"groups": ["nobody"]}, "unknown_people"),
        ({"owners": [10**12]}, "unknown_people"),
        ({"owners": []}, "owner_needed"),
        ({"users": [True]}, "invalid"),
        ({"users": "bob"}, "invalid"),
        ({"users": [10**30]}, "invalid"),
        ({"readers": []}, "invalid"),
    ],
)
def test_bad_members_change_nothing(world, alice, body, code):
    made = set_make(world.alice)

    response = alice.put(f"{SETS}/{made.pk}/members", {"users": ["bob"], **body})

    assert (response.status_code, error_of(response)["code"]) == (422, code)
    assert not made.members.exists()


def test_the_number_of_queries_does_not_grow_with_the_list(world, alice, django_assert_max_num_queries):
    for _ in range(30):
        set_make(world.alice)

    with django_assert_max_num_queries(6):  # key, its use, groups, count, page, owners
        assert len(alice.get(SETS).json()["results"]) == 30
