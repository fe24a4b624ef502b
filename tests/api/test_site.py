"""Readiness, metrics, the description of the API, unknown addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS

from ragsite.openapi import merged_schema, operations
from tests.api.world import error_of


@pytest.fixture
def stranger() -> Client:
    return Client(raise_request_exception=False)


def test_the_site_is_ready_when_its_services_answer(db, stranger):
    response = stranger.get("/health")

    assert response.status_code == 200
    body = response.json()
    assert (body["status"], body["postgres"]["status"], body["redis"]["status"]) == ("ok", "ok", "ok")
    assert "no-store" in response.headers["Cache-Control"]


def test_the_site_is_not_ready_without_redis(db, stranger, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = stranger.get("/health")

    assert response.status_code == 503
    assert response.json()["redis"] == {"status": "unavailable"}
    assert response.json()["postgres"]["status"] == "ok"


def test_the_site_is_not_ready_without_postgres(db, stranger, monkeypatch):
    def gone() -> Any:
        raise OperationalError("secret host")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "cursor", gone)
        response = stranger.get("/health")

    assert response.status_code == 503
    assert b"secret" not in response.content


def test_metrics_are_for_this_machine_and_for_administrators(world, root, alice, eve):
    away = {"REMOTE_ADDR": "192.0.2.1"}

    assert b"django_http_requests" in Client().get("/metrics").content
    assert Client().get("/metrics", **away).status_code == 401
    assert Client().get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 401
    assert root.get("/metrics", **away).status_code == 200
    assert alice.get("/metrics", **away).status_code == 404
    assert eve.get("/metrics", **away).status_code == 404


def test_one_page_describes_the_whole_api(alice, stranger, settings):
    page, script = alice.get("/api/docs"), alice.get("/api/docs?script=")

    assert page.status_code == script.status_code == 200
    assert b"/static/drf_spectacular_sidecar/" in page.content
    assert b"https://" not in page.content
    assert b"/api/schema" in script.content
    assert "'unsafe-inline'" not in stranger.get("/health").headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/", "/sign-in", "/admin/", "/api/docs", "/health", "/nowhere"])
def test_scripts_are_files_of_this_site_on_every_page(root, path):
    policy = dict(part.strip().partition(" ")[::2] for part in root.get(path)["Content-Security-Policy"].split(";"))

    assert (policy["script-src"], policy["script-src-attr"], policy["default-src"]) == ("'self'", "'none'", "'none'")


def test_the_description_is_for_people_who_are_signed_in_unless_it_is_opened(stranger, settings):
    assert stranger.get("/api/schema").status_code == 401
    assert stranger.get("/api/docs").headers["Location"] == "/sign-in?next=/api/docs"

    settings.API_DOCS_OPEN = True

    assert stranger.get("/api/schema").status_code == stranger.get("/api/docs").status_code == 200


def test_the_description_holds_resources_and_answers(alice):
    paths = alice.get("/api/schema").json()["paths"]

    assert {
        "/api/v1/knowledge-sets",
        "/api/v1/knowledge-sets/{set_id}/members",
        "/api/v1/documents",
        "/api/v1/documents/bulk",
        "/api/v1/jobs/{job_id}",
        "/api/v1/feedback",
        "/api/v1/signals",
        "/api/v1/users",
        "/api/v1/api-keys",
        "/api/v1/rag/retrieve",
        "/api/v1/rag/generate",
        "/api/v1/rag/generate/stream",
        "/api/v1/rag/query",
        "/api/v1/rag/batch",
        "/v1/chat/completions",
        "/v1/models",
    } <= set(paths)


def test_every_operation_is_described_with_its_errors_and_its_key():
    schema = merged_schema()

    names = [operation["operationId"] for operation in operations(schema)]
    assert len(names) == len(set(names))
    for operation in operations(schema):
        assert "default" in operation["responses"]
        if operation["operationId"] == "webhooks_create":  # its signature is all the authentication
            assert "security" not in operation
        else:
            assert {"Bearer": []} in operation["security"], operation["operationId"]


def test_the_description_is_made_without_guesses(capsys):
    GENERATOR_STATS.reset()
    merged_schema.cache_clear()

    merged_schema()

    assert not GENERATOR_STATS, capsys.readouterr().err


def test_every_reference_of_the_description_leads_somewhere():
    schema = merged_schema()
    text = json.dumps(schema)

    references = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}

    assert references
    assert references <= set(schema["components"]["schemas"])


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/documents/one", "/api/nothing", "/v1/nothing"])
def test_an_unknown_address_of_the_api_is_answered_as_json(db, stranger, path):
    response = stranger.get(path)

    assert (response.status_code, error_of(response)["code"]) == (404, "not_found")


def test_a_method_that_is_not_there_is_refused(alice):
    response = alice.put("/api/v1/documents", {})

    assert (response.status_code, error_of(response)["code"]) == (405, "method_not_allowed")
    assert "GET" in response.headers["Allow"]


def test_a_fault_of_ours_is_told_without_its_text(alice, monkeypatch):
    def fail(**_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("knowledge.api.jobs.job_get", fail)

    response = alice.get("/api/v1/jobs/1")

    assert (response.status_code, error_of(response)["code"]) == (500, "internal")
    assert b"secret" not in response.content


def test_a_database_that_does_not_answer_is_worth_another_try(alice, monkeypatch):
    def fail(**_: Any) -> None:
        raise OperationalError("secret host")

    monkeypatch.setattr("knowledge.api.jobs.job_get", fail)

    response = alice.get("/api/v1/jobs/1")

    assert (response.status_code, error_of(response)["code"]) == (503, "unavailable")
    assert int(response.headers["Retry-After"]) >= 1


def test_the_accept_header_changes_nothing(alice):
    response = alice.get("/api/v1/documents", headers={"Accept": "application/xml"})

    assert response.headers["Content-Type"] == "application/json"


def test_other_sites_are_answered_by_allow_list(db, alice, settings):
    settings.CORS_ALLOWED_ORIGINS = ["https://wiki.example.com"]

    def allowed(origin: str) -> Any:
        return alice.get("/api/v1/documents", headers={"Origin": origin}).headers.get("Access-Control-Allow-Origin")

    assert allowed("https://wiki.example.com") == "https://wiki.example.com"
    assert allowed("https://elsewhere.example.com") is None
