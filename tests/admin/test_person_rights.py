"""Roles and knowledge sets of people who exist already, and the members of user groups."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, User, UserGroup
from accounts.people.rights import rights_held
from tests.admin.conftest import signed_in
from tests.factories import make_set, make_user


def rights_page(person: User) -> str:
    return reverse("admin:accounts_user_rights", args=[person.pk])


def person_page(person: User) -> str:
    return reverse("admin:accounts_user_change", args=[person.pk])


def group_page(group: UserGroup) -> str:
    return reverse("admin:accounts_usergroup_change", args=[group.pk])


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def test_the_page_of_a_person_leads_to_roles_and_has_no_box_that_cannot_be_unticked(administrator):
    mei = make_user("mei")

    page = signed_in(administrator).get(person_page(mei)).content.decode()

    assert rights_page(mei) in page
    assert "Unselect this instead of deleting accounts" not in page
    assert not {"is_active", "is_staff", "is_superuser"} & {part.split('"')[0] for part in page.split('name="')[1:]}


def test_who_was_deactivated_is_let_in_again_on_the_page(administrator):
    mei = make_user("mei", is_active=False)
    values = {"username": "mei", "tenant": mei.tenant_id, "clearance": 1, "interests": "", "is_active": "on"}

    signed_in(administrator).post(person_page(mei), values)

    assert User.objects.get(pk=mei.pk).is_active


def test_an_employee_becomes_an_owner_and_a_reviewer_and_an_employee_again(administrator):
    client, mei = signed_in(administrator), make_user("mei")
    radio, cores = make_set("radio", owners=[administrator]), make_set("cores", visibility="members")

    client.post(rights_page(mei), {"positions": ["owner", "reviewer"], "owns": ["radio"], "reads": ["cores"]})
    given = rights_held(User.objects.get(pk=mei.pk))
    shown = client.get(rights_page(mei)).context["form"].initial
    client.post(rights_page(mei), {})

    assert given == (["owner", "reviewer"], ["radio"], ["cores"])
    assert (shown["positions"], shown["owns"]) == given[:2]
    mei = User.objects.get(pk=mei.pk)
    assert rights_held(mei) == ([], [], [])
    assert not mei.is_staff
    assert (list(radio.owners.all()), list(cores.members.all())) == ([administrator], [])


def test_saving_without_a_change_records_nothing(administrator):
    mei = make_user("mei")
    make_set("radio", owners=[mei])
    client = signed_in(administrator)
    client.post(rights_page(mei), {"positions": ["owner"], "owns": ["radio"]})
    recorded = AuditEvent.objects.count()

    client.post(rights_page(mei), {"positions": ["owner"], "owns": ["radio"]})

    assert AuditEvent.objects.count() == recorded


def test_an_editor_who_holds_nothing_else_gets_the_administration_and_keeps_it(administrator):
    mei = make_user("mei")
    make_set("radio").editors.add(mei)
    client = signed_in(administrator)

    client.post(rights_page(mei), {"is_staff": "on"})

    assert User.objects.get(pk=mei.pk).is_staff
    assert client.get(rights_page(mei)).context["form"].initial["is_staff"]


def test_nobody_takes_the_role_of_administrator_from_themselves(administrator):
    page = signed_in(administrator).post(rights_page(administrator), {})

    assert "ask another administrator" in page.content.decode()
    assert User.objects.get(pk=administrator.pk).is_superuser


def test_roles_are_given_by_administrators_of_the_tenant_alone(administrator, stranger, owner):
    mei = make_user("mei")

    for person, status in ((stranger, 404), (owner, 403)):
        client = signed_in(person)
        assert client.get(rights_page(mei)).status_code == status
        assert client.post(rights_page(mei), {"positions": ["administrator"]}).status_code == status
    assert not User.objects.get(pk=mei.pk).is_staff


@pytest.mark.parametrize(("whose", "words"), [("ours", "all tenants"), ("theirs", "of the organisation")])
def test_the_page_says_whose_administrator_the_person_will_be(administrator, stranger, whose, words):
    person = make_user("mei", tenant=administrator.tenant if whose == "ours" else stranger.tenant)

    form = signed_in(administrator).get(rights_page(person)).context["form"]

    assert words in dict(form.fields["positions"].choices)["administrator"]


# ── groups ──────────────────────────────────────────────────────────────────────────────────────


def test_the_page_of_a_group_shows_and_changes_its_members_and_names_the_sets_that_it_reads(administrator):
    mei, li = make_user("mei"), make_user("li")
    group = UserGroup.objects.create(tenant=mei.tenant, name="Service")
    group.members.set([mei])
    make_set("Radio manuals").member_groups.add(group)
    client = signed_in(administrator)

    page = client.get(group_page(group)).content.decode()
    client.post(group_page(group), {"name": "Service", "tenant": group.tenant_id, "members": [li.pk]})

    assert "mei" in page
    assert "Radio manuals" in page
    assert list(group.members.all()) == [li]
    event = AuditEvent.objects.get(action="group.change")
    assert (event.data["members_added"], event.data["members_removed"]) == (["li"], ["mei"])


def test_people_of_other_tenants_are_no_members(administrator, stranger):
    ours = UserGroup.objects.create(tenant=administrator.tenant, name="Service")
    theirs = UserGroup.objects.create(tenant=stranger.tenant, name="Service")
    mei = make_user("mei")

    for person, group, member in ((administrator, ours, stranger), (stranger, theirs, mei)):
        values = {"name": "Service", "tenant": group.tenant_id, "members": [member.pk]}
        page = signed_in(person).post(group_page(group), values)
        assert "members" in page.context["adminform"].form.errors
    assert not ours.members.exists()
    assert not theirs.members.exists()
