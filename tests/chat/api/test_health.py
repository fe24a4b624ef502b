"""The state of every part, each on its own."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import transaction
from django.test import AsyncClient

from accounts.services import api_key_create
from chat.api import health
from chat.concurrency.executors import run_db
from knowledge import model_registry
from knowledge.model_circuits import OPEN_AFTER
from knowledge.model_setup import circuit, registry_changed, setup_forget, setup_now
from knowledge.models import LanguageModel, ModelPurpose, ModelServer
from ragcore.errors import ModelUnavailableError
from ragcore.model_file.state import ServedModel
from ragcore.parsing.sandbox.confine import MEASURES
from tests.chat.conftest import Api
from tests.factories import make_admin

REPORT = "/api/v1/rag/health"
SLOW = ModelUnavailableError("slow", seconds="30")


@contextmanager
def model_server(status: int):
    """Answers `/models` with this status, if the key is the right one; notes the keys that it was sent."""
    keys: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", keys
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def states(api: Api) -> dict[str, str]:
    body = (await api.get(REPORT)).json()
    return {name: value["state"] for name, value in body["dependencies"].items()}


async def test_every_dependency_is_named_with_its_state_and_latency(api):
    body = (await api.get(REPORT)).json()

    found = {name: value["state"] for name, value in body["dependencies"].items()}
    assert found.pop("character_recognition") in ("up", "not_configured")
    assert found.pop("office_formats") in ("up", "not_configured")
    assert found == {
        "postgres": "up",
        "redis": "up",
        "worker": "down",
        "embedder": "up",
        "llm": "not_configured",
        "llm_fast": "not_configured",
        "llm_advanced": "not_configured",
        "llm_light": "not_configured",
        "llm_judge": "not_configured",
        "llm_local": "not_configured",
        "extractive": "up",
        "reranker": "up",
        "reranker_fallback": "not_configured",
        "disk": "up",
    }
    assert body["status"] == "degraded"
    assert body["answering"] == ["extractive"]
    assert all(value["latency_ms"] >= 0 for value in body["dependencies"].values())


async def test_each_tier_is_asked_at_its_own_server_with_its_own_key(api, settings):
    with model_server(200) as (standard, standard_keys), model_server(503) as (advanced, advanced_keys):
        settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL = standard, "one", "m"
        settings.LLM_FAST_MODEL = "small"  # at the standard server
        settings.LLM_ADVANCED_BASE_URL, settings.LLM_ADVANCED_MODEL = advanced, "large"
        settings.LLM_ADVANCED_API_KEY = None

        body = (await api.get(REPORT)).json()

    found = {name: value["state"] for name, value in body["dependencies"].items()}
    assert (found["llm"], found["llm_fast"], found["llm_advanced"]) == ("up", "up", "down")
    assert body["answering"] == ["llm", "llm_fast", "extractive"]
    assert standard_keys == ["Bearer one", "Bearer one"]
    assert advanced_keys == [None]  # the key of one server is never sent to another
    assert body["dependencies"]["llm_fast"]["model"] == "small"


@pytest.mark.parametrize(
    ("status", "state"), [(200, "up"), (404, "down"), (501, "down"), (401, "down"), (403, "down"), (500, "down")]
)
async def test_a_model_server_that_refuses_the_key_or_fails_is_down(api, settings, status, state):
    with model_server(status) as (url, _keys):
        settings.LLM_BASE_URL, settings.LLM_MODEL = url, "m"

        assert (await states(api))["llm"] == state


async def test_a_server_that_lists_no_models_is_up_once_the_model_has_answered(api, settings):
    with model_server(404) as (url, _keys):
        settings.LLM_BASE_URL, settings.LLM_MODEL = url, "m"
        assert (await states(api))["llm"] == "down"

        await run_db(lambda: circuit(setup_now().models["standard"]).note_success())

        assert (await states(api))["llm"] == "up"


async def test_a_model_whose_calls_fail_is_down_with_the_reason_and_how_many_failed(api, settings):
    with model_server(200) as (url, _keys):
        settings.LLM_BASE_URL, settings.LLM_MODEL = url, "m"
        await run_db(lambda: circuit(setup_now().models["standard"]).note_success())
        for _ in range(OPEN_AFTER):
            await run_db(lambda: circuit(setup_now().models["standard"]).note_failure(SLOW))

        body = (await api.get(REPORT)).json()

    llm = body["dependencies"]["llm"]
    assert (llm["state"], llm["error"]) == ("down", "slow")
    assert (llm["calls"], llm["failed_calls"]) == (OPEN_AFTER + 1, OPEN_AFTER)
    assert body["answering"] == ["extractive"]


async def test_a_registered_model_that_nobody_has_tested_is_down(api):
    def register() -> None:
        model = LanguageModel.objects.create(name="small")
        ModelServer.objects.create(model=model, url="http://127.0.0.1:9/v1")
        ModelPurpose.objects.create(purpose="standard", model=model)
        with transaction.atomic():
            registry_changed()

    await run_db(register)
    try:
        llm = (await api.get(REPORT)).json()["dependencies"]["llm"]
    finally:
        setup_forget()

    assert (llm["state"], llm["error"], llm["model"]) == ("down", "untested", "small")


@pytest.mark.parametrize(
    ("phase", "reason", "shown"),
    [
        ("loading", "", {"state": "down", "error": "loading"}),
        ("failed", "too_large", {"state": "down", "error": "not_loaded", "reason": "too_large"}),
        ("ready", "", {"state": "up"}),  # its server is not asked: it may be writing an answer
    ],
)
async def test_the_model_of_a_file_is_down_until_it_is_loaded(api, settings, tmp_path, phase, reason, shown):
    url = "http://127.0.0.1:9/v1"
    state = ServedModel(name="tiny", path="/m.gguf", phase=phase, reason=reason, url=url, identity=f"of {phase}")
    settings.LLM_FILE_STATE = tmp_path / "state.json"
    settings.LLM_FILE_STATE.write_text(state.as_json())

    body = (await api.get(REPORT)).json()

    llm = body["dependencies"]["llm"]
    assert {name: llm[name] for name in ("state", "error", "reason") if name in llm} == shown
    assert llm["model"] == "tiny"
    assert body["answering"] == (["llm", "extractive"] if phase == "ready" else ["extractive"])


async def test_a_part_that_fails_or_hangs_does_not_hide_the_others(api, settings, monkeypatch):
    async def hanging():
        await health.asyncio.Event().wait()

    settings.LLM_BASE_URL, settings.LLM_MODEL = "http://127.0.0.1:1/v1", "m"
    monkeypatch.setattr(health, "LIMIT_SECONDS", 2)
    monkeypatch.setattr(health, "_character_recognition", hanging)

    body = (await api.get(REPORT)).json()

    found = {name: value["state"] for name, value in body["dependencies"].items()}
    assert (found["llm"], found["character_recognition"], found["postgres"]) == ("down", "down", "up")
    assert body["dependencies"]["character_recognition"]["error"] == "TimeoutError"
    assert body["status"] == "degraded"


async def test_without_the_embedder_the_whole_is_down(api, monkeypatch):
    def broken():
        raise OSError("no such file: /secret/place")

    monkeypatch.setattr(model_registry, "embedder", broken)

    body = (await api.get(REPORT)).json()

    assert (body["status"], body["dependencies"]["embedder"]["state"]) == ("down", "down")
    assert "secret" not in str(body)


async def test_an_optional_part_that_is_down_leaves_the_site_ready(world, settings):
    settings.LLM_BASE_URL, settings.LLM_MODEL = "http://127.0.0.1:1/v1", "m"
    client = AsyncClient()

    plain, deep = await client.get("/health"), await client.get("/health?deep")

    assert (plain.status_code, plain.json()["status"]) == (200, "ok")
    assert "parts" not in plain.json()
    assert (deep.status_code, deep.json()["status"]) == (200, "ok")
    parts = deep.json()["parts"]
    assert (parts["dependencies"]["llm"]["state"], parts["status"]) == ("down", "degraded")
    assert parts["answering"] == ["extractive"]


async def test_strangers_from_elsewhere_do_not_look_inside(world):
    client = AsyncClient()
    elsewhere = {"X-Forwarded-For": "203.0.113.9"}

    plain = await client.get("/health", headers=elsewhere)
    stranger = await client.get("/health?deep", headers=elsewhere)
    known = await client.get("/health?deep", headers={**elsewhere, "Authorization": f"Bearer {world.key}"})

    assert (plain.status_code, stranger.status_code, known.status_code) == (200, 401, 200)
    assert stranger.json()["error"]["code"] == "not_authenticated"
    assert "parts" in known.json()


async def test_how_reading_files_is_confined_is_told_to_administrators_only(world):
    _, admins = await run_db(lambda: api_key_create(user=make_admin(), name="admin"))
    client = AsyncClient()

    async def told(key: str) -> dict[str, object] | None:
        answer = await client.get("/health", headers={"Authorization": f"Bearer {key}"} if key else {})
        assert answer.status_code == 200
        return answer.json().get("sandbox")

    assert [await told(key) for key in ("", "wrong", world.key)] == [None] * 3
    measures = await told(admins)
    assert measures is not None
    assert measures["limits"] is True
    assert set(measures) == {"required", *MEASURES}
