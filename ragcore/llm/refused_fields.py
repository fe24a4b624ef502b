"""Fields of a request that a server does not take: read from its refusal, and left out of what is sent next.

A field is known by its key: its name, and where it is a choice also what was chosen (`response_format=json_schema`), so
that a server that refuses one choice may still be sent another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

LIMIT = "max_tokens"
NEW_LIMIT = "max_completion_tokens"  # what OpenAI's reasoning models call it
REQUIRED = frozenset({"model", "messages", "stream"})
REFUSING = frozenset({200, 400, 422})  # statuses of refusals that may be about a field; 200: an error inside the stream
UNNAMED = frozenset({400, 422})  # statuses of refusals that may be about any field
READ_CHARACTERS = 4000  # of a refusal
CHOICE_CHARACTERS = 40  # of what was chosen
# what servers say of a limit that they know, and that is only too large for this request
_OF_VALUE = re.compile(r"too (?:large|high|big)|range|at most|maximum|less than|exceed|must be <", re.IGNORECASE)
# OpenAI, Azure, DeepSeek, vLLM, SGLang; llama.cpp; Ollama; LM Studio; TGI; Qwen; Mistral; gateways before others
_OVERFLOW = re.compile(
    r"context.length|context.size|context.window|context_exceeded|available context|maximum context|too many tokens"
    r"|(?:prompt|input|request) is too long|tokens to keep|input length|input token count"
    r"|inputs. tokens \+|.inputs. must have less than|longer than the model",
    re.IGNORECASE,
)
_OF_SCHEMA = re.compile(r"invalid schema", re.IGNORECASE)  # another one may do
_LIMITED_STATUSES = frozenset({401, 402, 403, 404, 405, 408, 429})  # of refusals that are about something else


@dataclass(frozen=True, slots=True)
class RefusedField:
    """What to leave out. `is_lasting`: of every request; else of this one, whose value was too large."""

    keys: frozenset[str]
    is_lasting: bool = True


def field_key(name: str, value: Any) -> str:
    """What a field of a request is known by."""
    choice = value.get("type") if isinstance(value, Mapping) else value
    return f"{name}={choice[:CHOICE_CHARACTERS]}" if isinstance(choice, str) else name


def without_fields(request: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """The request without these fields. The limit of tokens goes by its other name first."""
    body: dict[str, Any] = {}
    for name, value in request.items():
        if name in REQUIRED or field_key(name, value) not in keys:
            body[name] = value
        elif name == LIMIT and NEW_LIMIT not in keys:
            body[NEW_LIMIT] = value
    return body


def refused_field(body: Mapping[str, Any], status: int, text: str) -> RefusedField | None:
    """The field that a refusal names first, of those that were sent; None where it is about something else.

    `text`: the body of the refusal. What servers repeat of the request in it does not count.
    """
    optional = [name for name in body if name not in REQUIRED]
    if status not in REFUSING or not optional:
        return None
    name = _parameter(text, optional) or _first_named(text, optional)
    if name is None:
        return None
    if name in (LIMIT, NEW_LIMIT) and _OF_VALUE.search(text[:READ_CHARACTERS]):
        return RefusedField(frozenset({LIMIT, NEW_LIMIT}), is_lasting=False)
    is_lasting = _OF_SCHEMA.search(text[:READ_CHARACTERS]) is None
    return RefusedField(frozenset({field_key(name, body[name])}), is_lasting=is_lasting)


def refused_unnamed(body: Mapping[str, Any], further: Mapping[str, Any], status: int) -> RefusedField | None:
    """The further fields of a request that was refused without a reason in words; None where it has none of them."""
    keys = {field_key(name, value) for name, value in further.items() if name in body}
    return RefusedField(frozenset(keys)) if keys and status in UNNAMED else None


def is_context_overflow(status: int, text: str) -> bool:
    """Whether a refusal says that the prompt is longer than the context of the model."""
    return status not in _LIMITED_STATUSES and _OVERFLOW.search(text[:READ_CHARACTERS]) is not None


def _parameter(text: str, names: Collection[str]) -> str | None:
    """The field in `param` of an error, where the server fills it in."""
    try:
        error = json.loads(text)["error"]
        parameter = error.get("param") if isinstance(error, dict) else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    name = str(parameter or "").partition(".")[0]
    return name if name in names else None


def _first_named(text: str, names: Collection[str]) -> str | None:
    text = text[:READ_CHARACTERS].partition("'input'")[0].partition('"input"')[0]
    words = "|".join(map(re.escape, names))
    match = re.search(rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])", text)
    return match[0] if match else None
