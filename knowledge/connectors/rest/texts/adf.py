"""Atlassian Document Format (JSON, as in Jira Cloud) as HTML. Source: Atlassian, "Atlassian Document Format"."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from knowledge.connectors.rest.moments import moment_of

DEEPEST = 60  # nodes within nodes
_PLAIN = {
    "paragraph": "p",
    "bulletList": "ul",
    "orderedList": "ol",
    "listItem": "li",
    "blockquote": "blockquote",
    "panel": "blockquote",
    "table": "table",
    "tableRow": "tr",
    "tableHeader": "th",
    "tableCell": "td",
    "taskList": "ul",
    "decisionList": "ul",
    "decisionItem": "li",
}
_MARKS = {"strong": "strong", "em": "em", "code": "code", "strike": "s"}


def adf_html(node: Mapping[str, Any], depth: int = 0) -> str:
    """HTML of a node and all below it; unknown nodes give what is in them."""
    if depth > DEEPEST or not isinstance(node, Mapping):
        return ""
    kind, attributes = str(node.get("type", "")), _attributes(node)
    if kind == "text":
        return _text(node)
    children = node.get("content")
    inner = "".join(adf_html(child, depth + 1) for child in children) if isinstance(children, list) else ""
    match kind:
        case "heading":
            level = attributes.get("level")
            level = level if isinstance(level, int) and 1 <= level <= 6 else 6
            return f"<h{level}>{inner}</h{level}>\n"
        case "codeBlock":
            language = html.escape(str(attributes.get("language") or ""))
            return f'<pre><code class="language-{language}">{inner}</code></pre>\n'
        case "tableHeader" | "tableCell":
            return _cell(_PLAIN[kind], attributes, inner)
        case "taskItem":
            return f"<li>{'☑' if attributes.get('state') == 'DONE' else '☐'} {inner}</li>\n"
        case "expand" | "nestedExpand":
            title = html.escape(str(attributes.get("title") or ""))
            return f"<p><strong>{title}</strong></p>\n{inner}" if title else inner
        case "hardBreak":
            return "<br>"
        case "rule":
            return "<hr>\n"
        case "mention" | "emoji" | "status":
            return html.escape(str(attributes.get("text") or attributes.get("shortName") or ""))
        case "date":
            moment = moment_of(attributes.get("timestamp"))
            return moment.date().isoformat() if moment else ""
        case "inlineCard" | "blockCard" | "embedCard":
            url = html.escape(str(attributes.get("url") or ""))
            return f'<a href="{url}">{url}</a>' if url else ""
        case "media" | "mediaInline":
            return html.escape(str(attributes.get("alt") or ""))
        case _ if kind in _PLAIN:
            return f"<{_PLAIN[kind]}>{inner}</{_PLAIN[kind]}>\n"
        case _:
            return inner


def _attributes(node: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes = node.get("attrs")
    return attributes if isinstance(attributes, Mapping) else {}


def _text(node: Mapping[str, Any]) -> str:
    words = html.escape(str(node.get("text") or ""))
    for mark in node.get("marks") or ():
        kind, attributes = mark.get("type"), _attributes(mark)
        if kind in _MARKS:
            words = f"<{_MARKS[kind]}>{words}</{_MARKS[kind]}>"
        elif kind == "subsup" and attributes.get("type") in ("sub", "sup"):
            words = f"<{attributes['type']}>{words}</{attributes['type']}>"
        elif kind == "link":
            words = f'<a href="{html.escape(str(attributes.get("href") or ""))}">{words}</a>'
    return words


def _cell(tag: str, attributes: Mapping[str, Any], inner: str) -> str:
    spans = "".join(
        f' {name}="{attributes[name]}"'
        for name in ("colspan", "rowspan")
        if isinstance(attributes.get(name), int) and attributes[name] > 1
    )
    return f"<{tag}{spans}>{inner}</{tag}>"
