"""The pages of the administrators: origins, keys that are shown once, samples, preview."""

from __future__ import annotations

import re

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.urls import reverse

from accounts.errors import MissingRightError
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.embeds.errors import EmbedSettingsError
from chat.embeds.origins import origin_parse
from chat.embeds.services import embed_secret_add
from chat.models import Embed, EmbedKey, EmbedSession
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_set, make_tenant, make_user

FORM = {
    "name": "Portal",
    "is_active": "on",
    "origins": "https://Portal.example.com/\nhttp://localhost:3000\n",
    "subject": "username",
    "token_seconds": "300",
    "session_minutes": "60",
    "theme": "auto",
    "language": "auto",
    "position": "right",
}


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://Portal.Example.com", "https://portal.example.com"),
        ("https://portal.example.com:443/", "https://portal.example.com"),
        ("https://portal.example.com:8443", "https://portal.example.com:8443"),
        ("https://门户.example.com", "https://xn--zoup46i.example.com"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://10.0.0.7", "http://10.0.0.7"),
    ],
)
def test_an_origin_has_one_form(text, origin):
    assert origin_parse(text) == origin


@pytest.mark.parametrize(
    "text",
    [
        *("portal.example.com", "https://", "https://*.example.com", "https://a.com/path", "https://a.com?x", "*"),
        *("https://u@a.com", "javascript:alert(1)", "https://a.com; script-src *", "https://a.com https://b.com"),
        *("https://a.com,https://b.com", "http://portal.example.com", "http://8.8.8.8", "null", "https://a.com:99999"),
        *(
            "https://a.com#x",
            "https://a\u2028.com",
            "https://[::1",
            "http://[::1]:80",
            "'self'",
            "https:",
            "https://a..com",
            "file:///x",
        ),
    ],
)
def test_what_is_no_origin_or_not_encrypted_is_refused(text):
    with pytest.raises(EmbedSettingsError):
        origin_parse(text)


@pytest.fixture
def admin(db):
    return make_admin()


@pytest.fixture
def embed(admin):
    row = Embed.objects.create(tenant=admin.tenant, name="Portal", origins=["https://portal.example.com"])
    row.sets.add(make_set("radio", owners=[admin]))
    return row


def page(row: Embed) -> str:
    return reverse("admin:chat_embed_setup", args=[row.pk])


def pem_of(key) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_an_administrator_adds_a_chat_and_a_secret_is_shown_once(admin):
    knowledge_set, client = make_set("radio", owners=[admin]), signed_in(admin)

    added = client.post(
        reverse("admin:chat_embed_add"), {**FORM, "tenant": admin.tenant_id, "sets": [knowledge_set.pk], "_save": "1"}
    )
    row = Embed.objects.get()
    made = client.post(page(row), {"act": "secret"}, follow=True).content.decode()
    secret = re.search(r'id="new-secret">([^<]+)<', made)[1]
    again = client.get(page(row)).content.decode()

    assert added.url == page(row)
    assert row.origins == ["https://portal.example.com", "http://localhost:3000"]
    assert list(row.sets.all()) == [knowledge_set]
    assert len(secret) == 43
    assert secret not in again
    assert secret not in EmbedKey.objects.get().sealed
    assert f"data-embed=&quot;{row.code}&quot;" in again
    assert f"&quot;{row.code}&quot;" in again
    actions = set(AuditEvent.objects.filter(action__startswith="embed.").values_list("action", flat=True))
    assert actions == {"embed.create", "embed.key_add"}
    assert secret not in str(list(AuditEvent.objects.values_list("data", flat=True)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"origins": "http://portal.example.com"}, "origins"),
        ({"origins": ""}, "origins"),
        ({"origins": "\n".join(f"https://p{n}.example.com" for n in range(21))}, "origins"),
        ({"token_seconds": "3600"}, "token_seconds"),
        ({"session_minutes": "1000"}, "session_minutes"),
        ({"sets": []}, "sets"),
        ({"name": ""}, "name"),
    ],
)
def test_bad_settings_are_told_beside_their_fields(admin, change, field):
    values = {**FORM, "tenant": admin.tenant_id, "sets": [make_set("radio", owners=[admin]).pk], **change}

    response = signed_in(admin).post(reverse("admin:chat_embed_add"), values)

    assert field in response.context["adminform"].form.errors
    assert not Embed.objects.exists()


def test_a_name_is_there_once_and_sets_are_of_the_same_tenant(admin, embed):
    foreign = make_set("foreign", tenant=make_tenant())
    values = {**FORM, "tenant": admin.tenant_id, "sets": [foreign.pk]}

    response = signed_in(admin).post(reverse("admin:chat_embed_add"), values)

    assert {"name", "sets"} <= set(response.context["adminform"].form.errors)


def test_two_keys_at_a_time_public_ones_too(admin, embed):
    client = signed_in(admin)
    first = rsa.generate_private_key(65537, 2048)

    client.post(page(embed), {"act": "public", "algorithm": "RS256", "pem": pem_of(first)})
    twice = client.post(page(embed), {"act": "public", "algorithm": "RS256", "pem": pem_of(first)}, follow=True)
    client.post(page(embed), {"act": "secret"})
    third = client.post(page(embed), {"act": "secret"}, follow=True).content.decode()
    key = embed.keys.get(algorithm="RS256")
    client.post(page(embed), {"act": "remove", "key": key.pk})

    assert "has this key already" in twice.content.decode()
    assert "two keys at most" in third
    assert list(embed.keys.values_list("algorithm", flat=True)) == ["HS256"]


def test_what_is_no_public_key_of_its_algorithm_is_refused(admin, embed):
    client = signed_in(admin)
    pair = ec.generate_private_key(ec.SECP256R1())
    private = pair.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    small = rsa.generate_private_key(65537, 1024)
    cases = [
        ("ES256", private, "private key"),
        ("RS256", pem_of(pair), "not a public key for RS256"),
        ("EdDSA", pem_of(pair), "not a public key for EdDSA"),
        ("ES256", pem_of(ec.generate_private_key(ec.SECP384R1())), "not a public key for ES256"),
        ("RS256", pem_of(small), "at least 2048 bits"),
        ("RS256", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "not a public key"),
        ("HS256", "x", "not a public key"),
        ("none", "\0", "not a public key"),
    ]

    for algorithm, pem, words in cases:
        sent = {"act": "public", "algorithm": algorithm, "pem": pem}
        response = client.post(page(embed), sent, follow=True)
        assert response.status_code == 400 or words in response.content.decode(), (algorithm, words)
    assert not embed.keys.exists()


def test_only_administrators_of_the_tenant_manage_chats(admin, embed):
    owner = make_user(is_staff=True)
    embed.sets.get().owners.add(owner)
    elsewhere = make_admin(tenant=make_tenant())

    for user, status in ((owner, 403), (make_user(), 302), (elsewhere, 404)):
        assert signed_in(user).get(page(embed)).status_code == status
        assert signed_in(user).post(page(embed), {"act": "secret"}).status_code == status
    for user in (owner, elsewhere):
        with pytest.raises(MissingRightError):
            embed_secret_add(scope=scope_for(user), actor=user, row=embed)
    assert not embed.keys.exists()


def test_an_administrator_tries_a_chat_as_themselves_without_a_key(admin, embed):
    client = signed_in(admin)
    address = reverse("admin:chat_embed_preview_token", args=[embed.pk])
    token, session = client.get(address).json()["token"], f"/embed/{embed.code}/session"

    def enter(origin: str) -> int:
        return client.post(session, {"token": token, "origin": origin}, content_type="application/json").status_code

    assert enter("https://portal.example.com") == 403  # a preview is shown on this site only
    assert enter("http://testserver") == 201
    assert EmbedSession.objects.get().user == admin
    assert enter("http://testserver") == 403  # used
    assert signed_in(make_admin(tenant=make_tenant())).get(address).status_code == 404


def test_removing_a_chat_leaves_the_conversations(admin, embed):
    reader = make_user()
    row = reader.conversations.create(tenant=reader.tenant, channel="web", embed=embed, title="Kept")

    signed_in(admin).post(reverse("admin:chat_embed_delete", args=[embed.pk]), {"post": "yes"})

    row.refresh_from_db()
    assert (row.title, row.embed_id) == ("Kept", None)
    assert AuditEvent.objects.filter(action="embed.delete").exists()


def test_the_mark_stands_beside_the_conversation_in_the_side_bar(admin, embed):
    reader = make_user()
    reader.conversations.create(tenant=reader.tenant, channel="web", embed=embed, title="Asked there")

    html = signed_in(reader).get("/").content.decode()

    assert '<span class="side-mark" title="Began on another page: Portal">' in html
