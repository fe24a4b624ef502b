"""State and latency of everything that an answer depends on, each on its own."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from importlib.util import find_spec
from typing import Any

import httpx
from celery import current_app
from django.conf import settings
from django.db import connection
from psycopg.errors import DiskFull
from redis.exceptions import RedisError

from chat.concurrency.executors import run_cpu, run_db
from chat.concurrency.redis_client import client
from knowledge import model_registry
from knowledge.disk_space import worst_volume
from knowledge.model_circuits import CallFigures
from knowledge.model_servers import Endpoint, permitted_at
from knowledge.model_setup import ModelSpec, Purpose, UnreadyModel, circuit, setup_now, setup_refresh
from knowledge.models import EnvironmentModelTest
from ragcore.checked_hosts import CheckedAsyncTransport
from ragcore.client_registry import tls_context
from ragcore.ports import Reranker, RerankInput
from ragcore.types import Passage, Query

logger = logging.getLogger(__name__)

LIMIT_SECONDS = 3  # of each check; all run at once
REQUIRED = ("postgres", "redis", "embedder")  # without these there are no answers
NOT_CONFIGURED: Mapping[str, Any] = {"state": "not_configured"}
TIERS = {
    "llm": Purpose.STANDARD,
    "llm_fast": Purpose.FAST,
    "llm_advanced": Purpose.ADVANCED,
    "llm_light": Purpose.LIGHT,
    "llm_judge": Purpose.JUDGE,
}
BEGUN = time.monotonic()  # of this process
WORKER_START_SECONDS = 60.0  # that a worker has to start beside it
STARTING = "starting"  # error of a worker that is not heard of yet
OFFICE = ("soffice", "libreoffice")

Check = Callable[[], Awaitable[Mapping[str, Any]]]


async def health_report() -> dict[str, Any]:
    """`status` is "ok", "degraded" (something optional is down) or "down".

    Each dependency is "up", "down" or "not_configured", whatever the others are: every model tier, the answer without
    a model behind them, the reranker and the one behind it, what reads pictures and old formats. `answering` names who
    writes an answer, in the order in which they are tried, of those that are up.
    """
    await run_db(setup_refresh)
    checks = _checks()
    results = await asyncio.gather(*(_timed(name, check) for name, check in checks.items()))
    dependencies = dict(zip(checks, results, strict=True))
    down = [name for name, result in dependencies.items() if result["state"] == "down"]
    status = "down" if any(name in REQUIRED for name in down) else "degraded" if down else "ok"
    writers = [name for name in _writers() if dependencies[name]["state"] == "up"]
    return {"status": status, "dependencies": dependencies, "answering": writers}


def _checks() -> dict[str, Check]:
    tiers: dict[str, Check] = {name: partial(_tier, purpose) for name, purpose in TIERS.items()}
    return {
        "postgres": _postgres,
        "redis": _redis,
        "worker": _worker,
        "embedder": _embedder,
        **tiers,
        "llm_local": _local_model,
        "extractive": _nothing_needed,
        "reranker": partial(_reranker, model_registry.reranker),
        "reranker_fallback": partial(_reranker, model_registry.second_reranker),
        "character_recognition": _character_recognition,
        "office_formats": _office_formats,
        "disk": _disk,
    }


def _writers() -> list[str]:
    """Who is asked for an answer, in order: the standard tier, stronger and lighter ones, the local one, sentences."""
    names = {"standard": "llm", "fast": "llm_fast", "advanced": "llm_advanced"}
    stronger_first = reversed(model_registry.tiers())
    ladder = sorted(stronger_first, key=lambda tier: (tier.is_local, tier.name != "standard"))
    in_order = dict.fromkeys("llm_local" if tier.is_local else names[tier.name] for tier in ladder)
    return [*in_order, "extractive"]


async def _timed(name: str, check: Check) -> dict[str, Any]:
    """The result of one check with its latency; whatever goes wrong means down."""
    start = time.perf_counter()
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            result = {"state": "up", **await check()}
    except Exception as error:
        logger.warning("%s is down", name, exc_info=error)
        result = {"state": "down", "error": "its disk is full" if _is_disk_full(error) else type(error).__name__}
    return {**result, "latency_ms": round(1000 * (time.perf_counter() - start), 2)}


def _is_disk_full(error: Exception) -> bool:
    """Whether a service says that it cannot write its files."""
    return isinstance(error.__cause__, DiskFull) or (isinstance(error, RedisError) and str(error).startswith("MISCONF"))


async def _postgres() -> Mapping[str, Any]:
    def ask() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return str(connection.pg_version)  # type: ignore[attr-defined]  # of the PostgreSQL backend

    return {"version": await run_db(ask)}


async def _redis() -> Mapping[str, Any]:
    await client().ping()
    return {}


async def _worker() -> Mapping[str, Any]:
    answers = await run_cpu(current_app.control.ping, timeout=1, limit=1)
    if not answers and time.monotonic() - BEGUN < WORKER_START_SECONDS:
        return {"state": "down", "error": STARTING}
    return {"state": "up" if answers else "down"}


async def _disk() -> Mapping[str, Any]:
    """The file system with the least space; down: no files are accepted, and questions are answered all the same."""
    volume = await run_cpu(worst_volume)
    space = {"free_bytes": volume.free_bytes, "total_bytes": volume.total_bytes, "places": list(volume.places)}
    if volume.state in ("ok", "low"):
        return {**space, "is_low": volume.state == "low"}
    return {"state": "down", "error": "read only" if volume.is_read_only else "full", **space}


# ── models ──────────────────────────────────────────────────────────────────────────────────────


async def _embedder() -> Mapping[str, Any]:
    def embed() -> str:
        embedder = model_registry.embedder()
        embedder.embed_queries(["health"])
        return embedder.model

    return {"model": await run_cpu(embed)}


async def _tier(purpose: str) -> Mapping[str, Any]:
    """The servers of the model for a purpose; it is up where one of them is, and calls of the model do not fail.

    `error` says why it is down: "untested" and "test_failed" (it is not asked), "loading" and "not_loaded" with a
    `reason` (of a model file), the reason of its latest failed calls, or what its server said. `calls` and
    `failed_calls` count the latest calls of all processes.
    """
    setup = setup_now()
    spec, unready = setup.models.get(purpose), setup.unready.get(purpose)
    if spec is None:
        if unready is None:
            return NOT_CONFIGURED
        return {"state": "down", "model": unready.name, **_why_unready(unready)}
    result: dict[str, Any] = {"model": spec.name, **_calls(circuit(spec).figures)}
    if result.pop("is_open"):
        return {"state": "down", **result}
    if spec.file_state is not None:  # some of its servers answer nothing while they write
        return result
    states = await asyncio.gather(*(_server(endpoint) for endpoint in spec.endpoints), return_exceptions=True)
    if len(states) > 1:
        result["servers"] = len(states)
        result["servers_up"] = sum(
            isinstance(server_state, Mapping) and server_state["state"] == "up" for server_state in states
        )
    best = next(
        (
            server_state
            for server_state in states
            if isinstance(server_state, Mapping) and server_state["state"] == "up"
        ),
        states[0],
    )
    if isinstance(best, BaseException):
        return {"state": "down", **result, "error": "unreachable"}
    if best["state"] == "unclear":  # it lists no models: whether it answers is known from its test and its calls
        is_known = not spec.is_locked or await run_db(_has_passed, purpose, spec)
        best = {"state": "up"} if is_known else {"state": "down", "error": best["error"]}
    return {**result, **best}


def _why_unready(model: UnreadyModel) -> Mapping[str, Any]:
    if model.file_state is None:
        return {"error": "test_failed" if model.test_code else "untested"}
    if model.file_state.phase == "loading":
        return {"error": "loading"}
    return {"error": "not_loaded", "reason": model.file_state.reason}


def _has_passed(purpose: str, spec: ModelSpec) -> bool:
    """Whether a model of the environment has answered: in its latest test, or a question since."""
    tests = EnvironmentModelTest.objects.filter(purpose=purpose, fingerprint=spec.fingerprint, test_code="ok")
    return tests.exists() or circuit(spec).figures.last_success is not None


def _calls(figures: CallFigures) -> dict[str, Any]:
    result: dict[str, Any] = {"is_open": figures.is_open}
    if figures.calls:
        result |= {"calls": figures.calls, "failed_calls": figures.failed}
    if figures.last_failure is not None:
        result["last_failure"] = figures.last_failure.isoformat()
        if figures.is_open:
            result["error"] = figures.reason or "unreachable"
    return result


async def _server(endpoint: Endpoint) -> Mapping[str, Any]:
    """Whether a server lets its models be listed with this key; "unclear" where it has no such address."""
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    permitted = permitted_at(endpoint)
    transport = CheckedAsyncTransport(permitted) if permitted else None
    async with httpx.AsyncClient(
        timeout=LIMIT_SECONDS, headers=headers, verify=tls_context(), transport=transport
    ) as http:
        answer = await http.get(f"{endpoint.url.rstrip('/')}/models")
    if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return {"state": "down", "error": "the key is refused"}
    if answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED):
        return {"state": "unclear", "error": f"not an OpenAI-compatible server (HTTP {answer.status_code})"}
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return {"state": "down", "error": f"HTTP {answer.status_code}"}
    return {"state": "up"}


async def _local_model() -> Mapping[str, Any]:
    """It is loaded by the first question that needs it, not by a check."""
    if not settings.LLM_LOCAL_MODEL:
        return NOT_CONFIGURED
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    return {"state": "down", "error": f"not installed: {', '.join(missing)}"} if missing else {}


async def _nothing_needed() -> Mapping[str, Any]:
    return {}


async def _reranker(find: Callable[[], Reranker | None]) -> Mapping[str, Any]:
    def score() -> Mapping[str, Any]:
        reranker = find()
        if reranker is None:
            return NOT_CONFIGURED
        passage = Passage(chunk=0, document=0, version=0, text="health", title="")
        reranker.score(Query(text="health", terms=()), [RerankInput(passage=passage, arms={})])
        return {"model": reranker.name}

    return await run_cpu(score)


# ── reading documents ───────────────────────────────────────────────────────────────────────────


async def _character_recognition() -> Mapping[str, Any]:
    return {} if find_spec("rapidocr") is not None else NOT_CONFIGURED


async def _office_formats() -> Mapping[str, Any]:
    """The old office formats, which only LibreOffice reads."""
    return {} if any(shutil.which(name) for name in OFFICE) else NOT_CONFIGURED
