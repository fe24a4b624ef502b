"""A directory that keeps the people of the default tenant, and one of the other tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.key_scopes import KeyScope
from accounts.models import User
from accounts.people.records import ENTERPRISE
from accounts.services import api_key_create
from tests.api.world import World, world_make

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
MEI = {
    "schemas": [USER, ENTERPRISE],
    "userName": "mei",
    "externalId": "e-1",
    "name": {"givenName": "Mei", "familyName": "Chen"},
    "emails": [{"value": "mei@example.org", "type": "work", "primary": True}],
    "title": "Engineer",
    "locale": "zh-CN",
    "active": True,
    ENTERPRISE: {"department": "Radio", "division": "Panels", "employeeNumber": "7"},
}


@dataclass(frozen=True)
class Caller:
    """Requests of a directory with its key."""

    client: APIClient

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        more = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        path = path if path.startswith("http") else f"/scim/v2/{path}"
        if body is None:
            return getattr(self.client, method)(path, **more)
        return getattr(self.client, method)(path, body, format="json", **more)

    def get(self, path: str, **headers: str) -> Any:
        return self.ask("get", path, **headers)

    def post(self, path: str, body: Any) -> Any:
        return self.ask("post", path, body)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        return self.ask("put", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.ask("delete", path, **headers)

    def patch(self, path: str, *operations: dict[str, Any], **headers: str) -> Any:
        return self.ask("patch", path, {"schemas": [PATCH], "Operations": list(operations)}, **headers)

    def names(self, text: str, kind: str = "Users") -> list[str]:
        """Names of what a filter finds."""
        answer = self.client.get(f"/scim/v2/{kind}", {"filter": text})
        assert answer.status_code == 200, answer.content
        name = "userName" if kind == "Users" else "displayName"
        return [resource[name] for resource in answer.json()["Resources"]]


def caller_of(user: User, *scopes: KeyScope) -> Caller:
    client = APIClient(raise_request_exception=False)
    key = api_key_create(user=user, name="directory", scopes=scopes or [KeyScope.DIRECTORY])[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return Caller(client)


@pytest.fixture
def world(db: None) -> World:
    return world_make()


@pytest.fixture
def directory(world: World) -> Caller:
    return caller_of(world.root)


@pytest.fixture
def abroad(world: World) -> Caller:
    return caller_of(world.eve)
