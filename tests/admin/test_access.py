"""Keys, users, the audit log."""

from __future__ import annotations

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiKey, AuditEvent, User
from accounts.roles import Role
from accounts.selectors import api_key_get
from accounts.services import api_key_create
from tests.admin.conftest import signed_in
from tests.factories import make_user


def test_a_new_key_is_shown_once_and_works(administrator):
    user = make_user("robot")
    client = signed_in(administrator)

    answer = client.post(
        reverse("admin:accounts_apikey_add"),
        {"user": user.pk, "name": "crawler", "scopes": ["read", "keys"], "expires": "30", "requests_per_minute": ""},
    )

    secret = answer.context["secret"]
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert api_key_get(secret).user == user
    row = user.api_keys.get()
    assert row.scopes == ["read", "keys"]
    assert timedelta(days=29) < row.expires - timezone.now() < timedelta(days=31)
    assert secret not in client.get(reverse("admin:accounts_apikey_changelist")).content.decode()


def test_revoked_keys_stay_listed(administrator):
    key, _secret = api_key_create(user=administrator, name="old")
    data = {"action": "revoke", "_selected_action": [key.pk]}

    signed_in(administrator).post(reverse("admin:accounts_apikey_changelist"), data)

    assert ApiKey.objects.get(pk=key.pk).revoked is not None


def test_an_administrator_of_another_tenant_sees_neither_our_keys_nor_our_people(administrator, stranger):
    api_key_create(user=administrator, name="ours")
    client = signed_in(stranger)

    keys = client.get(reverse("admin:accounts_apikey_changelist")).context["cl"].result_list
    people = client.get(reverse("admin:accounts_user_changelist")).context["cl"].result_list

    assert [key.name for key in keys] == []
    assert [user.username for user in people] == ["stranger"]


def test_people_are_listed_by_name_with_their_roles_and_their_page_shows_nothing_of_the_password(administrator):
    person = make_user("mvoss", first_name="Marta", last_name="Voss")
    person.set_password("correct-horse-battery")
    person.save()
    client = signed_in(administrator)

    listed = client.get(reverse("admin:accounts_user_changelist")).content.decode()
    page = client.get(reverse("admin:accounts_user_change", args=[person.pk])).content.decode()

    assert 'Marta Voss <span class="rs-quiet">mvoss</span>' in listed
    assert str(Role.PLATFORM_ADMIN.label) in listed
    assert "Staff status" not in listed.split("result_list")[1]
    assert person.password.split("$")[2] not in page
    assert reverse("admin:auth_user_password_change", args=[person.pk]) in page
    assert page.index("Deactivate and hand over") < page.index("id_first_name")


def test_an_administrator_of_another_tenant_cannot_make_keys_for_our_people(administrator, stranger):
    url = reverse("admin:accounts_apikey_add")

    answer = signed_in(stranger).post(url, {"user": administrator.pk, "name": "stolen"})

    assert "user" in answer.context["adminform"].form.errors
    assert not ApiKey.objects.exists()


def test_an_administrator_of_another_tenant_cannot_make_people_of_ours(administrator, stranger):
    data = {
        "username": "mole",
        "tenant": administrator.tenant_id,
        "clearance": 4,
        "usable_password": "true",
        "password1": "correct horse battery",
        "password2": "correct horse battery",
    }

    answer = signed_in(stranger).post(reverse("admin:accounts_user_add"), data)

    assert "tenant" in answer.context["adminform"].form.errors
    assert not User.objects.filter(username="mole").exists()


def test_making_a_user_is_written_to_the_audit_log_without_the_password(administrator):
    data = {
        "username": "ada",
        "tenant": administrator.tenant_id,
        "clearance": 2,
        "usable_password": "true",
        "password1": "correct horse battery",
        "password2": "correct horse battery",
    }

    signed_in(administrator).post(reverse("admin:accounts_user_add"), data)

    event = AuditEvent.objects.get(action="user.create", target="ada")
    assert User.objects.get(username="ada").clearance == 2
    assert not any("password" in name for name in event.data["fields"])


def test_the_audit_log_cannot_be_written(administrator):
    client = signed_in(administrator)
    api_key_create(user=administrator, name="any")
    event = AuditEvent.objects.get()

    assert client.get(reverse("admin:accounts_auditevent_add")).status_code == 403
    assert client.post(reverse("admin:accounts_auditevent_delete", args=[event.pk]), {"post": "yes"}).status_code == 403


def test_the_administration_has_no_sign_in_of_its_own(client, db):
    response = client.get(reverse("admin:index"), follow=True)

    assert response.redirect_chain[-1][0] == "/sign-in?next=/admin/"


def test_who_may_not_use_the_administration_is_told_so(db):
    response = signed_in(make_user("employee")).get(reverse("admin:index"), follow=True)

    assert response.status_code == 403


def test_a_first_visit_of_a_chinese_browser_is_in_chinese(client, db):
    page = client.get("/sign-in", headers={"accept-language": "zh-CN,zh;q=0.9"}).content.decode()

    assert '<html lang="zh-Hans">' in page
    assert "登录" in page


def test_staff_complete_names_of_people_by_nothing_that_a_name_does_not_show(owner, administrator):
    make_user("hidden", email="mole@example.org", department="Research")
    query = {"app_label": "accounts", "model_name": "user", "field_name": "service_owner"}

    def found(person, term):
        rows = signed_in(person).get(reverse("admin:autocomplete"), {**query, "term": term}).json()["results"]
        return [row["text"] for row in rows]

    assert [found(owner, term) for term in ("mole", "Research", "hidden")] == [[], [], ["hidden"]]
    assert found(administrator, "mole") == ["hidden"]
