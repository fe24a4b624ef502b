"""Refuses values that the database cannot hold with 400, before the view or when the database raises.

PostgreSQL keeps no NUL in texts, no integers beyond its types and no dates beyond its calendar. A client that sends
such a value made the mistake: 400, not 500. Forms and bodies of the API say which field it is before that.
"""

from __future__ import annotations

from http.cookies import CookieError
from types import TracebackType
from typing import Any
from urllib.parse import unquote

from django.core.paginator import InvalidPage
from django.db import DataError
from django.http import HttpRequest

NUL = "\x00"
# where values are made ready for the database, or given to it
CONVERTING = ("django.db.models.lookups", "django.db.models.fields", "django.db.backends", "psycopg", "_strptime")
BAD_VALUES = (ValueError, OverflowError)


def has_nul(request: HttpRequest) -> bool:
    """Whether the address, the query string or a cookie holds NUL. Reads no body."""
    if NUL in request.path or NUL in unquote(request.META.get("QUERY_STRING", "")):
        return True
    try:
        return any(NUL in name or NUL in value for name, value in request.COOKIES.items())
    except CookieError:
        return True


def is_bad_value(error: BaseException) -> bool:
    """Whether an exception means that the client sent a value which the database cannot hold, or a missing page."""
    if isinstance(error, (DataError, InvalidPage)):
        return True
    return isinstance(error, BAD_VALUES) and _raised_in(error.__traceback__).startswith(CONVERTING)


def _raised_in(traceback: TracebackType | None) -> str:
    """The module of the innermost frame; of C code the one that called it."""
    name: Any = ""
    while traceback is not None:
        name = traceback.tb_frame.f_globals.get("__name__", "")
        traceback = traceback.tb_next
    return str(name)
