"""What became of the latest calls of each chat model, over all processes; a model that fails is left alone.

After OPEN_AFTER failed calls in a row a model is not asked any more: who would wait for it falls back at once. A thread
of one process asks its servers one short question now and then, and the first that is answered ends that. The figures
are kept in Redis; without it each process knows its own. Local models have none: nothing between them and us can fail.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.utils import timezone
from redis import Redis, RedisError

from ragcore.errors import ModelUnavailableError

logger = logging.getLogger(__name__)

OPEN_AFTER = 3  # failed calls in a row
PROBE_DELAYS_SECONDS = (1.0, 2.0, 4.0, 5.0)  # before each probe of a model that fails; the last one is repeated
KEPT_CALLS = 50  # of which the share of failures is told
KEPT_FOR = timedelta(days=7)
TIMEOUT_SECONDS = 0.5

_circuits: dict[str, ModelCircuit] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """The latest calls of a model. Probes do not count as calls."""

    calls: int = 0  # up to KEPT_CALLS
    failed: int = 0  # of them
    failures_in_row: int = 0
    last_success: datetime | None = None
    last_failure: datetime | None = None
    reason: str = ""  # of the last failure, of ModelUnavailableError
    data: Mapping[str, Any] = field(default_factory=dict)  # of its sentence
    reported: str = ""  # what its server called the model in the latest call that says it

    @property
    def is_open(self) -> bool:
        """Whether the model is left alone now."""
        return self.failures_in_row >= OPEN_AFTER

    @property
    def error(self) -> ModelUnavailableError | None:
        """The last failure, however long ago."""
        if self.last_failure is None:
            return None
        return ModelUnavailableError(self.reason if self.reason in ModelUnavailableError.reasons else "", **self.data)


class ModelCircuit:
    """Implements ragcore.llm.guarded.CallRecord for one model. `probe`: whether one of its servers answers now."""

    def __init__(self, key: str, probe: Callable[[], bool]) -> None:
        self._key, self._probe = f"model-calls:{key}", probe
        self._figures = CallFigures()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._end = threading.Event()

    @property
    def figures(self) -> CallFigures:
        """As this process last read them."""
        return self._figures

    def refusal(self) -> ModelUnavailableError | None:
        """See CallRecord."""
        figures = self._figures
        return figures.error if figures.is_open else None

    def note_success(self, *, is_call: bool = True, reported: str = "") -> None:
        """See CallRecord; `is_call`: whether it counts among the calls."""
        with self._lock:
            figures = _next(self._figures, is_call=is_call)
            self._figures = replace(figures, reported=reported or figures.reported)
            values: dict[Any, Any] = {"failures": 0, "success": time.time()}
            if reported:
                values["reported"] = reported
            self._store(values, "1" if is_call else "")

    def note_failure(self, error: ModelUnavailableError, *, is_call: bool = True) -> None:
        """See CallRecord. What broke off in the middle is told, and does not keep others from asking."""
        with self._lock:
            weight = 0 if error.reason == "cut" else 1 if is_call else OPEN_AFTER
            self._figures = _next(self._figures, error=error, weight=weight, is_call=is_call)
            data = json.dumps({"reason": error.reason, **_plain(error.data)})
            self._store({"error": data, "failure": time.time()}, "0" if is_call else "", weight=weight)
        if self._figures.is_open:
            self._probe_in_background()

    def refresh(self) -> None:
        """Read what other processes have stored."""
        try:
            with _redis().pipeline(transaction=False) as pipe:
                pipe.hgetall(self._key)
                pipe.lrange(f"{self._key}:latest", 0, -1)
                values, latest = pipe.execute()
        except RedisError as error:
            logger.warning("the calls of models cannot be read: %s", error)
            return
        if values:
            with self._lock:
                self._figures = _read(values, latest)
        if self._figures.is_open:
            self._probe_in_background()

    def end(self) -> None:
        """No more probes."""
        self._end.set()

    # ── probing ─────────────────────────────────────────────────────────────────────────────────

    def _probe_in_background(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._probe_until_answered, name="model-probe", daemon=True)
                self._thread.start()

    def _probe_until_answered(self) -> None:
        number = 0
        while self._figures.is_open:
            delay = PROBE_DELAYS_SECONDS[min(number, len(PROBE_DELAYS_SECONDS) - 1)]
            if self._end.wait(delay):
                return
            number += 1
            if not self._is_first_to_probe(delay):
                self.refresh_figures()
            elif self._probe():
                logger.info("a language model answers again")
                self.note_success(is_call=False)

    def refresh_figures(self) -> None:
        """The number of failures in a row as another process left it, without starting anything."""
        try:
            failures = _redis().hget(self._key, "failures")
        except RedisError:
            return
        if failures is not None and not int(failures):
            with self._lock:
                self._figures = _next(self._figures, is_call=False)

    def _is_first_to_probe(self, seconds: float) -> bool:
        """Whether no other process has just asked; without Redis each asks."""
        try:
            return bool(_redis().set(f"{self._key}:probe", "1", nx=True, px=int(900 * seconds)))
        except RedisError:
            return True

    def _store(
        self, values: Mapping[bytes | bytearray | memoryview | str | int | float, Any], latest: str, *, weight: int = 0
    ) -> None:
        try:
            with _redis().pipeline(transaction=False) as pipe:
                pipe.hset(self._key, mapping=values)
                if weight:
                    pipe.hincrby(self._key, "failures", weight)
                if latest:
                    pipe.lpush(f"{self._key}:latest", latest)
                    pipe.ltrim(f"{self._key}:latest", 0, KEPT_CALLS - 1)
                pipe.expire(self._key, KEPT_FOR)
                pipe.expire(f"{self._key}:latest", KEPT_FOR)
                pipe.execute()
        except RedisError as error:
            logger.warning("a call of a model is not counted: %s", error)


def _next(
    figures: CallFigures, *, error: ModelUnavailableError | None = None, weight: int = 0, is_call: bool
) -> CallFigures:
    """The figures after one more call."""
    counted = {"calls": min(figures.calls + is_call, KEPT_CALLS), "failed": figures.failed + (is_call and bool(error))}
    if error is None:
        return CallFigures(
            **counted,
            last_success=timezone.now(),
            last_failure=figures.last_failure,
            reason=figures.reason,
            data=figures.data,
            reported=figures.reported,
        )
    return CallFigures(
        **counted,
        failures_in_row=figures.failures_in_row + weight,
        last_success=figures.last_success,
        last_failure=timezone.now(),
        reason=error.reason,
        data=_plain(error.data),
        reported=figures.reported,
    )


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the sentence of a failure names."""
    return {name: data[name] for name in ("status", "said", "seconds") if name in data}


def _read(values: Mapping[bytes, bytes], latest: Iterable[bytes]) -> CallFigures:
    """Figures as they were stored."""
    stored = {name.decode(): value.decode() for name, value in values.items()}
    calls = [flag == b"1" for flag in latest]
    error = json.loads(stored.get("error", "{}"))
    return CallFigures(
        calls=len(calls),
        failed=calls.count(False),
        failures_in_row=int(stored.get("failures", 0)),
        last_success=_time(stored.get("success")),
        last_failure=_time(stored.get("failure")),
        reported=stored.get("reported", ""),
        reason=error.pop("reason", ""),
        data=error,
    )


def _time(value: str | None) -> datetime | None:
    return datetime.fromtimestamp(float(value), tz=timezone.get_current_timezone()) if value else None


# ── those of this process ─────────────────────────────────────────────────────────────────────────


def circuit_key(*parts: str) -> str:
    """What a model and its servers are known by; the keys of servers cannot be read from it."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def circuit_of(key: str, probe: Callable[[], bool]) -> ModelCircuit:
    """The one of this process for a model, with what others know."""
    with _lock:
        circuit = _circuits.get(key)
        if circuit is None:
            circuit = _circuits[key] = ModelCircuit(key, probe)
            is_new = True
        else:
            is_new = False
    if is_new:
        circuit.refresh()
    return circuit


def circuits_refresh() -> None:
    """Read what other processes know of the models that this one asks."""
    for circuit in list(_circuits.values()):
        circuit.refresh()


def circuits_forget() -> None:
    """As if no model had been asked yet by this process."""
    with _lock:
        for circuit in _circuits.values():
            circuit.end()
        _circuits.clear()


@cache
def _redis() -> Redis:
    return Redis.from_url(settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
