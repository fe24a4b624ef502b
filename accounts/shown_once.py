"""A new secret on the page that follows the form, once: a reload neither shows it again nor makes another one.

Until that page is fetched it lies in memory (Redis), for a minute and for the browser session that sent the form. It is
never written to the database.
"""

from __future__ import annotations

from typing import Any

from django.core.cache import cache
from django.http import HttpRequest

SECONDS = 60


def shown_once_store(request: HttpRequest, place: str, value: Any) -> None:
    """Keep a value for the next page of this browser session. `place`: which page shows it."""
    cache.set(_key(request, place), value, timeout=SECONDS)


def shown_once_take(request: HttpRequest, place: str) -> Any:
    """The value, which is then gone; None where there is none."""
    value = cache.get(key := _key(request, place))
    if value is not None:
        cache.delete(key)
    return value


def _key(request: HttpRequest, place: str) -> str:
    return f"shown-once:{place}:{request.session.session_key}"
