"""Texts of systems as HTML: each format is a function of the value that an expression found.

A format is registered here by the name that templates give it: `{detail.body as confluence}`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

from knowledge.connectors.rest.texts.adf import adf_html
from knowledge.connectors.rest.texts.confluence import storage_html
from knowledge.connectors.rest.texts.feishu import blocks_html
from knowledge.connectors.rest.texts.markup import jira_html, textile_html
from knowledge.connectors.rest.texts.plain import markdown_html, plain_html

Format = Callable[[Any], str]


def _html(value: Any) -> str:
    """What is HTML already."""
    return value if isinstance(value, str) else ""


def _of_text(make: Callable[[str], str]) -> Format:
    """A format of texts; what is none becomes one, lists line by line."""

    def made(value: Any) -> str:
        if isinstance(value, list):
            return "".join(made(entry) for entry in value)
        if value is None or isinstance(value, Mapping):
            return ""
        return make(str(value)) if str(value).strip() else ""

    return made


FORMATS: Mapping[str, Format] = {
    "text": _of_text(plain_html),
    "html": _html,
    "markdown": _of_text(markdown_html),
    "textile": _of_text(textile_html),
    "jira": _of_text(jira_html),
    "confluence": _of_text(storage_html),
    "adf": lambda value: adf_html(value) if isinstance(value, Mapping) else "",
    "feishu": lambda value: blocks_html(value) if isinstance(value, list) else "",
    "code": _of_text(lambda text: f"<pre><code>{html.escape(text)}</code></pre>"),
}
