"""API keys: scopes on every route, expiry, rate, who makes keys; service accounts."""

from __future__ import annotations

import uuid
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.key_scopes import ALL_SCOPES, EVERYDAY_SCOPES, KeyScope
from accounts.models import ApiKey, AuditEvent, User
from accounts.rest import ResourceViewSet
from accounts.services import api_key_create, user_create
from chat.mcp.server import mcp_server
from chat.mcp.tools import Tools, caller_of_fixed_key
from knowledge.api import WebhookViewSet
from ragsite.openapi import METHODS, merged_schema
from ragsite.rest import rest_router
from ragsite.route_scopes import route_scopes, tool_scopes
from tests.api.world import error_of
from tests.factories import make_admin, make_user

KEYS = "/api/v1/api-keys"
VALUES = {"message_id": str(uuid.UUID(int=1)), "name": "ragsite"}
SIGNED = "/api/v1/webhooks/"


def client_with(key: str) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def key_of(user: User, *scopes: KeyScope, **values: Any) -> APIClient:
    return client_with(api_key_create(user=user, name="k", scopes=scopes or ALL_SCOPES, **values)[1])


# ── scopes ────────────────────────────────────────────────────────────────────────────────────────


def test_every_route_and_tool_declares_the_scope_that_it_needs():
    routes = route_scopes()

    assert [route for route in routes if route.scope not in KeyScope] == []
    undeclared = [p.callback.cls for p in rest_router().urls if not issubclass(p.callback.cls, ResourceViewSet)]
    assert set(undeclared) == {WebhookViewSet}
    documented = {
        (method.upper(), path)
        for path, methods in merged_schema()["paths"].items()
        for method in methods
        if method in METHODS and not path.startswith(SIGNED)
    }
    assert {(route.method, route.path) for route in routes} == documented
    assert set(tool_scopes()) == {tool.name for tool in mcp_server(caller_of_fixed_key("x"))._tool_manager.list_tools()}


def filled(path: str) -> str:
    parts = path.split("{")
    return parts[0] + "".join(
        VALUES.get(name, "1") + rest for name, _, rest in (part.partition("}") for part in parts[1:])
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scope", [pytest.param(s, id=str(s)) for s in KeyScope])
def test_a_key_opens_the_routes_of_its_scope_and_no_others(scope):
    client = key_of(make_admin(), scope)

    for route in route_scopes():
        send = getattr(client, route.method.lower())
        body = {} if route.method == "GET" else {"data": "{", "content_type": "application/json"}
        response = send(filled(route.path), **body)

        is_refused = response.status_code == 403 and error_of(response)["code"] == "missing_scope"
        assert is_refused == (route.scope != scope), (route, response.status_code)


@pytest.mark.django_db(transaction=True)
async def test_tools_of_agents_need_their_scopes_too():
    from chat.concurrency.executors import run_db

    user = await run_db(make_user)
    key = (await run_db(api_key_create, user=user, name="k", scopes=[KeyScope.READ]))[1]
    tools: Any = Tools(caller_of_fixed_key(key))

    refused = [await call(None, "x") for call in (tools.search, tools.answer)] + [await tools.list_sets(None)]
    opened = await tools.fetch_source(None, document_id=1)

    assert ["does not have the scope 'ask'" in str(one) for one in refused] == [True, True, True]
    assert "not_found" in str(opened)


def test_a_route_that_forgets_its_scope_is_closed_to_keys(world, monkeypatch):
    from knowledge.api import KnowledgeSetViewSet

    monkeypatch.setattr(KnowledgeSetViewSet, "key_scopes", {})
    browser = Client()
    browser.force_login(world.root)

    assert key_of(world.root).get("/api/v1/knowledge-sets").status_code == 403
    assert browser.get("/api/v1/knowledge-sets").status_code == 200


# ── who makes keys ──────────────────────────────────────────────────────────────────────────────


def test_only_a_key_with_the_scope_for_it_makes_keys(world):
    refused = key_of(world.root, *EVERYDAY_SCOPES).post(KEYS, {"name": "more"})
    made = key_of(world.root).post(KEYS, {"username": "bob", "name": "more"})

    assert (refused.status_code, error_of(refused)["code"]) == (403, "missing_scope")
    assert made.status_code == 201
    assert made.json()["scopes"] == [scope.value for scope in EVERYDAY_SCOPES]
    assert client_with(made.json()["key"]).post(KEYS, {"username": "bob", "name": "k"}).status_code == 403


def test_only_administrators_give_the_scope_that_makes_keys(world):
    body = {"username": "alice", "name": "k", "scopes": ["keys"]}
    browser = APIClient(raise_request_exception=False)
    browser.force_login(world.alice)

    for client in (key_of(world.alice), browser):
        assert error_of(client.post(KEYS, body))["code"] == "missing_right"
    assert key_of(world.root).post(KEYS, body).json()["scopes"] == ["keys"]


def test_a_key_makes_no_stronger_and_no_longer_lived_key_than_itself(world):
    tomorrow = timezone.now() + timedelta(days=1)
    client = key_of(world.root, KeyScope.READ, KeyScope.KEYS, expires=tomorrow)

    stronger = client.post(KEYS, {"username": "bob", "name": "k", "scopes": ["write"]})
    usual = client.post(KEYS, {"username": "bob", "name": "k"})

    assert (stronger.status_code, error_of(stronger)["code"]) == (403, "missing_scope")
    assert usual.json()["scopes"] == ["read"]
    assert ApiKey.objects.get(pk=usual.json()["id"]).expires == tomorrow


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"scopes": []}, "invalid"),
        ({"scopes": ["all"]}, "invalid"),
        ({"expires": "2001-01-01T00:00:00Z"}, "invalid_key"),
        ({"requests_per_minute": 0}, "invalid"),
    ],
)
def test_impossible_keys_are_refused(root, change, code):
    response = root.post(KEYS, {"username": "bob", "name": "k", **change})

    assert (response.status_code, error_of(response)["code"]) == (422, code)


def test_the_command_gives_all_that_the_user_may_unless_scopes_are_named(world, capsys):
    def command(*arguments: str) -> ApiKey:
        call_command("api_key", "create", "--name", "k", *arguments)
        assert capsys.readouterr().out.splitlines()[-1].startswith("rs_")
        return ApiKey.objects.order_by("pk").last()

    assert command("--user", "root").scopes == [scope.value for scope in ALL_SCOPES]
    assert command("--user", "bob").scopes == [scope.value for scope in EVERYDAY_SCOPES]
    short = command("--user", "root", "--scope", "ask", "--scope", "read", "--days", "2")
    assert short.scopes == ["ask", "read"]
    assert short.expires < timezone.now() + timedelta(days=3)
    with pytest.raises(CommandError):
        call_command("api_key", "create", "--name", "k", "--user", "bob", "--days", "0")


def test_keys_made_before_scopes_keep_all_that_they_could_do(world):
    for user in (world.root, world.bob):
        ApiKey.objects.create(user=user, name="old", prefix="rs_", digest=user.username)
    newer = ApiKey.objects.get(pk=api_key_create(user=world.bob, name="new", scopes=["ask"])[0].pk)

    with connection.schema_editor() as editor:
        import_module("accounts.migrations.0005_keys_and_rights").keys_keep_working(apps, editor)

    assert ApiKey.objects.get(user=world.root).scopes == [*EVERYDAY_SCOPES, KeyScope.KEYS]
    assert ApiKey.objects.get(name="old", user=world.bob).scopes == [scope.value for scope in EVERYDAY_SCOPES]
    newer.refresh_from_db()
    assert newer.scopes == ["ask"]


# ── expiry, rate ────────────────────────────────────────────────────────────────────────────────


def test_an_expired_key_is_nobodys(world):
    client = key_of(world.bob, expires=timezone.now() + timedelta(minutes=1))
    assert client.get("/api/v1/knowledge-sets").status_code == 200

    ApiKey.objects.update(expires=timezone.now())

    assert client.get("/api/v1/knowledge-sets").status_code == 401


@pytest.mark.django_db(transaction=True)
def test_a_key_makes_no_more_requests_in_a_minute_than_its_rate_on_any_route(world):
    limited, other = key_of(world.bob, requests_per_minute=2), key_of(world.bob)

    answers = [limited.get(path) for path in ("/api/v1/knowledge-sets", "/v1/models", "/api/v1/documents")]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert error_of(answers[2])["code"] == "rate_limited"
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
    assert other.get("/api/v1/documents").status_code == 200


# ── service accounts ────────────────────────────────────────────────────────────────────────────


def test_a_service_account_works_with_keys_and_cannot_sign_in(world, root):
    made = root.post("/api/v1/users", {"username": "crawler", "service_owner": "alice"})
    assert (made.status_code, made.json()["service_owner"]) == (201, "alice")
    crawler = User.objects.get(username="crawler")

    assert Client().post("/sign-in", {"username": "crawler", "password": ""}).status_code == 200
    assert key_of(crawler).get("/api/v1/knowledge-sets").status_code == 200
    assert AuditEvent.objects.get(action="user.create", target="crawler").data["service_owner"] == "alice"

    crawler.set_password("correct horse battery")
    with pytest.raises(IntegrityError), transaction.atomic():
        crawler.save()


def test_the_owner_of_a_service_account_makes_its_keys_and_nobody_else_does(world):
    user_create(actor=world.root, username="crawler", service_owner="alice")
    body = {"username": "crawler", "name": "k"}

    assert key_of(world.alice).post(KEYS, body).status_code == 201
    assert key_of(world.bob).post(KEYS, body).status_code == 404


def test_a_service_account_is_owned_by_a_person_of_its_tenant(root, world):
    user_create(actor=world.root, username="crawler", service_owner="alice")

    for owner in ("eve", "nobody", "crawler"):
        response = root.post("/api/v1/users", {"username": "robot", "service_owner": owner})
        assert (response.status_code, error_of(response)["code"]) == (404, "not_found")
