"""The ASGI application under a real server."""

import asyncio
import contextlib
import json
import threading
from functools import partial

import httpx
import pytest
import uvicorn
import websockets

from chat.concurrency.executors import run_cpu, run_db
from knowledge import model_registry
from ragsite import lifespan
from ragsite.asgi import application


@contextlib.asynccontextmanager
async def serving(**options):
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning", lifespan="on", **options))
    task = asyncio.create_task(server.serve())
    while not server.started:
        assert not task.done()
        await asyncio.sleep(0)
    try:
        yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@pytest.fixture(autouse=True)
def warmed(monkeypatch):
    """Set when the models were asked to load, which would be slow; so would rehearsals, which go on after a test."""
    loaded = threading.Event()
    monkeypatch.setattr(model_registry, "warm", loaded.set)
    monkeypatch.setattr(lifespan, "rehearse", lambda: None)
    monkeypatch.setattr(lifespan, "rehearse_searches", lambda: None)
    return loaded


def session_cookie(user):
    from django.test import Client

    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}"


async def test_a_page_of_the_site_may_ask_over_its_websocket(world):
    cookie = await run_db(session_cookie, world.reader)

    async with serving() as address:
        headers = {"Cookie": cookie}
        async with websockets.connect(
            f"ws://{address}/ws/chat", origin=f"http://{address}", additional_headers=headers
        ) as socket:
            await socket.send(json.dumps({"type": "ask", "question": "What is a handover?"}))
            kinds = []
            while "done" not in kinds:
                kinds.append(json.loads(await socket.recv())["type"])

    assert kinds[0] == "turn"
    assert "block" in kinds


async def handshake(address, cookie, origin, *, asked="", **headers):
    """The status of a handshake with the person's cookie from a page of an origin; `asked`: another host."""
    sent, (host, _, port) = {"Cookie": cookie, **headers}, address.partition(":")
    at = {"host": host, "port": int(port), "proxy": None}
    url = f"ws://{asked or address}/ws/chat"
    try:
        async with websockets.connect(url, origin=origin, additional_headers=sent, **at) as socket:
            return socket.response.status_code
    except websockets.InvalidStatus as refused:
        return refused.response.status_code


async def test_a_page_of_another_origin_may_not_not_even_on_the_same_host(world):
    cookie = await run_db(session_cookie, world.reader)

    async with serving() as address:
        host, _, port = address.partition(":")
        foreign = (
            *("http://evil.example", f"http://evil.example:{port}", f"http://{host}.evil.example:{port}"),
            *(f"http://{host}", f"http://{host}:{int(port) - 1}", f"http://localhost:{port}"),
            *(f"https://{address}", f"ws://{address}", f"file://{address}", f"http://{host}:0", f"http://{host}:x"),
            *("null", "http://", "", f"http://{address}/", f"http://kim@{address}", f"{address}", None),
        )
        statuses = {origin: await handshake(address, cookie, origin) for origin in foreign}
        own = await handshake(address, cookie, f"http://{address}")

    assert statuses == dict.fromkeys(foreign, 403)
    assert own == 101


async def test_an_origin_that_the_operator_trusts_may(world, settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://kb.example.com", "https://*.apps.example.com:8443", "https://.odd.com"]
    cookie = await run_db(session_cookie, world.reader)
    trusted = ("https://kb.example.com", "https://kb.example.com:443", "https://a.apps.example.com:8443")
    others = (
        *("http://kb.example.com", "https://kb.example.com:8443", "https://b.kb.example.com"),
        *("https://a.apps.example.com", "https://evilapps.example.com:8443", "https://a.odd.com"),
    )

    async with serving() as address:
        statuses = {origin: await handshake(address, cookie, origin) for origin in (*trusted, *others)}

    assert statuses == {**dict.fromkeys(trusted, 101), **dict.fromkeys(others, 403)}


async def test_https_counts_from_a_trusted_proxy_only_and_a_host_that_is_not_ours_is_refused(world, settings):
    settings.ALLOWED_HOSTS = ["kb.example.com", "127.0.0.1"]
    cookie = await run_db(session_cookie, world.reader)
    https = {"X-Forwarded-Proto": "https", "asked": "kb.example.com"}

    async with serving() as address:  # uvicorn trusts 127.0.0.1 by default, as TRUSTED_PROXIES does
        behind = await handshake(address, cookie, "https://kb.example.com", **https)
        plain = await handshake(address, cookie, "http://kb.example.com", **https)
        other = await handshake(
            address, cookie, "https://evil.example", **{**https, "X-Forwarded-Host": "evil.example"}
        )
        rebound = await handshake(address, cookie, "http://evil.example", asked="evil.example")
    async with serving(forwarded_allow_ips="10.0.0.1") as address:
        forged = await handshake(address, cookie, "https://kb.example.com", **https)

    assert (behind, plain, other, rebound, forged) == (101, 403, 403, 403, 403)


def answered(address, session, method="GET", path="/", **options):
    with httpx.Client(base_url=f"http://{address}", cookies=session, trust_env=False) as client:
        return client.request(method, path, **options)


async def test_other_doors_are_closed_to_pages_of_another_port_too(world):
    """Forms, calls of the API with the cookie, streams, frames and embedded files."""
    name, _, value = (await run_db(session_cookie, world.reader)).partition("=")
    token = "a" * 32
    session = {name: value, "csrftoken": token}
    body = {"query": "What is a handover?"}
    calls = (
        *(("/api/v1/rag/generate", {"json": body}), ("/api/v1/rag/generate/stream", {"json": body})),
        *(("/api/v1/signals", {"json": {}}), ("/i18n/setlang", {"data": {"language": "en"}})),
    )

    async with serving() as address:
        host, _, port = address.partition(":")
        foreign = {"Origin": f"http://{host}:{int(port) - 1}", "X-CSRFToken": token}
        for path, sent in calls:
            refused = await run_cpu(partial(answered, address, session, "POST", path, headers=foreign, **sent))
            assert refused.status_code == 403, path
        read = await run_cpu(partial(answered, address, session, path="/api/v1/documents", headers=foreign))
        page = await run_cpu(partial(answered, address, session))

    assert read.status_code == 200
    assert not [header for header in read.headers if header.startswith("access-control-")]  # no other page reads it
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    for answer in (read, page):
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"


async def test_models_are_loaded_at_start_without_holding_it_up(world, warmed):
    async with serving():
        assert await run_cpu(warmed.wait, 20)


async def test_questions_are_rehearsed_when_the_models_are_there_and_a_failure_stops_no_start(world, monkeypatch):
    done, over = [], threading.Event()

    def rehearse():
        done.append("rehearse")
        raise OSError("no word list")

    monkeypatch.setattr(model_registry, "warm", lambda: done.append("warm"))
    monkeypatch.setattr(lifespan, "rehearse", rehearse)
    monkeypatch.setattr(lifespan, "rehearse_searches", lambda: done.append("searches"))
    monkeypatch.setattr(lifespan, "freeze_loaded", over.set)

    async with serving():
        assert await run_cpu(over.wait, 20)

    assert done == ["warm", "rehearse", "searches"]
