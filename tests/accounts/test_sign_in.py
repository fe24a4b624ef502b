"""Signing in step by step, and ending sessions."""

from __future__ import annotations

import re
import time
from urllib.parse import urlencode

import pytest
from django.test import Client
from django_otp.oath import TOTP

from accounts.models import AuditEvent, User
from accounts.sign_in.models import AuthenticatorApp, BrowserSession, RecoveryCodes
from accounts.sign_in.second_factor import second_factor_begin, second_factor_confirm
from accounts.sign_in.throttle import FREE_NAME
from tests.factories import make_admin, make_user

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_earlier_attempts(redis_client):
    """Counts of other tests stand in Redis."""


def code_of(user: User, *, step: int = 0, confirmed: bool = True) -> str:
    device = AuthenticatorApp.objects.get(user=user, confirmed=confirmed)
    totp = TOTP(device.bin_key)
    totp.time = time.time() + 30 * step
    return f"{totp.token():06}"


def sign_in(client: Client, user: User, password: str = PASSWORD, **options):
    return client.post("/sign-in", {"username": user.username, "password": password}, **options)


def is_signed_in(client: Client) -> bool:
    return client.get("/profile").status_code == 200


def with_app(user: User) -> list[str]:
    second_factor_begin(user)
    codes = second_factor_confirm(user=user, code=code_of(user, confirmed=False, step=-1))
    assert codes
    return codes


def test_guessing_is_slowed_down_but_not_in_the_owners_browser(client):
    user, own = make_user("mei"), Client()
    sign_in(own, user)
    own.post("/sign-out")

    for _ in range(FREE_NAME):
        assert sign_in(client, user, "wrong").status_code == 200
    refused = sign_in(client, user)  # the right password is not even looked at

    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert "Too many attempts" in refused.content.decode()
    assert not is_signed_in(client)
    assert sign_in(own, user).status_code == 302
    assert is_signed_in(own)


def test_names_that_nobody_has_are_slowed_down_alike(client):
    answers = [client.post("/sign-in", {"username": "nobody", "password": "x"}) for _ in range(FREE_NAME + 1)]

    assert [answer.status_code for answer in answers] == [200] * FREE_NAME + [429]


def test_a_given_password_is_changed_before_anything_else(client):
    user = make_user("mei", must_change_password=True)

    assert sign_in(client, user)["Location"] == "/sign-in/password"
    assert not is_signed_in(client)
    refused = [
        client.post("/sign-in/password", {"new_password1": new, "new_password2": new})
        for new in (PASSWORD, "short", "1234567890123", "password123")
    ]
    done = client.post("/sign-in/password", {"new_password1": "quiet river 9", "new_password2": "quiet river 9"})

    assert [answer.status_code for answer in refused] == [200] * 4
    assert done["Location"] == "/"
    assert is_signed_in(client)
    assert sign_in(Client(), user, "quiet river 9")["Location"] == "/"


def test_half_a_sign_in_ends_when_the_password_is_changed_elsewhere(client):
    user = make_user("mei", must_change_password=True)
    sign_in(client, user)
    user.set_password("another one altogether")
    user.save()

    answer = client.post("/sign-in/password", {"new_password1": "quiet river 9", "new_password2": "quiet river 9"})

    assert answer["Location"] == "/sign-in"
    assert User.objects.get(pk=user.pk).check_password("another one altogether")


def test_the_second_factor_is_asked_for_and_each_code_counts_once(client):
    user = make_user("mei")
    with_app(user)
    code = code_of(user)

    assert sign_in(client, user)["Location"] == "/sign-in/code"
    assert not is_signed_in(client)
    assert "not valid" in client.post("/sign-in/code", {"code": "000000"}).content.decode()
    assert client.post("/sign-in/code", {"code": code})["Location"] == "/"
    other = Client()
    sign_in(other, user)
    assert other.post("/sign-in/code", {"code": code}).status_code == 200
    assert not is_signed_in(other)


def test_a_recovery_code_signs_in_once(client):
    user = make_user("mei")
    codes = with_app(user)
    tries = []
    for _ in range(2):
        client = Client()
        sign_in(client, user)
        tries.append(client.post("/sign-in/code", {"code": codes[0].upper()}).status_code)

    assert tries == [302, 200]
    assert AuditEvent.objects.filter(action="second_factor.recovery").count() == 1


def test_the_database_alone_has_neither_secret_nor_codes():
    user = make_user("mei")
    codes = with_app(user)
    device = AuthenticatorApp.objects.get(user=user)

    assert device.bin_key.hex() not in device.key
    stored = set(RecoveryCodes.objects.get(user=user).token_set.values_list("token", flat=True))
    assert not stored & {code.replace("-", "") for code in codes}


def test_codes_cannot_be_guessed_in_a_hurry(client):
    user = make_user("mei")
    with_app(user)
    sign_in(client, user)

    answers = [client.post("/sign-in/code", {"code": f"{n:06}"}).status_code for n in range(FREE_NAME + 1)]

    assert answers == [200] * FREE_NAME + [429]


def test_staff_set_up_a_second_factor_where_the_site_wants_it(client, settings):
    admin, employee = make_admin("root"), make_user("mei")
    sign_in(client, admin)
    assert is_signed_in(client)
    settings.REQUIRE_TOTP = True

    assert not is_signed_in(client)  # signed in before it was wanted
    assert sign_in(client, admin)["Location"] == "/sign-in/second-factor"
    page = client.get("/sign-in/second-factor").content.decode()
    assert "<svg" in page
    done = client.post("/sign-in/second-factor", {"code": code_of(admin, confirmed=False)}).content.decode()
    assert len(re.findall(r"<li><code>", done)) == 10
    assert is_signed_in(client)
    assert client.post("/profile/second-factor/change", {"code": "x", "remove": ""}).status_code == 302
    assert AuthenticatorApp.objects.filter(user=admin, confirmed=True).exists()
    assert sign_in(Client(), employee)["Location"] == "/"


def test_steps_cannot_be_taken_out_of_turn(client):
    user = make_user("mei", must_change_password=True)
    with_app(user)
    for path in ("code", "password", "second-factor"):
        assert client.get(f"/sign-in/{path}")["Location"] == "/sign-in"
    sign_in(client, user)

    assert client.get("/sign-in/password")["Location"] == "/sign-in/code"
    new = {"new_password1": "quiet river 9", "new_password2": "quiet river 9"}
    assert client.post("/sign-in/password", new)["Location"] == "/sign-in/code"
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_places_are_listed_and_ended_by_their_owner_only(client):
    user, other, phone, stranger = make_user("mei"), make_user("li"), Client(), Client()
    sign_in(client, user)
    sign_in(phone, user, headers={"user-agent": "Mozilla/5.0 (iPhone) AppleWebKit Version/18 Safari/604.1"})
    sign_in(stranger, other)
    page = client.get("/profile").content.decode()
    reference = BrowserSession.objects.get(user=user, agent__contains="iPhone").reference

    assert "Safari · iPhone" in page
    assert "This browser" in page
    assert phone.session.session_key not in page
    assert stranger.post(f"/profile/sessions/{reference}/end").status_code == 404
    assert is_signed_in(phone)
    client.post(f"/profile/sessions/{reference}/end")
    assert not is_signed_in(phone)
    assert is_signed_in(client)


def test_changing_the_password_ends_all_other_sessions(client):
    user, phone = make_user("mei"), Client()
    sign_in(client, user)
    sign_in(phone, user)
    new = {"new_password1": "quiet river 9", "new_password2": "quiet river 9"}

    assert client.post("/profile/password", {"old_password": "wrong", **new}).status_code == 200
    assert client.post("/profile/password", {"old_password": PASSWORD, **new}).status_code == 302
    assert is_signed_in(client)
    assert not is_signed_in(phone)
    assert BrowserSession.objects.filter(user=user).count() == 1


def test_administrators_end_sessions_by_deactivating_or_giving_a_password(client):
    user, root = make_user("mei"), Client()
    root.force_login(make_admin("root"))
    sign_in(client, user)
    data = {"usable_password": "true", "password1": "given for a day", "password2": "given for a day"}

    root.post(f"/admin/accounts/user/{user.pk}/password/", data)

    assert not is_signed_in(client)
    assert sign_in(client, user, "given for a day")["Location"] == "/sign-in/password"
    new = {"new_password1": "quiet river 9", "new_password2": "quiet river 9"}
    client.post("/sign-in/password", new)
    assert is_signed_in(client)
    root.post("/admin/accounts/user/", {"action": "end_sessions", "_selected_action": [user.pk]})
    assert not is_signed_in(client)


def test_signing_in_is_recorded_and_failing_too(client):
    user = make_user("mei")
    sign_in(client, user, "wrong")
    sign_in(client, user)
    client.post("/sign-out")

    events = AuditEvent.objects.filter(target="mei").order_by("pk")
    assert [event.action for event in events] == ["sign_in.fail", "sign_in.done", "sign_in.out"]
    assert PASSWORD not in str([event.data for event in events])


@pytest.mark.parametrize("name", ["mei\x00", "\x00", "mei\ud83d", "a" * 300, "中\u202emei"])
def test_a_name_that_no_account_can_have_is_refused_as_any_other(client, name):
    make_user("mei")

    form = urlencode({"username": name, "password": PASSWORD}, errors="surrogatepass")
    answer = client.post("/sign-in", form, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 200
    assert not is_signed_in(client)
