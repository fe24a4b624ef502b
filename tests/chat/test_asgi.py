"""The ASGI application under a real server."""

import asyncio
import contextlib
import json
import threading

import pytest
import uvicorn
import websockets

from chat.executors import run_cpu, run_db
from knowledge import model_registry
from ragsite import lifespan
from ragsite.asgi import application


@contextlib.asynccontextmanager
async def serving():
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_level="warning", lifespan="on"))
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


async def test_a_page_of_another_site_may_not(world):
    cookie = await run_db(session_cookie, world.reader)

    async with serving() as address:
        with pytest.raises(websockets.InvalidStatus) as refused:
            await websockets.connect(
                f"ws://{address}/ws/chat", origin="http://evil.example", additional_headers={"Cookie": cookie}
            )

    assert refused.value.response.status_code == 403


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
