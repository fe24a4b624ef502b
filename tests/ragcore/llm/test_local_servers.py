"""Model servers on this machine: each kind says in its own way what it is and what it has."""

from __future__ import annotations

import socket
import time

import httpx
import pytest

from ragcore.llm.local_servers import MAX_MODELS, PORTS, LocalModel, local_servers
from tests.scripted_llm import Reply, serving


def port_of(server):
    return httpx.URL(server.url).port


@pytest.fixture
def server():
    with serving() as running:
        yield running


def only(server, **options):
    (found,) = local_servers([port_of(server)], **options)
    return found


def listed(*names, **more):
    return {"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]}


OLLAMA = {
    "/v1/models": listed("qwen3:8b", "gemma3:4b", owned_by="library"),
    "/api/version": {"version": "0.12.3"},
    "/api/tags": {"models": [{"name": "qwen3:8b", "size": 1}, {"name": "gemma3:4b"}]},
    "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 4096}]},
}


@pytest.mark.parametrize(
    ("pages", "kind", "version", "models"),
    [
        (OLLAMA, "ollama", "0.12.3", [("qwen3:8b", 4096), ("gemma3:4b", None)]),
        ({**OLLAMA, "/v1/models": Reply(status=404)}, "ollama", "0.12.3", [("qwen3:8b", 4096), ("gemma3:4b", None)]),
        (
            {
                "/v1/models": listed("m.gguf", owned_by="llamacpp", meta={"n_ctx_train": 131072}),
                "/props": {"default_generation_settings": {"n_ctx": 8192}, "build_info": "b6600"},
            },
            "llama.cpp",
            "b6600",
            [("m.gguf", 8192)],
        ),
        (
            {"/v1/models": listed("Qwen/Qwen3-8B", owned_by="vllm", max_model_len=32768), "/version": {"version": "1"}},
            "vllm",
            "1",
            [("Qwen/Qwen3-8B", 32768)],
        ),
        ({"/v1/models": listed("m", owned_by="sglang", max_model_len=4096)}, "sglang", "", [("m", 4096)]),
        (
            {
                "/v1/models": listed("a", "b", owned_by="organization_owner"),
                "/api/v0/models": {"data": [{"id": "a", "loaded_context_length": 4096}, {"id": "b"}]},
            },
            "lmstudio",
            "",
            [("a", 4096), ("b", None)],
        ),
        (
            {"/v1/models": listed("t"), "/info": {"model_id": "t", "max_total_tokens": 4096, "version": "3.0"}},
            "tgi",
            "3.0",
            [("t", 4096)],
        ),
        ({"/v1/models": listed("x", owned_by="somebody")}, "", "", [("x", None)]),
    ],
)
def test_each_kind_of_server_is_known_with_its_models(server, pages, kind, version, models):
    server.pages = pages

    found = only(server)

    assert (found.kind, found.version) == (kind, version)
    assert [(model.name, model.context_tokens) for model in found.models] == models
    assert found.url == server.url


def test_a_server_that_wants_a_key_is_told_without_models(server):
    server.pages = {"/v1/models": Reply(status=401)}

    found = only(server)

    assert (found.needs_key, found.models) == (True, ())


@pytest.mark.parametrize(
    "page",
    [
        Reply(body=b"<html>Welcome</html>"),
        Reply(status=404),
        Reply(status=401, failure=b"<html>sign in</html>"),
        Reply(body=b"{" * 100_000),
        Reply(body=b" " * 2_000_000),
        {"data": 7},
        {"data": [1, {"id": 5}, {"id": ""}]},
        {"data": []},
        [1],
    ],
)
def test_what_serves_no_models_is_no_server(server, page):
    server.pages = {"/v1/models": page, "/api/version": {"version": "2"}}  # another program has a version, too

    assert local_servers([port_of(server)]) == []


def test_no_redirect_is_followed(server):
    with serving() as other:
        other.pages = {"/v1/models": listed("m")}
        server.pages = {"/v1/models": Reply(status=307, headers=(("Location", f"{other.url}/models"),))}

        assert local_servers([port_of(server)]) == []
        assert other.fetched == []


def test_no_proxy_is_asked(server, monkeypatch):
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        server.pages = {"/v1/models": listed("m")}

        assert only(server).models == (LocalModel("m"),)
        assert proxy.fetched == []


def test_a_server_that_hangs_is_given_up_and_keeps_no_other_from_being_seen(server):
    server.pages = {"/v1/models": listed("m")}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()

        found = local_servers([silent.getsockname()[1], port_of(server)], seconds=0.5)

    assert [each.port for each in found] == [port_of(server)]
    assert time.monotonic() - begun < 5


def test_nobody_there_is_no_error():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))

        assert local_servers([closed.getsockname()[1]]) == []
    assert local_servers([]) == []


def test_names_can_be_shown_whatever_they_are(server):
    server.pages = {"/v1/models": listed("a\x00\ud800", "x" * 500)}

    assert [model.name for model in only(server).models] == ["a ?", "x" * 128]


def test_models_beyond_the_most_are_counted(server):
    server.pages = {"/v1/models": listed(*(f"m{number}" for number in range(MAX_MODELS + 3)))}

    found = only(server)

    assert (len(found.models), found.more) == (MAX_MODELS, 3)


def test_only_the_usual_ports_are_looked_at():
    assert PORTS == (11434, 8000, 8080, 1234, 9100)
