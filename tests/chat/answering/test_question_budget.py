"""What one question may cost: statements, and hops to a thread and back. The limits are what it costs now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from chat.concurrency import executors

QUESTION = "How many steps does the random access procedure have?"
# With BEGIN, COMMIT and savepoints, without what is asked every few seconds only, by whatever question comes then.
STATEMENTS = {"/api/v1/rag/retrieve": 17, "/api/v1/rag/generate": 28}
HOPS = {"/api/v1/rag/retrieve": 3, "/api/v1/rag/generate": 10}  # two tell how much evidence there is, and whose step


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The statements and the functions that were run in a thread since the test emptied it."""
    found: dict[str, list[str]] = {"statements": [], "hops": []}
    run = executors._run

    def captured(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            with CaptureQueriesContext(connections["default"]) as queries:
                return function(*args, **kwargs)
        finally:
            found["statements"] += [query["sql"] for query in queries]
            connections.close_all()

    async def counted(pool: Any, call: Any) -> Any:
        inner = call.args[0] if call.args else call.func
        found["hops"].append(getattr(inner, "__qualname__", type(inner).__name__))
        return await run(pool, call)

    monkeypatch.setattr(executors, "_closing", captured)
    monkeypatch.setattr(executors, "_run", counted)
    return found


@pytest.mark.parametrize("path", STATEMENTS)
async def test_a_question_stays_within_its_statements_and_hops(
    api: Any, world: Any, spent: dict[str, list[str]], nothing_expires: None, path: str
) -> None:
    body = {"query": QUESTION} | ({} if path.endswith("retrieve") else {"cache": False})
    await api.post(path, body)  # what a process keeps is made
    spent["statements"].clear()
    spent["hops"].clear()

    answer = await api.post(path, body)

    assert answer.status_code == 200
    assert len(spent["statements"]) <= STATEMENTS[path], spent["statements"]
    assert len(spent["hops"]) <= HOPS[path], spent["hops"]
