"""Who gets into an embedded chat, and who does not."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client
from django.utils import timezone
from joserfc import jwk, jwt

from accounts.models import AuditEvent
from accounts.people.leaving import person_leave
from accounts.scim.models import DirectoryEntry
from accounts.selectors import scope_for
from accounts.services import api_key_create
from accounts.sign_in.models import ExternalIdentity
from accounts.sign_in.sessions import sessions_end
from chat.embeds import sessions
from chat.embeds.services import embed_key_remove, embed_public_key_add, embed_save, embed_secret_add
from chat.embeds.sessions import session_visitor, sessions_expire
from chat.models import Conversation, Embed, EmbedSession, Message
from tests.chat.embeds.signing import HOST, claims_of, make_embed, token_for, unsigned
from tests.factories import make_tenant, make_user


def refusal(response) -> tuple[int, str]:
    return response.status_code, response.json().get("reason", "")


def test_the_person_whom_the_page_vouches_for_gets_a_session_of_limited_length(portal):
    response = portal.enter()

    entered = response.json()
    assert response.status_code == 201
    assert entered["session"].startswith("rse_")
    assert 3590 <= entered["seconds"] <= 3600
    assert entered["person_id"] == portal.reader.pk
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies
    scope = session_visitor(entered["session"]).scope
    assert (scope.user_id, scope.only_sets) == (portal.reader.pk, frozenset({portal.radio.pk}))  # not the closed one
    event = AuditEvent.objects.get(action="embed.enter")
    assert (event.actor_id, event.target, event.data) == (portal.reader.pk, "Portal", {"origin": HOST})
    assert not EmbedSession.objects.filter(digest=entered["session"]).exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"exp": int(time.time()) - 40, "iat": int(time.time()) - 90}, "expired"),
        ({"aud": "another"}, "audience"),
        ({"aud": None}, "claims"),
        ({"sub": None}, "claims"),
        ({"sub": ""}, "claims"),
        ({"sub": 7}, "claims"),
        ({"jti": None}, "claims"),
        ({"exp": None}, "claims"),
        ({"iat": None}, "claims"),
        ({"exp": float("nan")}, "claims"),
        ({"exp": float("inf")}, "claims"),
        ({"exp": True}, "claims"),
        ({"exp": int(time.time()) + 3600}, "long"),
        ({"iat": int(time.time()) + 3000, "exp": int(time.time()) + 3100}, "early"),
        ({"nbf": int(time.time()) + 3000}, "early"),
    ],
)
def test_a_token_with_a_claim_that_does_not_hold_is_refused(portal, change, reason):
    assert refusal(portal.enter(portal.token(**change))) == (403, reason)
    assert not EmbedSession.objects.exists()


def test_a_token_is_for_one_session(portal):
    token = portal.token()

    first, second = portal.enter(token), portal.enter(token)
    padded = portal.enter(token[:-1] + {"A": "B"}.get(token[-1], "A"))  # a signature that may decode to the same bytes

    assert first.status_code == 201
    assert refusal(second) == (403, "used")
    assert padded.status_code == 403


def test_a_token_stays_used_after_its_session_has_ended(portal):
    token = portal.token()
    bearer = portal.enter(token).json()["session"]
    address = f"/embed/{portal.embed.code}/leave"

    left = Client().post(address, headers={"authorization": f"Bearer {bearer}"})
    sessions_expire()

    assert left.status_code == 204
    assert portal.get("messages/00000000-0000-0000-0000-000000000001", bearer).status_code == 401
    assert refusal(portal.enter(token)) == (403, "used")


def test_tokens_of_others_are_refused(portal):
    other, secret = make_embed(portal.admin, portal.radio, name="Other")

    assert refusal(portal.enter(token_for(portal.embed, "x" * 43, portal.reader.username))) == (403, "signature")
    assert refusal(portal.enter(token_for(portal.embed, secret, portal.reader.username))) == (403, "signature")
    assert refusal(portal.enter(token_for(other, portal.secret, portal.reader.username))) == (403, "audience")
    assert refusal(portal.enter(unsigned(portal.embed, portal.reader.username))) == (403, "algorithm")


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "...", "e30.e30.", "bnVsbA.bnVsbA.aa", "é.é.é", "a" * 9000, "\0"])
def test_what_is_no_token_is_refused(portal, token):
    assert refusal(portal.enter(token)) == (403, "unreadable")


@pytest.mark.parametrize("body", ["", "[]", "null", "{", '{"token": 7}', '{"token": {"a": 1}, "origin": []}'])
def test_a_body_of_another_shape_is_refused(portal, body):
    address = f"/embed/{portal.embed.code}/session"

    response = Client().post(address, body, content_type="application/json")

    assert refusal(response) == (403, "unreadable")


def test_a_public_key_is_no_secret(portal):
    """Signing with HS256 and the public key as the secret: the key is for one algorithm, whatever the header says."""
    pair = jwk.RSAKey.generate_key(2048)
    pem = pair.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    scope = scope_for(portal.admin)
    portal.embed.keys.all().delete()
    key = embed_public_key_add(scope=scope, actor=portal.admin, row=portal.embed, algorithm="RS256", pem=pem)
    claims = claims_of(portal.embed, portal.reader.username)

    confused = token_for(portal.embed, pem.replace("PUBLIC", "P"), portal.reader.username)

    assert refusal(portal.enter(confused)) == (403, "algorithm")
    assert portal.enter(jwt.encode({"alg": "RS256"}, claims, pair)).status_code == 201
    assert EmbedSession.objects.get().key == key


@pytest.mark.parametrize(
    ("algorithm", "kind", "curve"), [("ES256", jwk.ECKey, "P-256"), ("EdDSA", jwk.OKPKey, "Ed25519")]
)
def test_keys_on_curves_sign_too(portal, algorithm, kind, curve):
    pair = kind.generate_key(curve)
    pem = pair.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    scope = scope_for(portal.admin)
    embed_public_key_add(scope=scope, actor=portal.admin, row=portal.embed, algorithm=algorithm, pem=pem)
    claims = claims_of(portal.embed, portal.reader.username)

    token = jwt.encode({"alg": algorithm}, claims, pair, algorithms=[algorithm])

    assert portal.enter(token).status_code == 201


def test_two_keys_are_valid_at_a_time_and_a_removed_one_ends_what_it_began(portal):
    scope, old = scope_for(portal.admin), portal.embed.keys.get()
    before = portal.bearer()
    _key, secret = embed_secret_add(scope=scope, actor=portal.admin, row=portal.embed)
    after = portal.enter(token_for(portal.embed, secret, portal.reader.username)).json()["session"]

    embed_key_remove(scope=scope, actor=portal.admin, row=portal.embed, key_id=old.pk)

    missing = "messages/00000000-0000-0000-0000-000000000001"
    assert portal.get(missing, before).status_code == 401
    assert portal.get(missing, after).status_code == 404
    assert refusal(portal.enter()) == (403, "signature")


def test_pages_of_origins_that_are_not_named_are_refused(portal):
    for origin in ("https://evil.example", "http://portal.example.com", f"{HOST}:8443", f"{HOST}/", "null", ""):
        assert refusal(portal.enter(origin=origin)) == (403, "origin")


def test_calls_of_pages_are_refused_even_with_a_token(portal):
    """The frame is a page of this site; a page around it, or any other, has no business at these addresses."""
    assert portal.enter(Origin=HOST).status_code == 403
    assert portal.enter(**{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert portal.enter(**{"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}).status_code == 201


def test_people_who_are_not_there_or_may_not_be_there_are_refused_alike(portal):
    gone = make_user(is_active=False)
    foreign = make_user(tenant=make_tenant())
    service = make_user(is_service=True, service_owner=portal.admin, password=None)

    for subject in ("nobody", gone.username, foreign.username, service.username, "x" * 256):
        assert refusal(portal.enter(portal.token(subject))) in ((403, "person"), (403, "claims"))


def test_who_may_read_none_of_the_sets_is_told_so(portal):
    portal.embed.sets.set([portal.closed])

    assert refusal(portal.enter()) == (403, "sets")
    assert portal.enter(portal.token(portal.admin.username)).status_code == 201  # owns it


def test_people_are_named_by_mail_or_by_a_directory(portal, settings):
    settings.OIDC_ISSUER = "https://id.example.com"
    DirectoryEntry.objects.create(user=portal.reader, external_id="e-77", modified=timezone.now())
    ExternalIdentity.objects.create(user=portal.reader, issuer="https://id.example.com", subject="s-77")
    ExternalIdentity.objects.create(user=portal.colleague, issuer="https://other.example.com", subject="s-78")
    cases = (("email", "Reader@Example.com"), ("directory", "e-77"), ("oidc", "s-77"))

    for kind, subject in cases:
        Embed.objects.update(subject=kind)
        assert portal.enter(portal.token(subject)).json()["person_id"] == portal.reader.pk
        assert refusal(portal.enter(portal.token(portal.reader.username))) == (403, "person")
    assert refusal(portal.enter(portal.token("s-78"))) == (403, "person")  # of another provider
    Embed.objects.update(subject="email")
    portal.colleague.email = "READER@example.com"
    portal.colleague.save()
    assert refusal(portal.enter(portal.token("reader@example.com"))) == (403, "person")  # two people


def test_a_session_ends_with_the_account_and_with_a_move_to_another_tenant(portal):
    missing = "messages/00000000-0000-0000-0000-000000000001"
    bearers = [portal.bearer() for _ in range(3)]

    sessions_end(user=portal.reader, actor=portal.admin)
    after_sign_out = [portal.get(missing, bearer).status_code for bearer in bearers]
    bearer = portal.bearer()
    portal.reader.tenant = make_tenant()
    portal.reader.save()
    moved = portal.get(missing, bearer).status_code
    portal.reader.tenant = portal.admin.tenant
    portal.reader.save()
    person_leave(user=portal.reader, actor=portal.admin)

    assert after_sign_out == [401, 401, 401]
    assert moved == 401
    assert portal.get(missing, bearer).status_code == 401
    assert EmbedSession.objects.filter(ended=None).count() == 0


def test_a_session_ends_by_itself_and_is_forgotten_later(portal):
    bearer = portal.bearer()
    EmbedSession.objects.update(expires=timezone.now() - timedelta(seconds=1))

    assert portal.get("messages/00000000-0000-0000-0000-000000000001", bearer).status_code == 401
    assert sessions_expire() == 0  # its token might still be valid
    EmbedSession.objects.update(created=timezone.now() - timedelta(hours=1))
    assert sessions_expire() == 1


def test_disabling_and_taking_an_origin_away_end_open_chats(portal):
    scope, missing = scope_for(portal.admin), "messages/00000000-0000-0000-0000-000000000001"
    bearer = portal.bearer()
    portal.embed.origins = ["https://new.example.com"]
    embed_save(scope=scope, actor=portal.admin, row=portal.embed, sets=[portal.radio])
    moved = portal.get(missing, bearer).status_code
    portal.embed.origins, portal.embed.is_active = [HOST], False
    embed_save(scope=scope, actor=portal.admin, row=portal.embed, sets=[portal.radio])

    assert moved == 401
    assert portal.enter().status_code == 404
    assert Client().get(f"/embed/{portal.embed.code}").status_code == 404


def test_the_bearer_opens_nothing_else_and_nothing_else_opens_the_chat(portal):
    bearer, client = portal.bearer(), Client()
    client.force_login(portal.reader)
    _key, key = api_key_create(user=portal.reader, name="k")
    missing = f"/embed/{portal.embed.code}/messages/00000000-0000-0000-0000-000000000001"
    headers = {"authorization": f"Bearer {bearer}"}

    for address in (
        "/api/v1/knowledge-sets",
        "/api/v1/rag/filters",
        "/v1/models",
        "/api/v1/documents",
        "/scim/v2/Users",
    ):
        assert Client().get(address, headers=headers).status_code == 401, address
    for address in ("/", "/profile", "/admin/", "/conversations", "/sets"):
        assert Client().get(address, headers=headers).status_code == 302, address
    assert client.get(missing).status_code == 401  # signed in on the site
    assert Client().get(missing, headers={"authorization": f"Bearer {key}"}).status_code == 401
    other, secret = make_embed(portal.admin, portal.radio, name="Other")
    assert Client().get(missing.replace(portal.embed.code, other.code), headers=headers).status_code == 401


def test_conversations_of_elsewhere_do_not_exist_in_the_chat(portal):
    bearer = portal.bearer()
    values = {"tenant": portal.reader.tenant, "user": portal.reader, "channel": "web"}
    here = Conversation.objects.create(**values, embed=portal.embed, goes_on_in_embed=True)
    rows = [
        Conversation.objects.create(**values),
        Conversation.objects.create(**values, embed=portal.embed),  # went on elsewhere
        Conversation.objects.create(**{**values, "user": portal.colleague}, embed=portal.embed, goes_on_in_embed=True),
    ]
    messages = [Message.objects.create(conversation=row, question="q", state="done") for row in (here, *rows)]

    conversations = [portal.get(f"conversations/{row.pk}", bearer).status_code for row in (here, *rows)]
    turns = [portal.get(f"messages/{row.pk}", bearer).status_code for row in messages]

    assert conversations == turns == [200, 404, 404, 404]


def test_refusals_are_limited_and_tell_the_administrator_the_last_reason(portal, monkeypatch):
    monkeypatch.setattr(sessions, "REFUSALS_PER_MINUTE", 3)

    statuses = [portal.enter("x").status_code for _ in range(4)]
    entered = portal.enter()

    assert statuses == [403, 403, 403, 429]
    assert int(portal.enter("x")["Retry-After"]) >= 1
    assert entered.status_code == 201  # colleagues behind the same address are not kept out
    portal.embed.refresh_from_db()
    assert portal.embed.last_reason == "unreadable"


def test_a_new_session_of_the_frame_ends_the_former(portal):
    bearer = portal.bearer()

    renewed = portal.enter(bearer=bearer)

    assert renewed.status_code == 201
    missing = "messages/00000000-0000-0000-0000-000000000001"
    assert portal.get(missing, bearer).status_code == 401
    assert portal.get(missing, renewed.json()["session"]).status_code == 404


def test_errors_are_in_the_language_of_the_frame(portal):
    response = portal.enter("x", **{"Accept-Language": "zh-hans"})

    assert json.loads(response.content)["message"] != portal.enter("x").json()["message"]
