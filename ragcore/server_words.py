"""What a model server says where it refuses: its own words as one short line of plain text, never markup.

Clients of several packages tell it alike, in `detail` or `said` of an error.
"""

from __future__ import annotations

import json
import re
from typing import Any

SAID_CHARACTERS = 200
READ_BYTES = 16 * 1024  # of the body of a refusal
PROTOCOL_FIELDS = frozenset({"error", "message", "detail", "object"})  # of the JSON with which model servers refuse
_MARKUP = re.compile(r"<\s*[!/?A-Za-z]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def server_words(text: str, *, key: str = "") -> str:
    """The message of an error in JSON, or a body of plain text, without the key, which some servers repeat.

    "" for a page, for JSON without a message, and for an empty body.
    """
    message = ""
    try:
        message = _message(json.loads(text))
    except (ValueError, RecursionError):
        message = text if not text.lstrip().startswith(("{", "[", "data:")) else ""
    if _MARKUP.search(message):
        return ""
    message = message.replace(key, "…") if key else message
    return one_line(message, SAID_CHARACTERS)


def one_line(text: str, limit: int) -> str:
    """Text of a server as one line that can be stored, sent and shown: no control characters, no halves of pairs."""
    whole = text.encode("utf-8", "replace").decode()
    return " ".join(_CONTROL.sub(" ", whole).split())[:limit]


def speaks_protocol(text: str) -> bool:
    """Whether a refusal is in the form of the protocol: a JSON object with an error, a message or a detail."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and not PROTOCOL_FIELDS.isdisjoint(data)


def _message(data: Any) -> str:
    """The sentence of an error, with its code where that is not in it."""
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    code = error.get("code") if isinstance(error.get("code"), (str, int)) else None
    message = next((error[name] for name in ("message", "detail") if isinstance(error.get(name), str)), "")
    if not message:
        return "" if code is None else str(code)
    return f"{message} ({code})" if code and str(code) not in message else message
