"""Wiki markup of Jira and Textile (Redmine) as HTML: the parts that carry text.

Both are read line by line by one reader; a dialect says how cells of a heading, code and links are written.
Sources: Atlassian, "Text formatting notation"; textile-lang.com.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"^\s*h([1-6])\.\s+(.*)$")
_ENTRY = re.compile(r"^\s*([*#-]+)\s+(.*)$")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_FENCE = re.compile(r"^\s*\{(code|noformat|quote|panel)(?::([^}]*))?\}(.*)$")
_END = {name: re.compile(rf"\{{{name}(?::[^}}]*)?\}}") for name in ("code", "noformat", "quote", "panel")}
_PRE = re.compile(r"^\s*<pre>(?:\s*<code[^>]*>)?(.*)$", re.IGNORECASE)
_PRE_END = re.compile(r"(?:</code>\s*)?</pre>", re.IGNORECASE)
_RULE = re.compile(r"^\s*-{4,}\s*$")
_BLOCK = re.compile(r"^\s*(?:bq|p)\.\s+")
_WORD = r"(?<![\w{0}]){0}(?=\S)([^{0}\n]+?)(?<=\S){0}(?![\w{0}])"
_BOLD, _EM = re.compile(_WORD.format(r"\*")), re.compile(_WORD.format("_"))
_JIRA_LINK = re.compile(r"\[(?:([^|\[\]\n]+)\|)?((?:https?://|mailto:)[^|\[\]\s]+)(?:\|[^\]]*)?\]")
_JIRA_NAMED = re.compile(r"\[([^|\[\]\n]+)\|([^\[\]\n]+)\]|\[~([\w.@:-]+)\]")
_JIRA_MONO = re.compile(r"\{\{([^{}\n]{1,1000})\}\}")
_JIRA_COLOUR = re.compile(r"\{color(?::[^}]*)?\}|\{anchor:[^}]*\}")
_JIRA_IMAGE = re.compile(r"!([^!\s|]+\.\w{2,5})(?:\|[^!]*)?!")
_TEXTILE_LINK = re.compile(r"&quot;([^&\n]+?)&quot;:((?:https?://|mailto:)\S*[\w/])")
_TEXTILE_MONO = re.compile(r"@([^@\n]+)@")
_TEXTILE_WIKI = re.compile(r"\[\[(?:[^\[\]|\n]{0,500}\|)?([^\[\]\n]{1,500})\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    inline: Callable[[str], str]
    cells: Callable[[str], Iterator[tuple[str, str]]]  # tag and text of each


def jira_html(text: str) -> str:
    """HTML of Jira's wiki markup."""
    return "".join(_blocks(text, _Dialect(inline=_jira_inline, cells=_jira_cells)))


def textile_html(text: str) -> str:
    """HTML of Textile."""
    return "".join(_blocks(text, _Dialect(inline=_textile_inline, cells=_textile_cells)))


def _blocks(text: str, dialect: _Dialect) -> Iterator[str]:
    """Each block of the text, in order."""
    lines, paragraph = text.replace("\r\n", "\n").split("\n"), list[str]()

    def ended() -> Iterator[str]:
        if paragraph:
            yield f"<p>{'<br>'.join(map(dialect.inline, paragraph))}</p>\n"
            paragraph.clear()

    place = 0
    while place < len(lines):
        line = lines[place]
        if (block := _fenced(lines, place, dialect)) is not None:
            yield from ended()
            markup, place = block
            yield markup
            continue
        if (block := _grouped(lines, place, dialect)) is not None:
            yield from ended()
            markup, place = block
            yield markup
            continue
        place += 1
        if match := _HEADING.match(line):
            yield from ended()
            yield f"<h{match[1]}>{dialect.inline(match[2])}</h{match[1]}>\n"
        elif _RULE.match(line) or not line.strip():
            yield from ended()
        elif line.lstrip().startswith("bq."):
            yield from ended()
            yield f"<blockquote><p>{dialect.inline(_BLOCK.sub('', line))}</p></blockquote>\n"
        else:
            paragraph.append(_BLOCK.sub("", line).strip())
    yield from ended()


def _fenced(lines: list[str], place: int, dialect: _Dialect) -> tuple[str, int] | None:
    """What stands between two marks, and the line behind it: code as it is, quotations and panels with their markup."""
    if match := _PRE.match(lines[place]):
        inner, behind = _until(lines, place, match[1], _PRE_END)
        return f"<pre><code>{html.escape(html.unescape(inner))}</code></pre>\n", behind
    match = _FENCE.match(lines[place])
    if match is None:
        return None
    name, arguments = match[1], match[2] or ""
    inner, behind = _until(lines, place, match[3], _END[name])
    if name in ("code", "noformat"):
        language = arguments.partition("|")[0] if "=" not in arguments.partition("|")[0] else ""
        attribute = f' class="language-{html.escape(language)}"' if language else ""
        return f"<pre><code{attribute}>{html.escape(inner)}</code></pre>\n", behind
    title = next((part.partition("=")[2] for part in arguments.split("|") if part.startswith("title=")), "")
    head = f"<p><strong>{html.escape(title)}</strong></p>\n" if title else ""
    return f"<blockquote>{head}{''.join(_blocks(inner, dialect))}</blockquote>\n", behind


def _until(lines: list[str], place: int, first: str, end: re.Pattern[str]) -> tuple[str, int]:
    """The text up to the mark of the end, or to the end of all; the number of the line behind it."""
    inner, line = list[str](), first
    while True:
        if match := end.search(line):
            inner.append(line[: match.start()])
            return "\n".join(inner).strip("\n"), place + 1
        inner.append(line)
        place += 1
        if place >= len(lines):
            return "\n".join(inner).strip("\n"), place
        line = lines[place]


def _grouped(lines: list[str], place: int, dialect: _Dialect) -> tuple[str, int] | None:
    """Lines that are one list or one table, and the line behind them."""
    for pattern, make in ((_ENTRY, _list), (_ROW, _table)):
        behind = place
        while behind < len(lines) and pattern.match(lines[behind]) and not _RULE.match(lines[behind]):
            behind += 1
        if behind > place:
            return make(lines[place:behind], dialect), behind
    return None


def _list(lines: list[str], dialect: _Dialect) -> str:
    """Entries by their marks: `**` lies in the `*` before it."""
    parts, opened = list[str](), list[str]()
    for line in lines:
        match = _ENTRY.match(line)
        marks, words = (match[1], match[2]) if match else ("*", line)
        tags = ["ol" if mark == "#" else "ul" for mark in marks[:8]]
        while opened and (len(opened) > len(tags) or opened[-1] != tags[len(opened) - 1]):
            parts.append(f"</li></{opened.pop()}>")
        if len(opened) == len(tags):
            parts.append("</li>")
        for tag in tags[len(opened) :]:
            opened.append(tag)
            parts.append(f"<{tag}>" + ("<li>" if len(opened) < len(tags) else ""))
        parts.append(f"<li>{dialect.inline(words)}")
    parts += [f"</li></{tag}>" for tag in reversed(opened)]
    return "".join(parts) + "\n"


def _table(lines: list[str], dialect: _Dialect) -> str:
    rows = ("".join(f"<{tag}>{dialect.inline(text)}</{tag}>" for tag, text in dialect.cells(line)) for line in lines)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>\n"


def _jira_cells(line: str) -> Iterator[tuple[str, str]]:
    """`||heading||` and `|cell|`; bars within links part nothing."""
    inner = re.sub(r"\[[^\]]*\]", lambda match: match[0].replace("|", "\x01"), line.strip().rstrip("|"))
    for match in re.finditer(r"(\|{1,2})([^|]*)", inner):
        yield "th" if match[1] == "||" else "td", match[2].replace("\x01", "|").strip()


def _textile_cells(line: str) -> Iterator[tuple[str, str]]:
    """`|_.heading|` and `|cell|`, with marks of alignment and spans before a dot."""
    for cell in line.strip().strip("|").split("|"):
        match = re.match(r"^(_?)([<>=~^/\\\d_]*)\.\s*(.*)$", cell)
        if match and (match[1] or match[2]):
            yield "th" if match[1] else "td", match[3].strip()
        else:
            yield "td", cell.strip()


def _emphasis(words: str) -> str:
    return _EM.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", words))


def _jira_inline(line: str) -> str:
    words = _JIRA_IMAGE.sub(r"\1", _JIRA_COLOUR.sub("", html.escape(line, quote=False)))
    words = _emphasis(words)
    words = _JIRA_MONO.sub(r"<code>\1</code>", words)
    words = _JIRA_LINK.sub(lambda match: f'<a href="{match[2]}">{match[1] or match[2]}</a>', words)
    return _JIRA_NAMED.sub(lambda match: match[1] or f"@{match[3]}", words)


def _textile_inline(line: str) -> str:
    words = html.escape(line)
    words = _TEXTILE_LINK.sub(r'<a href="\2">\1</a>', words)
    words = _TEXTILE_MONO.sub(r"<code>\1</code>", words)
    return _TEXTILE_WIKI.sub(r"\1", _emphasis(words))
