"""Guided pages: a knowledge set with people, source, files and a question at once; a person with groups and role."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.models import AuditEvent, User, UserGroup
from accounts.selectors import roles_held, roles_in_words
from knowledge.models import Document, KnowledgeSet, SetSource, Source
from tests.admin.conftest import signed_in
from tests.factories import make_set, make_tenant, make_user

pytestmark = pytest.mark.django_db

SET, PERSON = reverse("admin:knowledge_knowledgeset_setup"), reverse("admin:accounts_user_setup")
NEEDED = {"name": "Boilers", "axis": "Y", "visibility": "members", "clearance": "0"}


def test_a_set_is_set_up_in_one_page_with_people_a_source_files_and_a_question(owner):
    owner.can_create_sets = True
    owner.save()
    friend, group = make_user("friend"), UserGroup.objects.create(tenant=owner.tenant, name="Service")
    files = [SimpleUploadedFile("valve.md", b"# Valve\n\nIt opens at 7 bar."), SimpleUploadedFile("tune.xyz", b"?")]
    form = {
        **NEEDED,
        "users": [friend.pk],
        "groups": [group.pk],
        "addresses": "https://example.org/boilers",
        "uploads": files,
        "question": "At which pressure does the valve open?",
    }

    page = signed_in(owner).post(SET, form, follow=True)
    assert page.redirect_chain, page.context["form"].errors

    made = KnowledgeSet.objects.get(code="boilers")
    assert (list(made.owners.all()), list(made.members.all()), list(made.member_groups.all())) == (
        [owner],
        [friend],
        [group],
    )
    assert made.example_questions == ["At which pressure does the valve open?"]
    assert SetSource.objects.get(knowledge_set=made).source.location == "https://example.org/boilers"
    assert list(Document.objects.filter(sets=made).values_list("title", flat=True)) == ["valve"]
    told = [str(message) for message in page.context["messages"]]
    assert any(message.startswith("tune.xyz:") for message in told)
    assert any(f'?sets__id__exact={made.pk}">1 file is being processed.' in message for message in told)
    assert any("question=At+which+pressure" in message for message in told)
    assert AuditEvent.objects.filter(action="set.create", target="boilers").exists()


def test_several_owners_and_members_are_chosen(owner):
    owner.can_create_sets = True
    owner.save()
    people = [make_user(name) for name in ("张三", "李四", "王五")]

    signed_in(owner).post(
        SET, {**NEEDED, "owners": [owner.pk, people[0].pk], "users": [person.pk for person in people[1:]]}
    )

    made = KnowledgeSet.objects.get(code="boilers")
    assert set(made.owners.all()) == {owner, people[0]}
    assert set(made.members.all()) == set(people[1:])


def test_a_set_whose_source_is_refused_is_not_made_at_all(owner):
    owner.can_create_sets = True
    owner.save()

    page = signed_in(owner).post(SET, {**NEEDED, "addresses": "ftp://example.org/x"})
    both = signed_in(owner).post(SET, {**NEEDED, "code": "a b", "addresses": "ftp://example.org/x"})

    assert set(page.context["form"].errors) == {"addresses"}
    assert set(both.context["form"].errors) == {"code", "addresses"}
    assert not KnowledgeSet.objects.filter(code="boilers").exists()
    assert not Source.objects.filter(name="Boilers").exists()


def test_people_of_others_and_a_name_without_latin_letters_are_told_at_their_fields(administrator):
    stranger = make_user(tenant=make_tenant())

    page = signed_in(administrator).post(SET, {**NEEDED, "name": "锅炉", "users": [stranger.pk]})

    assert set(page.context["form"].errors) == {"users", "code"}


def test_the_guided_pages_are_for_those_with_the_right(owner, own_set, reviewer):
    for person in (owner, reviewer):
        assert signed_in(person).get(SET).status_code == 403
        assert signed_in(person).post(PERSON, {"username": "x", "positions": ["administrator"]}).status_code == 403
    assert not User.objects.filter(username="x").exists()


@pytest.mark.parametrize(
    ("language", "of_all", "of_one"),
    [
        (
            "en",
            "Administrator of the whole site: all tenants",
            "Administrator: people, sets and settings of the organisation",
        ),
        ("zh-hans", "全站管理员：所有租户", "管理员：管理本组织的用户、知识集和设置"),
    ],
)
def test_the_page_says_whose_administrator_a_person_will_be(administrator, stranger, language, of_all, of_one):
    for actor, label, role in ((administrator, of_all, "platform_admin"), (stranger, of_one, "tenant_admin")):
        client = signed_in(actor)
        page = client.get(PERSON, headers={"accept-language": language})
        client.post(PERSON, {"username": f"by-{actor}", "positions": ["administrator"], "clearance": "0"})

        assert dict(page.context["form"].fields["positions"].choices)["administrator"] == label
        assert label in page.content.decode()
        assert roles_held(User.objects.get(username=f"by-{actor}"))[0] == role


@pytest.mark.parametrize(
    ("positions", "roles"),
    [
        ([], ["employee"]),
        (["reviewer"], ["reviewer", "employee"]),
        (["administrator"], ["tenant_admin", "employee"]),
    ],
)
def test_a_person_is_set_up_in_one_page_with_a_first_password(stranger, positions, roles):
    group = UserGroup.objects.create(tenant=stranger.tenant, name="Service")
    form = {
        "username": "nina",
        "email": "nina@example.org",
        "groups": [group.name],
        "positions": positions,
        "clearance": "1",
        "with_password": "on",
    }

    page = signed_in(stranger).post(PERSON, form)

    made = User.objects.get(username="nina")
    assert (made.tenant, made.email, made.clearance) == (stranger.tenant, "nina@example.org", 1)
    assert list(made.user_groups.all()) == [group]
    assert made.is_staff == bool(positions)
    assert [role for role in roles_held(made) if role in roles] == roles
    assert made.must_change_password
    assert made.check_password(page.context["password"])
    assert "no-store" in page["Cache-Control"]


def test_a_new_owner_gets_sets_and_the_right_to_create_them_in_the_same_act(administrator):
    radio, cores = make_set("radio", visibility="members"), make_set("cores", visibility="members")
    form = {"username": "nina", "clearance": "1", "with_password": "on"}

    refused = signed_in(administrator).post(PERSON, {**form, "positions": ["owner"]})
    assert set(refused.context["form"].errors) == {"owns"}
    assert not User.objects.filter(username="nina").exists()

    made = signed_in(administrator).post(
        PERSON, {**form, "positions": ["owner"], "owns": ["radio"], "reads": ["cores"], "creates_sets": "on"}
    )

    nina = User.objects.get(username="nina")
    assert list(radio.owners.all()) == [nina]
    assert list(cores.members.all()) == [nina]
    assert nina.can_create_sets
    assert roles_in_words(nina) == ["owner", "may create knowledge sets"]
    assert "may create knowledge sets" in made.content.decode()
    client = signed_in(nina)
    for address in (reverse("admin:index"), reverse("admin:knowledge_knowledgeset_changelist"), SET):
        assert client.get(address).status_code == 200
    assert "owner, may create knowledge sets" in client.get("/profile").content.decode()


def test_an_owner_may_create_sets_without_owning_one_and_sets_of_other_tenants_are_not_offered(administrator, stranger):
    make_set("radio")
    offered = signed_in(stranger).get(PERSON).context["form"].fields["owns"].choices
    assert list(offered) == []
    form = {"username": "nina", "clearance": "1", "positions": ["owner"]}
    assert signed_in(stranger).post(PERSON, {**form, "owns": ["radio"]}).context["form"].errors

    signed_in(administrator).post(PERSON, {**form, "creates_sets": "on"})

    assert signed_in(User.objects.get(username="nina")).get(SET).status_code == 200
