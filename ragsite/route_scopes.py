"""Every route of the API with the scope that an API key needs for it, read from what enforces it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern

from accounts.key_scopes import KeyScope
from accounts.rest import ResourceViewSet
from chat.api.auth import CallerAuth
from chat.mcp.tools import TOOL_SCOPES
from ragsite.rest import rest_router


@dataclass(frozen=True, slots=True)
class RouteScope:
    """One method of an address. `scope` None: the route has not declared one, and no key opens it."""

    method: str
    path: str
    scope: KeyScope | None


def route_scopes() -> list[RouteScope]:
    """Routes of both frameworks that take a key, by path; webhooks are opened by a signature."""
    return sorted([*_rest_routes(), *_ninja_routes()], key=lambda route: (route.path, route.method))


def tool_scopes() -> dict[str, KeyScope]:
    """Tools of the Model Context Protocol by name."""
    return dict(TOOL_SCOPES)


def _rest_routes() -> Iterator[RouteScope]:
    for pattern in rest_router().urls:
        assert isinstance(pattern, URLPattern)
        view: Any = pattern.callback
        if not issubclass(view.cls, ResourceViewSet):
            continue
        for method, action in view.actions.items():
            if method == "head":  # as get
                continue
            yield RouteScope(method.upper(), f"/api/v1/{_plain(pattern)}", view.cls.key_scopes.get(action))


def _plain(pattern: URLPattern) -> str:
    """`<int:set_id>` as `{set_id}`."""
    parts = str(pattern.pattern).replace(">", "}").split("<")
    return parts[0] + "".join("{" + part.partition(":")[2] for part in parts[1:])


def _ninja_routes() -> Iterator[RouteScope]:
    from ragsite.api import api  # the routers import models, which need a ready registry

    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                checks: Any = operation.auth_callbacks
                scopes = [check.scope for check in checks if isinstance(check, CallerAuth)]
                for method in operation.methods:
                    scope = scopes[0] if len(checks) == len(scopes) == 1 else None
                    yield RouteScope(method, f"{prefix}{path}".replace("{path:", "{"), scope)
