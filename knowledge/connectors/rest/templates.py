"""Expressions over JSON, and texts with expressions in braces."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import jmespath
from django.utils.translation import gettext as _
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from knowledge.connectors.rest.faults import expression_told

DEEPEST = 20  # lists in lists
MAX_VALUE = 2_000_000  # characters of one value in a text
_BRACES = re.compile(r"\{([^{}]+)\}")
_AS = re.compile(r"^(.*?)\s+as\s+([\w$]+)$", re.DOTALL)
_PAGE_ADDRESS = re.compile(r"^https?://", re.IGNORECASE)


@lru_cache(maxsize=512)
def compiled(expression: str) -> ParsedResult:
    return jmespath.compile(expression)


def value_of(expression: str, values: Any) -> Any:
    """What an expression finds; None for an empty one, and where a function does not take what is there."""
    if not expression:
        return None
    try:
        return compiled(expression).search(values)
    except JMESPathError:
        return None


def strict_value_of(expression: str, values: Any) -> Any:
    """As value_of. Raises JMESPathError where a function does not take what is there."""
    return compiled(expression).search(values) if expression else None


def text_of(value: Any, depth: int = 0) -> str:
    """A value as text: lists are joined, objects are none."""
    if value is None or isinstance(value, Mapping) or depth > DEEPEST:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(filter(None, (text_of(entry, depth + 1) for entry in value)))
    return str(value)[:MAX_VALUE].replace("\x00", "").strip()


def texts_of(value: Any, depth: int = 0) -> list[str]:
    """A value as texts, each once, in order; lists in lists become one."""
    if isinstance(value, list) and depth <= DEEPEST:
        return list(dict.fromkeys(text for entry in value for text in texts_of(entry, depth + 1)))
    return [text] if (text := text_of(value)) else []


def filled(template: str, values: Mapping[str, Any]) -> str:
    """A text: expressions in braces become what they find."""
    return _BRACES.sub(lambda match: text_of(value_of(match[1].strip(), values)), template).strip()


def filled_address(template: str, values: Mapping[str, Any]) -> str:
    """An address: what expressions find is quoted, `as path` but for slashes and colons.

    An address that an expression finds stays as it is at the beginning; a path also behind {base}.
    """

    def part(match: re.Match[str]) -> str:
        expression, kind = _with_format(match[1])
        text = text_of(value_of(expression, values))
        before = template[: match.start()].strip()
        if (not before and _PAGE_ADDRESS.match(text)) or (before in ("", "{base}") and text.startswith("/")):
            return text
        return quote(text, safe="/:" if kind == "path" else "")

    return _BRACES.sub(part, template.strip())


def filled_html(template: str, values: Mapping[str, Any], *, formats: Mapping[str, Callable[[Any], str]]) -> str:
    """HTML: `{expression as format}` becomes what the format makes of the value, others plain text.

    `as $name` takes the format that the parameter of this name says; an unknown one is "text".
    """

    def part(match: re.Match[str]) -> str:
        expression, kind = _with_format(match[1])
        if kind.startswith("$"):
            kind = text_of(values.get(kind[1:]))
        value = value_of(expression, values)
        return formats[kind if kind in formats else "text"](value) if kind else html.escape(text_of(value))

    return _BRACES.sub(part, template)


def template_faults(template: str, *, formats: Collection[str]) -> str:
    """What is wrong with a template; empty if nothing is."""
    for match in _BRACES.finditer(template):
        expression, kind = _with_format(match[1])
        if kind and not kind.startswith("$") and kind not in formats:
            return _("There is no format “%(name)s”. There are: %(names)s.") % {
                "name": kind,
                "names": ", ".join(formats),
            }
        try:
            compiled(expression)
        except (JMESPathError, RecursionError) as problem:
            return expression_told(expression, problem)
    return ""


def _with_format(inner: str) -> tuple[str, str]:
    match = _AS.match(inner.strip())
    return (match[1].strip(), match[2]) if match else (inner.strip(), "")
