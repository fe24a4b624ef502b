"""Check of JSON values that Postgres can store. On its own, because `knowledge` and the API need it without DRF."""

from __future__ import annotations

import json
import re
from typing import Any

ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def storable_bytes(value: Any) -> int | None:
    """Size of a JSON value in UTF-8; None if Postgres cannot keep it.

    It cannot keep NUL characters, halves of surrogate pairs, infinite numbers, nor anything nested without end.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError):  # UnicodeEncodeError is a ValueError
        return None
    return None if ESCAPED_NUL.search(text) else size
