"""One description of the whole API: the REST resources as drf-spectacular sees them, and ninja's part, merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

Schema = dict[str, Any]
METHODS = ("get", "put", "post", "delete", "patch")
ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string", "description": "Stable; programs rely on it."},
                "message": {"type": "string", "description": "For people."},
                "details": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
            },
        }
    },
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """API keys in drf-spectacular's words."""

    target_class = "accounts.authentication.ApiKeyAuthentication"
    name = "Bearer"

    def get_security_definition(self, auto_schema: Any) -> Schema:
        return {"type": "http", "scheme": "bearer"}


class BrowserScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Browser sessions in drf-spectacular's words."""

    target_class = "accounts.authentication.BrowserAuthentication"
    name = "Session"

    def get_security_definition(self, auto_schema: Any) -> Schema:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


@cache
def merged_schema() -> Schema:
    """The OpenAPI 3.1 description of every address; made once a process, it depends on nothing else."""
    from ragsite.api import api  # the routers import models, which need a ready registry

    whole: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    part: Schema = api.get_openapi_schema(path_prefix="")
    whole["openapi"] = "3.1.0"
    whole["paths"] = _joined(whole["paths"], part["paths"])
    whole["components"]["schemas"] = _joined(whole["components"]["schemas"], part["components"]["schemas"])
    whole["components"]["schemas"]["Error"] = ERROR
    for operation in operations(whole):
        _describe_pages(operation)
        operation["responses"].setdefault("default", _error_response())
        if operation.get("security"):  # every address that takes a key takes a session too
            operation["security"] = [{"Bearer": []}, {"Session": []}]
    return whole


def operations(schema: Schema) -> Iterator[Schema]:
    """Every operation of a description."""
    for path in schema["paths"].values():
        yield from (operation for method, operation in path.items() if method in METHODS)


def _describe_pages(operation: Schema) -> None:
    """A list that is asked for by page comes as a page; drf-spectacular sees only what is on it."""
    if not any(
        parameter["name"] == "page" and parameter["in"] == "query" for parameter in operation.get("parameters", ())
    ):
        return
    for content in operation["responses"].get("200", {}).get("content", {}).values():
        if content["schema"].get("type") == "array":
            link = {"type": ["string", "null"], "format": "uri"}
            properties = {"count": {"type": "integer"}, "next": link, "previous": link, "results": content["schema"]}
            content["schema"] = {"type": "object", "required": list(properties), "properties": properties}


def _error_response() -> Schema:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {"description": "An error, with a stable code.", "content": content}


def _joined(first: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Both; the same name with two meanings is a fault of ours."""
    clashes = [name for name in first.keys() & other.keys() if first[name] != other[name]]
    if clashes:
        raise ValueError(f"described twice, differently: {sorted(clashes)}")
    return {**first, **other}
