"""Whatever is wrong with a request, the answer below /api/ and /v1/ is JSON in the one shape."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from ragsite.openapi import METHODS, merged_schema
from tests.api.world import client_of, error_of

pytestmark = pytest.mark.django_db(transaction=True)  # ninja reads keys over connections of its own

JSON_OPERATIONS = [
    "/api/v1/rag/retrieve",
    "/api/v1/rag/generate",
    "/api/v1/rag/generate/stream",
    "/api/v1/rag/query",
    "/api/v1/rag/query-stream",
    "/api/v1/rag/batch",
    "/api/v1/rag/filters/count",
    "/v1/chat/completions",
    "/api/v1/knowledge-sets",
    "/api/v1/documents/url",
    "/api/v1/feedback",
    "/api/v1/signals",
]
UNREADABLE = {
    "cut": b'{"query": ',
    "no JSON": b"query=x",
    "no Unicode": b'{"query": "\xff\xfe"}',
    "nested without end": b'{"query": ' + b"[" * 100_000,
    "a number of 5000 digits": b'{"query": ' + b"9" * 5000 + b"}",
    "empty": b"",
}


def addresses() -> list[tuple[str, set[str]]]:
    """Every address of the API with the methods that it takes."""
    return [(path, {name for name in METHODS if name in item}) for path, item in merged_schema()["paths"].items()]


def filled(path: str) -> str:
    """An address that exists, whatever its parts are."""
    named = path.replace("{message_id}", "00000000-0000-0000-0000-000000000000").replace("{source}", "x")
    return re.sub(r"\{\w+\}", "1", named)


@pytest.fixture
def client(world) -> Client:
    """With a key; nothing that Django's CSRF check would refuse is let through unseen."""
    key = client_of(world.alice)._credentials["HTTP_AUTHORIZATION"]
    return Client(enforce_csrf_checks=True, raise_request_exception=False, headers={"Authorization": key})


def test_a_method_that_an_address_does_not_take_is_405_with_those_that_it_takes(client):
    assert len(addresses()) > 30
    for path, taken in addresses():
        wrong = next(name for name in ("delete", "put", "patch", "get") if name not in taken)

        answer = getattr(client, wrong)(filled(path))

        assert answer.status_code == 405, (path, wrong, answer.content[:200])
        assert error_of(answer)["code"] == "method_not_allowed"
        allowed = {name.strip().lower() for name in answer.headers["Allow"].split(",")}
        assert allowed >= taken - {"head", "options"}, (path, allowed, taken)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
def test_the_description_answers_other_methods_in_the_same_shape(client, path):
    answer = client.post(path, {}, content_type="application/json")

    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"
    assert "GET" in answer.headers["Allow"]


def test_an_unknown_address_is_404(client):
    for path in ("/api/", "/v1/", "/api/v1/nothing", "/api/v1/rag/nothing", "/v1/completions", "/api/v2/rag/generate"):
        for method in ("get", "post", "put", "patch", "delete"):
            answer = getattr(client, method)(path)

            assert answer.status_code == 404, (path, method)
            assert error_of(answer)["code"] == "not_found"


def test_a_body_that_is_no_json_is_422(client):
    for path in JSON_OPERATIONS:
        for name, body in UNREADABLE.items():
            answer = client.post(path, body, content_type="application/json")

            assert answer.status_code == 422, (path, name, answer.status_code, answer.content[:300])
            assert error_of(answer)["code"] in ("malformed", "invalid")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_body_of_another_type_is_415(client, kind):
    for path in JSON_OPERATIONS:
        answer = client.post(path, b'{"query": "q"}', content_type=kind)

        assert answer.status_code == 415, (path, answer.status_code, answer.content[:300])
        assert error_of(answer)["code"] == "unsupported_media_type"


def test_json_in_an_encoding_that_nobody_knows_is_refused(client):
    for path in JSON_OPERATIONS:
        answer = client.generic("POST", path, b"{}", content_type="application/json; charset=nonsense")

        assert 400 <= answer.status_code < 500, (path, answer.status_code, answer.content[:300])
        error_of(answer)


def test_errors_of_the_openai_compatible_calls_have_the_fields_of_openai_too(client):
    wrong = error_of(client.post("/v1/chat/completions", {"messages": []}, content_type="application/json"))
    nobody = Client(raise_request_exception=False).get("/v1/models")

    assert (wrong["type"], wrong["param"]) == ("invalid_request_error", "messages")
    assert error_of(nobody)["type"] == "authentication_error"
    assert nobody.headers["WWW-Authenticate"] == "Bearer"
