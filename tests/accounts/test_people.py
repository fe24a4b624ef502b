"""People from other systems: claims, LDAP, SCIM, CSV."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from accounts.people.ldap_records import ldap_record
from accounts.people.records import (
    OIDC_CLAIMS,
    PersonRecord,
    RecordError,
    record_from_values,
    records_from_csv,
    records_from_scim,
)
from tests.factories import make_admin, make_set, make_user

CSV = """username,department,groups,clearance,active
mei,Radio,core;测试,2,
li,,,,no
"""
SCIM = {
    "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    "Resources": [
        {
            "userName": "mei",
            "name": {"givenName": "Mei", "familyName": "Chen"},
            "emails": [{"value": "old@example.org"}, {"value": "mei@example.org", "primary": True}],
            "title": "Engineer",
            "active": True,
            "groups": [{"value": "7", "display": "core"}],
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Radio"},
        },
        {"name": {"givenName": "Nobody"}},
        "text",
    ],
}


@pytest.fixture
def file(tmp_path):
    def write(text: str, name: str = "people.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def test_scim_becomes_records_and_bad_ones_say_what_is_wrong():
    good, nameless, text = records_from_scim(json.dumps(SCIM))

    assert good == PersonRecord(
        username="mei",
        email="mei@example.org",
        first_name="Mei",
        last_name="Chen",
        department="Radio",
        role="Engineer",
        groups=("core",),
        active=True,
    )
    assert [str(nameless), str(text)] == ["it has no user name", "it is no JSON object"]


def test_a_clearance_comes_only_from_a_claim_that_was_named_for_it():
    claims = {"preferred_username": "mei", "clearance": 4, "level": ["3"], "groups": ["a", "a", "b"]}

    assert record_from_values(claims, OIDC_CLAIMS).clearance is None
    assert record_from_values(claims, {**OIDC_CLAIMS, "clearance": "level"}).clearance == 3
    assert record_from_values(claims, OIDC_CLAIMS).groups == ("a", "b")


def test_entries_of_a_directory_are_mapped_without_regard_to_case(settings):
    settings.LDAP_ATTRIBUTES = {"department": "ou", "interests": "businessCategory"}
    attributes = {"MAIL": ["mei@example.org", "x@example.org"], "OU": ["Radio"], "businesscategory": ["N4", "N4", "5G"]}

    record = ldap_record("Mei ", attributes, {"core", "all"})

    assert (record.username, record.email, record.department) == ("mei", "mei@example.org", "Radio")
    assert (record.interests, record.groups) == (("N4", "5G"), ("all", "core"))
    assert ldap_record("mei", attributes, None).groups is None


@given(
    st.dictionaries(
        st.sampled_from(sorted(OIDC_CLAIMS.values())),
        st.recursive(st.none() | st.integers() | st.text(max_size=200), lambda inner: st.lists(inner, max_size=3)),
    )
)
def test_claims_of_any_shape_are_read_or_refused(claims):
    try:
        record = record_from_values(claims, OIDC_CLAIMS)
    except RecordError:
        return
    assert 0 < len(record.username) <= 150
    assert all(isinstance(group, str) and 0 < len(group) <= 128 for group in record.groups or ())


@given(st.text(max_size=300))
def test_a_list_of_any_text_is_read_or_refused(text):
    for read in (lambda: list(records_from_csv(io.StringIO(text))), lambda: list(records_from_scim(text))):
        try:
            found = read()
        except RecordError:
            continue
        assert all(isinstance(one, PersonRecord | RecordError) for one in found)


@pytest.mark.django_db
def test_an_import_is_shown_first_and_then_done_once(file, capsys):
    make_admin("admin")
    make_user("li")

    call_command("people_import", file(CSV), "--dry-run")
    assert not User.objects.filter(username="mei").exists()
    call_command("people_import", file(CSV))
    call_command("people_import", file(CSV))

    printed = capsys.readouterr().out
    mei, li = User.objects.get(username="mei"), User.objects.get(username="li")
    assert (mei.department, mei.clearance, mei.has_usable_password()) == ("Radio", 2, False)
    assert sorted(mei.user_groups.values_list("name", flat=True)) == ["core", "测试"]
    assert not li.is_active
    assert "Would change 2 people" in printed
    assert "Changed 0 people" in printed


@pytest.mark.django_db
def test_an_import_never_deactivates_staff_and_nobody_where_a_record_is_faulty(file):
    make_admin("admin")
    gone = make_user("gone")

    with pytest.raises(CommandError):
        call_command("people_import", file(CSV + "x,,,9,\n"), "--deactivate-missing", stderr=io.StringIO())
    gone.refresh_from_db()
    assert gone.is_active
    call_command("people_import", file(CSV + "admin,,,,no\n"), "--deactivate-missing")
    gone.refresh_from_db()
    assert not gone.is_active
    assert User.objects.get(username="admin").is_active


@pytest.mark.django_db
def test_a_list_of_one_tenant_does_not_touch_people_of_another(file):
    make_admin("admin")
    from tests.factories import make_tenant

    other = make_user("mei", tenant=make_tenant("elsewhere"), clearance=0)

    with pytest.raises(CommandError):
        call_command("people_import", file(CSV), stderr=io.StringIO())

    other.refresh_from_db()
    assert (other.clearance, other.department) == (0, "")


@pytest.mark.django_db
def test_a_file_gives_positions_and_knowledge_sets_and_keeps_what_it_does_not_say(file):
    make_admin("admin")
    radio = make_set("radio")
    text = "username,positions,owns,reads,creates_sets\nmei,owner;reviewer,radio,radio,yes\nli,,,,\n"

    call_command("people_import", str(file(text)), stdout=io.StringIO())
    call_command("people_import", str(file("username,department\nmei,Radio\n")), stdout=io.StringIO())

    mei, li = User.objects.get(username="mei"), User.objects.get(username="li")
    assert (mei.is_staff, mei.can_create_sets, mei.is_superuser) == (True, True, False)
    assert mei.has_perm("feedback.change_badcase")
    assert list(radio.owners.filter(username="mei")) == list(radio.members.filter(username="mei")) == [mei]
    assert (li.is_staff, li.can_create_sets) == (False, False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ("boss,,", "unknown positions: boss"),
        (",nowhere,", "no knowledge sets with the codes nowhere"),
        (",,x", "creates_sets is neither"),
    ],
)
def test_rights_that_cannot_be_given_are_told_and_make_nobody(file, cells, fault):
    make_admin("admin")
    errors = io.StringIO()
    people = file(f"username,positions,owns,creates_sets\nmei,{cells}\n")

    with pytest.raises(CommandError):
        call_command("people_import", str(people), stdout=io.StringIO(), stderr=errors)

    assert fault in errors.getvalue()
    assert not User.objects.filter(username="mei").exists()


def test_claims_of_a_provider_never_give_rights():
    record = record_from_values({"sub": "mei", "roles": ["administrator"]}, {"username": "sub", "positions": "roles"})

    assert (record.username, record.positions) == ("mei", None)
