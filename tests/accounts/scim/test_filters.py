"""Filters of SCIM, in the database and on items of a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.people.records import ENTERPRISE
from accounts.scim.errors import ScimError
from accounts.scim.filters import Comparison, Joined, Negated, OfItems, filter_parsed, matches
from tests.accounts.scim.conftest import MEI, USER
from tests.api.world import group_make


@pytest.fixture
def people(directory, world):
    directory.post("Users", MEI)
    directory.post("Users", {"userName": "mike", "title": "Tester", "externalId": "E-1", "active": False})
    world.home.users.exclude(username__in=["mei", "mike"]).update(clearance=0)
    return directory


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('userName eq "MEI"', ["mei"]),
        ('UserName Eq "mei"', ["mei"]),
        ('externalId eq "e-1"', ["mei"]),  # with case
        ('externalId eq "E-1"', ["mike"]),
        ('userName sw "m"', ["mei", "mike"]),
        ('userName sw "m" and active eq true', ["mei"]),
        ('userName sw "m" and not (active eq true)', ["mike"]),
        ('title co "gine"', ["mei"]),
        ('title co "%"', []),
        ('title ew "er" or userName eq "mei"', ["mei", "mike"]),
        ('title pr and active ne "True"', ["mike"]),
        ('userName eq "mei" or userName eq "mike" and active eq true', ["mei"]),
        ('(userName eq "mei" or userName eq "mike") and active eq false', ["mike"]),
        ('emails[type eq "work" and value co "@example.org"]', ["mei"]),
        ('emails[type eq "home" and value co "@example.org"]', []),
        ('emails.value eq "mei@example.org"', ["mei"]),
        ('emails.type eq "work" and name.familyName eq "chen"', ["mei"]),
        (f'{ENTERPRISE}:department eq "radio"', ["mei"]),
        (f'{USER}:userName eq "mike"', ["mike"]),
        ('meta.created gt "2011-05-13T04:42:34Z" and userName sw "mi"', ["mike"]),
        ('externalId ne "e-1" and userName sw "m"', ["mike"]),
        ('title eq null and userName eq "bob"', ["bob"]),
        (r'userName eq "a\"b"', []),
        ('id eq "nothing"', []),
    ],
)
def test_people_are_found(people, text, names):
    assert people.names(text) == names


def test_a_group_of_people_is_found_by_its_members_and_its_members_by_the_group(people, world):
    group = group_make(world.home, "core", world.bob)
    group_make(world.home, "corner", world.bob)

    assert people.names(f'groups.value eq "{group.pk}"') == ["bob"]
    assert people.names(f'groups eq "{group.pk}"') == ["bob"]
    assert people.names('groups.display sw "cor"') == ["bob"]  # once
    assert people.names('displayName co "ORE"', "Groups") == ["core"]


@pytest.mark.parametrize(
    "text",
    [
        *("userName", "userName eq", 'userName is "x"', 'userName eq "x" and', "(userName pr", 'userName eq "x")'),
        *("userName eq x", 'password eq "x"', 'active gt "x"', 'meta.created eq "yesterday"', "userName eq 7"),
        *('userName eq "\\u0000"', 'userName eq "\\ud800"', 'addresses[type eq "work"]', 'userName eq "x', "[", '"x"'),
        *("(" * 500 + "userName pr" + ")" * 500, "userName pr" + " and userName pr" * 120),
        f'userName eq "{"x" * 3000}"',
        *('emails[value eq "x"', 'not userName eq "x"', 'id gt "1"', "userName eq [1]"),
    ],
)
def test_what_is_no_filter_is_refused(people, text):
    answer = people.client.get("/scim/v2/Users", {"filter": text})

    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidFilter")


@given(st.text(alphabet='uersNam eq"x()[]andot\\\u0000\ud800 ', max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        term = filter_parsed(text)
    except ScimError:
        return
    assert isinstance(term, (Comparison, Joined, Negated, OfItems))


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ('type eq "WORK"', True),
        ('type eq "work" and primary eq true', True),
        ('type eq "home" or value co "@"', True),
        ('not (value sw "mei")', False),
        ("display pr", False),
        ('value gt "a" and value le "z"', True),
    ],
)
def test_items_are_matched_without_case(text, is_match):
    item = {"value": "mei@example.org", "type": "work", "primary": True}

    assert matches(filter_parsed(text), item) is is_match
