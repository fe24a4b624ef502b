"""Sign-in and a person's own page."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from accounts.models import ApiKey, User
from accounts.selectors import api_key_get
from tests.factories import make_set, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return make_user("mei")


@pytest.fixture
def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def no_earlier_attempts(redis_client):
    """Counts of other tests stand in Redis."""


def test_signing_in_leads_to_the_page_that_was_wanted(user):
    response = Client().post("/sign-in?next=/profile", {"username": "mei", "password": "correct horse battery"})

    assert response["Location"] == "/profile"


def test_signing_in_never_leads_to_another_site(user):
    address = "/sign-in?next=https://example.org/"

    response = Client().post(address, {"username": "mei", "password": "correct horse battery"})

    assert response["Location"] == "/"


def test_a_wrong_password_is_said_and_the_name_kept(user):
    page = Client().post("/sign-in", {"username": "mei", "password": "wrong"}).content.decode()

    assert 'role="alert"' in page
    assert 'value="mei"' in page


def test_signing_out_needs_a_form(browser):
    assert browser.get("/sign-out").status_code == 405
    assert browser.post("/sign-out").status_code == 302
    assert browser.get("/profile").status_code == 302


def test_interests_may_be_separated_by_commas_of_any_script(browser, user):
    browser.post("/profile", {"department": "R&D", "interests": "N4，切换、 timer , N4"})

    user.refresh_from_db()
    assert (user.department, user.interests) == ("R&D", ["N4", "切换", "timer"])


def test_the_profile_form_cannot_raise_rights(browser, user):
    browser.post("/profile", {"department": "x", "clearance": "4", "is_staff": "on", "is_superuser": "on"})

    before = (user.clearance, user.is_staff, user.is_superuser)
    user.refresh_from_db()
    assert (user.clearance, user.is_staff, user.is_superuser) == before


def test_a_new_key_is_shown_once_and_works(browser, user):
    form = {"name": "script", "scopes": ["ask", "read"], "expires": "0"}
    said = browser.post("/profile/keys", form)
    assert (said.status_code, said["Location"]) == (302, "/profile#new-key")  # a reload makes no other key
    page = browser.get("/profile").content.decode()
    secret = re.search(r'id="secret">([^<]+)<', page)[1]

    assert (api_key_get(secret).user, api_key_get(secret).scopes) == (user, ["ask", "read"])
    assert secret not in browser.get("/profile").content.decode()
    assert ApiKey.objects.count() == 1


def test_a_new_key_is_shown_in_the_browser_that_made_it_only(browser, user):
    other = Client()
    other.force_login(user)
    browser.post("/profile/keys", {"name": "script", "scopes": ["read"], "expires": "0"})

    assert 'id="secret"' not in other.get("/profile").content.decode()
    assert 'id="secret"' in browser.get("/profile").content.decode()


def test_the_scope_for_making_keys_is_not_offered_to_employees(browser, user):
    refused = browser.post("/profile/keys", {"name": "script", "scopes": ["keys"], "expires": "0"})

    assert "scopes" in refused.context["key_form"].errors
    assert not ApiKey.objects.exists()


def test_only_the_owner_revokes_a_key(browser, user):
    other, own = (ApiKey.objects.create(user=u, name="k", prefix="rs_", digest=u.username) for u in (make_user(), user))

    refused = browser.post(f"/profile/keys/{other.pk}/revoke")
    browser.post(f"/profile/keys/{own.pk}/revoke")

    assert refused.status_code == 404
    assert ApiKey.objects.get(pk=other.pk).revoked is None
    assert ApiKey.objects.get(pk=own.pk).revoked is not None


def test_the_profile_stops_ordering_results_when_its_owner_says_so(browser, user):
    page = browser.get("/profile").content.decode()
    assert re.search(r'<input[^>]+name="use_profile"[^>]+checked', page)
    assert "If off, everyone with the same access gets the same order." in page

    browser.post("/profile", {"department": "R&D", "interests": ""})
    user.refresh_from_db()
    assert user.use_profile is False

    browser.post("/profile", {"department": "R&D", "interests": "", "use_profile": "on"})
    user.refresh_from_db()
    assert user.use_profile is True


def test_a_key_begins_with_the_least_scopes_and_offers_what_the_role_can_use(browser, user):
    def boxes():
        page = browser.get("/profile").content.decode()
        tags = re.findall(r'<input type="checkbox" name="scopes"[^>]*>', page)
        return {re.search(r'value="(\w+)"', tag)[1]: " checked" in tag for tag in tags}

    assert boxes() == {"ask": True, "read": True, "write": False}

    make_set("radio", owners=[user])
    assert boxes() == {"ask": True, "read": True, "write": False, "manage": False}

    user.is_staff = user.is_superuser = True
    user.save()
    everyday = {"ask": True, "read": True, "write": False, "manage": False}
    assert boxes() == {**everyday, "keys": False, "directory": False}
