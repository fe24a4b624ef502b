"""Signing in at an OpenID provider that runs in this process."""

from __future__ import annotations

import base64
import json
import time

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from accounts.models import AuditEvent, User
from accounts.sign_in.oidc import LEEWAY_SECONDS
from tests.accounts.openid_provider import CLIENT, SECRET, openid_provider
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def running():
    with openid_provider() as provider:
        yield provider


@pytest.fixture
def provider(running, settings):
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = running.issuer, CLIENT, SECRET
    running.person = {"sub": "s-1", "preferred_username": "mei", "email": "mei@example.org"}
    running.claims, running.userinfo, running.sign = {}, {}, None
    return running


def come_back(client: Client, provider, path: str = "/sign-in/oidc"):
    there = client.get(path)["Location"]
    assert there.startswith(f"{provider.issuer}/authorize?")
    return client.get(provider.authorize(there))


def unsigned(claims):
    header = {"alg": "none", "kid": "one"}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims)]
    return ".".join([*parts, ""])


def test_a_new_person_is_made_and_known_again_under_another_name(client, provider):
    provider.claims = {"groups": ["core", "radio"], "department": "Radio", "clearance": 4, "is_staff": True}
    first = come_back(client, provider, "/sign-in/oidc?next=/profile")
    provider.person["preferred_username"] = "mei.chen"
    provider.claims = {"groups": ["core"]}
    again = come_back(Client(), provider)

    mei = User.objects.get(identities__subject="s-1")
    assert (first["Location"], again["Location"]) == ("/profile", "/")
    assert client.get("/profile").status_code == 200
    assert (mei.username, mei.department, mei.clearance, mei.is_staff) == ("mei", "Radio", 0, False)
    assert list(mei.user_groups.values_list("name", flat=True)) == ["core"]
    assert not mei.has_usable_password()
    assert User.objects.count() == 1


def test_what_the_token_leaves_out_comes_from_userinfo(client, provider):
    del provider.person["preferred_username"]
    provider.userinfo = {"preferred_username": "mei", "groups": ["core"]}

    come_back(client, provider)

    assert [group.name for group in User.objects.get(username="mei").user_groups.all()] == ["core"]


FAULTS = {
    "alg none": lambda p: setattr(p, "sign", unsigned),
    "signed with the public key as a secret": lambda p: setattr(
        p, "sign", lambda c: jwt.encode({"alg": "HS256"}, c, OctKey.import_key(p.key.as_pem(private=False)))
    ),
    "signed with the client's secret": lambda p: setattr(
        p, "sign", lambda c: jwt.encode({"alg": "HS256"}, c, OctKey.import_key(SECRET))
    ),
    "a foreign key": lambda p: setattr(
        p, "sign", lambda c: jwt.encode({"alg": "RS256", "kid": "one"}, c, RSAKey.generate_key(2048))
    ),
    "a foreign issuer": lambda p: p.claims.update(iss="https://evil.example.org"),
    "for another client": lambda p: p.claims.update(aud="another"),
    "a nonce of another sign-in": lambda p: p.claims.update(nonce="replayed"),
    "without a nonce": lambda p: p.claims.update(nonce=None),
    "expired": lambda p: p.claims.update(exp=int(time.time()) - LEEWAY_SECONDS - 5),
    "from the future": lambda p: p.claims.update(iat=int(time.time()) + LEEWAY_SECONDS + 60),
    "nobody": lambda p: p.claims.update(sub=""),
    "no token": lambda p: setattr(p, "sign", lambda c: "not.a.token"),
    "userinfo of somebody else": lambda p: (p.person.pop("email"), p.userinfo.update(sub="s-2")),
    "no usable name": lambda p: p.claims.update(preferred_username="a b\n"),
}


@pytest.mark.every_row
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_tokens_sign_nobody_in(client, provider, fault):
    FAULTS[fault](provider)

    answer = come_back(client, provider)

    assert answer.status_code == 403
    assert 'role="alert"' in answer.content.decode()
    assert client.get("/profile").status_code == 302
    assert not User.objects.exists()
    assert AuditEvent.objects.get().action == "sign_in.fail"


def test_clocks_may_differ_a_little(client, provider):
    now = int(time.time())
    provider.claims = {"iat": now + LEEWAY_SECONDS - 10, "nbf": now + LEEWAY_SECONDS - 10}
    assert come_back(client, provider).status_code == 302
    provider.claims = {"iat": now - 600, "exp": now - LEEWAY_SECONDS + 10}
    assert come_back(Client(), provider).status_code == 302


def test_an_answer_counts_once_and_only_in_the_browser_that_asked(client, provider):
    back = provider.authorize(client.get("/sign-in/oidc")["Location"])

    assert Client().get(back).status_code == 403
    assert client.get(back).status_code == 302
    assert client.get(back).status_code == 403
    assert client.get("/sign-in/oidc/callback?error=access_denied").status_code == 403


def test_a_provider_that_calls_itself_another_issuer_is_not_used(client, provider, settings):
    settings.OIDC_ISSUER = provider.issuer.replace("127.0.0.1", "localhost")

    assert client.get("/sign-in/oidc").status_code == 403


def test_an_account_of_the_same_name_is_not_taken_over(client, provider, settings):
    admin = make_user("mei", is_staff=True, is_superuser=True)

    for link in (False, True):
        settings.OIDC_LINK_USERS = link
        assert come_back(Client(), provider).status_code == 403
    admin.is_staff = admin.is_superuser = False
    admin.save()
    assert come_back(client, provider).status_code == 302
    assert User.objects.get().identities.get().subject == "s-1"


def test_who_is_inactive_or_unknown_stays_outside(client, provider, settings):
    settings.OIDC_CREATE_USERS = False
    assert come_back(client, provider).status_code == 403
    settings.OIDC_CREATE_USERS = True
    come_back(client, provider)
    User.objects.update(is_active=False)
    provider.claims = {"active": True}

    assert come_back(Client(), provider).status_code == 403


def test_a_provider_that_asked_for_a_second_factor_spares_ours(provider, settings):
    settings.REQUIRE_TOTP = True
    come_back(Client(), provider)
    User.objects.update(is_staff=True)

    assert come_back(Client(), provider)["Location"] == "/sign-in/second-factor"
    provider.claims = {"amr": ["pwd", "mfa"]}
    assert come_back(Client(), provider)["Location"] == "/"
