"""When to ask a model server again, and how long to wait before (V6)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

RETRY_DELAYS_SECONDS = (1.0, 2.0, 4.0)
SHORT_DELAYS_SECONDS = (0.5,)  # for requests that rules can replace
RETRY_STATUSES = frozenset({408, 409, 425, 429})
JITTER = 0.1  # of a delay, so that clients that failed together do not return together


def is_retryable(status: int) -> bool:
    """Whether a server that answers with this HTTP status may do better later."""
    return status in RETRY_STATUSES or status >= 500


def delays(seconds: Sequence[float] = RETRY_DELAYS_SECONDS) -> Iterator[float]:
    """Seconds to wait before each retry."""
    for delay in seconds:
        yield delay * (1 + random.uniform(0, JITTER))  # noqa: S311 - not a secret


def retry_after(error: BaseException) -> float:
    """Seconds that a server asks to wait in `Retry-After`; 0 where it says nothing, or gives a date."""
    response: Any = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    said = headers.get("retry-after", "").strip()
    return float(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0.0
