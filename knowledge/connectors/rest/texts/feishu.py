"""Blocks of a Feishu document (docx) as HTML. Source: Feishu open platform, "文档概述" and "块的数据结构"."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

DEEPEST = 40  # blocks within blocks
PAGE, TABLE, CELL = 1, 31, 32
FIRST_HEADING, LAST_HEADING = 3, 11
BULLET, ORDERED, CODE, QUOTE, TODO, DIVIDER = 12, 13, 14, 15, 17, 22
_LISTS = {BULLET: "ul", ORDERED: "ol", TODO: "ul"}
_STYLES = (("bold", "strong"), ("italic", "em"), ("strikethrough", "s"), ("inline_code", "code"))


def blocks_html(blocks: Sequence[Any]) -> str:
    """HTML of the blocks of one document, in the order that its page gives."""
    by_id = {block["block_id"]: block for block in blocks if isinstance(block, Mapping) and block.get("block_id")}
    page = next((block for block in by_id.values() if block.get("block_type") == PAGE), None)
    return _children(page, by_id, 0) if page is not None else ""


def _children(block: Mapping[str, Any], by_id: Mapping[str, Any], depth: int) -> str:
    """What lies in a block; neighbours that are entries of one kind of list become one list."""
    if depth > DEEPEST:
        return ""
    parts, open_list = list[str](), ""
    for child in _blocks(block.get("children"), by_id):
        tag = _LISTS.get(child.get("block_type", 0), "")
        if tag != open_list:
            parts += [f"</{open_list}>\n"] * bool(open_list) + [f"<{tag}>\n"] * bool(tag)
            open_list = tag
        parts.append(_block(child, by_id, depth + 1))
    parts += [f"</{open_list}>\n"] * bool(open_list)
    return "".join(parts)


def _blocks(ids: Any, by_id: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (by_id[own_id] for own_id in ids or () if own_id in by_id)


def _block(block: Mapping[str, Any], by_id: Mapping[str, Any], depth: int) -> str:
    kind, words = block.get("block_type", 0), _words(block)
    if kind == TABLE:
        return _table(block, by_id, depth)
    below = _children(block, by_id, depth)
    if FIRST_HEADING <= kind <= LAST_HEADING:
        level = min(6, kind - FIRST_HEADING + 1)
        return f"<h{level}>{words}</h{level}>\n{below}"
    match kind:
        case _ if kind in _LISTS:
            is_ticked = kind == TODO and _style(block).get("done")
            tick = "" if kind != TODO else "☑ " if is_ticked else "☐ "
            return f"<li>{tick}{words}{below}</li>\n"
        case 14:  # CODE
            return f"<pre><code>{words}</code></pre>\n"
        case 15:  # QUOTE
            return f"<blockquote><p>{words}</p>{below}</blockquote>\n"
        case 22:  # DIVIDER
            return "<hr>\n"
        case 19 | 34:  # callout, container of a quotation
            return f"<blockquote>{below}</blockquote>\n"
        case _:
            return (f"<p>{words}</p>\n" if words else "") + below


def _table(block: Mapping[str, Any], by_id: Mapping[str, Any], depth: int) -> str:
    table = block.get("table") or {}
    columns = (table.get("property") or {}).get("column_size") or 1
    cells = [_children(by_id.get(own_id, {}), by_id, depth + 1) for own_id in table.get("cells") or ()]
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    return f"<table>{''.join('<tr>' + ''.join(f'<td>{cell}</td>' for cell in row) + '</tr>' for row in rows)}</table>\n"


def _content(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a block of text holds: it stands under the name of its kind."""
    values = (value for value in block.values() if isinstance(value, Mapping) and "elements" in value)
    return next(values, {})


def _style(block: Mapping[str, Any]) -> Mapping[str, Any]:
    style = _content(block).get("style")
    return style if isinstance(style, Mapping) else {}


def _words(block: Mapping[str, Any]) -> str:
    return "".join(
        _element(element) for element in _content(block).get("elements") or () if isinstance(element, Mapping)
    )


def _element(element: Mapping[str, Any]) -> str:
    if run := element.get("text_run"):
        words, style = html.escape(str(run.get("content") or "")), run.get("text_element_style") or {}
        for name, tag in _STYLES:
            words = f"<{tag}>{words}</{tag}>" if style.get(name) else words
        url = unquote(str((style.get("link") or {}).get("url") or ""))
        return f'<a href="{html.escape(url)}">{words}</a>' if url else words
    if document := element.get("mention_doc"):
        return html.escape(str(document.get("title") or ""))
    return html.escape(str((element.get("equation") or {}).get("content") or ""))
