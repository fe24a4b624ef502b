"""State and latency of everything that an answer depends on (V1)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
from celery import current_app
from django.conf import settings
from django.db import connection

from chat.redis_client import client
from chat.threads import run_cpu, run_db
from knowledge import engines

logger = logging.getLogger(__name__)

LIMIT_SECONDS = 3
REQUIRED = ("postgres", "redis", "embedder")  # without these there are no answers

Check = Callable[[], Awaitable[Mapping[str, Any]]]


async def health_report() -> dict[str, Any]:
    """`status` is "ok", "degraded" (something optional is down) or "down"."""
    checks: dict[str, Check] = {
        "postgres": _postgres,
        "redis": _redis,
        "worker": _worker,
        "embedder": _embedder,
        "llm": _llm,
    }
    results = await asyncio.gather(*(_timed(name, check) for name, check in checks.items()))
    dependencies = dict(zip(checks, results, strict=True))
    down = [name for name, result in dependencies.items() if result["state"] == "down"]
    status = "down" if any(name in REQUIRED for name in down) else "degraded" if down else "ok"
    return {"status": status, "dependencies": dependencies}


async def _timed(name: str, check: Check) -> dict[str, Any]:
    """The result of one check with its latency; whatever goes wrong means down."""
    start = time.perf_counter()
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            found = {"state": "up", **await check()}
    except Exception as error:
        logger.warning("%s is down", name, exc_info=error)
        found = {"state": "down", "error": type(error).__name__}
    return {**found, "latency_ms": round(1000 * (time.perf_counter() - start), 2)}


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
    return {"state": "up" if answers else "down"}


async def _embedder() -> Mapping[str, Any]:
    def embed() -> str:
        embedder = engines.embedder()
        embedder.embed_queries(["health"])
        return embedder.model

    return {"model": await run_cpu(embed)}


async def _llm() -> Mapping[str, Any]:
    if not settings.LLM_BASE_URL:
        return {"state": "not_configured"}
    headers = {"Authorization": f"Bearer {settings.LLM_API_KEY}"} if settings.LLM_API_KEY else {}
    async with httpx.AsyncClient(timeout=LIMIT_SECONDS, headers=headers) as http:
        answer = await http.get(f"{settings.LLM_BASE_URL.rstrip('/')}/models")
    return {"state": "up" if answer.status_code < 500 else "down", "model": settings.LLM_MODEL}
