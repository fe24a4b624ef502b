"""What a test of a model server says where it fails."""

from __future__ import annotations

import socket
from functools import partial

import pytest

from ragcore.fetching.addresses import AddressPolicy, permitted_addresses, system_resolve
from ragcore.llm.probe import probe_chat
from tests.scripted_llm import Reply, serving

LOCAL = partial(permitted_addresses, allow=AddressPolicy.of(["127.0.0.1", "localhost"]), resolve=system_resolve)
PUBLIC = partial(permitted_addresses, allow=AddressPolicy(), resolve=system_resolve)


PAGE = b"<!DOCTYPE HTML><html><head><title>Error response</title></head><body>Unsupported method</body></html>"


@pytest.fixture(scope="module")
def running():
    with serving() as server:
        yield server


@pytest.fixture
def server(running):
    running.default, running.respond = Reply(texts=("ready",)), None
    running.requests.clear()
    return running


def code(server, model="m", **options):
    return probe_chat(server.url, "k", model, permitted=LOCAL, **options).code


def test_a_server_that_answers_is_asked_as_answers_are(server):
    found = probe_chat(server.url, "secret", "m", permitted=LOCAL)

    assert (found.code, found.is_ok, found.data["said"]) == ("ok", True, "ready")
    (request,) = server.requests
    assert request.authorization == "Bearer secret"
    assert (request.body["model"], request.body["stream"]) == ("m", True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(status=401), "key_refused"),
        (Reply(status=403), "key_refused"),
        (Reply(status=404), "path_unknown"),
        (Reply(status=400), "rejected"),
        (Reply(status=422), "rejected"),
        (Reply(status=429), "busy"),
        (Reply(status=503), "server_failed"),
        (Reply(status=307), "redirected"),
        (Reply(status=404, failure=PAGE), "path_unknown"),
        (Reply(status=501, failure=PAGE), "not_compatible"),
        (Reply(status=500, failure=PAGE), "not_compatible"),
        (Reply(status=502, failure=PAGE), "server_failed"),
        (Reply(thoughts=("let me see",), texts=("",)), "ok"),
        (Reply(texts=("<think>let me see",)), "ok"),
        (Reply(body=b"<html>Welcome to nginx</html>"), "nonsense"),
        (Reply(body=b'{"choices": []}'), "nonsense"),
        (Reply(body=b'data: {"unexpected": 1}\n\n'), "nonsense"),
        (Reply(body=b'data: [1, 2]\n\n'), "nonsense"),
        (Reply(body=b"x" * 400_000), "nonsense"),
        (Reply(texts=("",)), "silent"),
        (Reply(texts=("",), finish_reason="length"), "ok"),
        (Reply(texts=("ready",), cut_after=0), "lost"),
    ],
)  # fmt: skip
def test_each_way_to_fail_has_a_code(server, reply, expected):
    server.default = reply

    found = probe_chat(server.url, "k", "m", permitted=LOCAL)

    assert found.code == expected
    assert "<" not in str(found.data.get("said", ""))


def test_it_measures_when_the_model_begins_and_whether_it_reasons(server):
    server.default = Reply(thoughts=("a", "b"), texts=("ready",), pause_seconds=0.1)

    found = probe_chat(server.url, "k", "m", permitted=LOCAL).data

    assert (found["said"], found["reasons"]) == ("ready", True)
    assert found["first_token_seconds"] < 0.2 <= found["seconds"]


def test_what_the_server_does_not_take_is_left_out_and_told(server):
    def respond(request):
        name = next((name for name in ("max_tokens", "temperature") if name in request.body), None)
        told = {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
        return Reply(status=400, failure=told) if name else Reply(texts=("ready",))

    server.respond = respond

    found = probe_chat(server.url, "k", "m", permitted=LOCAL)

    assert (found.code, found.data["left_out"]) == ("ok", ["max_tokens", "temperature"])
    assert server.requests[-1].body["max_completion_tokens"]


def test_a_test_at_azure_has_its_version_and_key(server):
    found = probe_chat(f"{server.url}?api-version=2024-10-21", "k", "m", permitted=LOCAL)

    (request,) = server.requests
    assert found.is_ok
    assert request.path == "/v1/chat/completions?api-version=2024-10-21"
    assert (request.headers.get("api-key"), request.authorization) == ("k", None)


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}},
        {"error": {"message": "model 'm' not found", "type": "api_error"}},
        {"error": {"message": "You cannot use it", "code": "model_not_found", "type": "invalid_request_error"}},
        {"error": "model 'm' not found"},
    ],
)
def test_an_unknown_model_is_told_from_an_unknown_address(said, server):
    server.default = Reply(status=404, failure=said)

    assert code(server) == "model_unknown"


def test_a_server_that_hangs_is_given_up(server):
    server.default = Reply(hold_before=0)

    assert code(server, seconds=0.3) == "timeout"
    server.release.set()


def test_names_ports_and_addresses_that_lead_nowhere():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    def asked(url, permitted=LOCAL):
        return probe_chat(url, "", "m", permitted=permitted).code

    assert asked(f"http://127.0.0.1:{port}/v1") == "connection_refused"
    assert asked("http://no-such-host.invalid/v1") == "name_unresolved"
    assert asked("ftp://example.org") == "address"
    assert asked("nonsense") == "address"
    assert asked("http://127.0.0.1:9/v1", PUBLIC) == "not_allowed"
    assert asked("http://169.254.169.254/v1", PUBLIC) == "not_allowed"


def test_a_server_without_tls_is_told(server):
    assert probe_chat(server.url.replace("http:", "https:"), "", "m", permitted=LOCAL).code == "tls"
