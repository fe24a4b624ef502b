"""Other programs' client libraries ask the site over real HTTP (`make clients` makes their environment)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from knowledge import model_registry
from tests.chat.test_asgi import serving
from tests.ragcore.llm.test_servers_as_they_are import chunk, events_of
from tests.scripted_llm import Reply

PYTHON = Path(__file__).parents[3] / ".venv-clients" / "bin" / "python"
SCRIPT = Path(__file__).parent / "programs.py"
ANSWER = "The random access procedure has four steps [1]."
EXPECTED = {
    "langchain_chat": ANSWER,
    "langchain_stream": ANSWER,
    "langchain_stop": "The random access procedure has",
    "langchain_conversation": ANSWER,
    "langchain_tools": {"place": "Bonn"},
    "langchain_structured": {"steps": 4},
    "langchain_structured_by_tool": {"steps": 4},
    "langchain_embeddings": [768, 768],
    "llama_index_chat": ANSWER,
    "llama_index_prompt": ANSWER,
    "llama_index_stream": ANSWER,
    "llama_index_embeddings": [768, 768],
}

needs_clients = pytest.mark.skipif(not PYTHON.exists(), reason="the environment of the clients is not there")


def reply(request):
    """A call where the question says so, JSON where it does, else the answer."""
    question = next(m["content"] for m in reversed(request.body["messages"]) if m["role"] == "user")
    if "CALL" in question:
        name = request.body["tools"][0]["function"]["name"]
        arguments = '{"steps": 4}' if "STEPS" in question else '{"place": "Bonn"}'
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
        return Reply(body=events_of(chunk(None, tool_calls=[call]), chunk(None, "tool_calls")))
    return Reply(texts=('{"steps": 4}',) if "JSON" in question else (ANSWER,))


@needs_clients
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_they_get_what_they_ask_for(world, llm, monkeypatch):
    monkeypatch.setattr(model_registry, "warm", lambda: None)
    llm.respond = reply
    async with serving() as address:
        command = (str(PYTHON), str(SCRIPT), f"http://{address}/v1", world.key)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        output, _errors = await process.communicate()

    results = {result.pop("check"): result for result in map(json.loads, output.splitlines())}
    assert {name: result.get("value", result.get("error")) for name, result in results.items()} == EXPECTED
