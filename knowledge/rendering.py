"""Markdown of documents as safe HTML, with the cited sentences marked (B3) and their own pictures (D26)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import Any

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from ragcore.text.sentences import split_sentences

MARK_FROM = 0.45  # share of the claim's terms that a sentence must have to be marked
MARKED_AT_MOST = 3  # sentences
_TERM = re.compile(r"[a-z0-9][a-z0-9_.\-]*[a-z0-9]|[a-z0-9]|[\u3400-\u9fff]", re.IGNORECASE)
_PICTURE = re.compile(r"picture:([A-Za-z0-9._-]{1,128})")
_MARKER = re.compile(r"\[\d{1,3}\]")
_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6"),
    *(
        "hr",
        "img",
        "li",
        "mark",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ),
}


_ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt", "loading"}}


def markdown_html(text: str, *, claim: str = "", version_id: int | None = None) -> SafeString:
    """Markdown as sanitised HTML; sentences that carry the claim are in `<mark>`.

    `![…](picture:NAME)` shows that picture of the version; of every other picture only its words are left, so that
    nothing is ever loaded from elsewhere.
    """
    tokens = _renderer().parse(text)
    if claim:
        _mark(tokens, claim)
    html = _renderer().renderer.render(_with_figures(tokens), _renderer().options, {"version_id": version_id})
    return mark_safe(nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https"}))  # noqa: S308


@cache
def _renderer() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _render_image)
    return parser


def _render_image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A figure that opens the picture in full; in a line of text, the bare picture."""
    token, version_id = tokens[index], env.get("version_id")
    words = escape(token.content)
    name = _PICTURE.fullmatch(str(token.attrGet("src")))
    if name is None or version_id is None:
        return words
    address = reverse("knowledge:picture", args=[version_id, name[1]])
    image = f'<img src="{address}" alt="{words}" loading="lazy">'
    if len(tokens) > 1:
        return image
    caption = f"<figcaption>{words}</figcaption>" if words else ""
    return f'<figure><a href="{address}">{image}</a>{caption}</figure>'


def _with_figures(tokens: list[Token]) -> list[Token]:
    """Paragraphs that hold one picture only become blocks without a paragraph, which may not hold a figure."""
    alone = {
        place
        for place, token in enumerate(tokens)
        if token.type == "inline" and [child.type for child in token.children or []] == ["image"]
    }
    around = {place + step for place in alone for step in (-1, 1) if tokens[place + step].type.startswith("paragraph_")}
    return [token for place, token in enumerate(tokens) if place not in around]


def terms(text: str) -> frozenset[str]:
    """Latin words and pairs of neighbouring CJK characters, lower case; citation markers left out."""
    found = [match.group().lower() for match in _TERM.finditer(_MARKER.sub("", text))]
    words = {word for word in found if word.isascii()}
    pairs = {a + b for a, b in zip(found, found[1:], strict=False) if not a.isascii() and not b.isascii()}
    return frozenset(words | pairs)


def _mark(tokens: list[Token], claim: str) -> None:
    """Wrap the sentences that share most terms with the claim; none if none shares enough."""
    wanted = terms(claim)
    if not wanted:
        return
    rated = [(share(text, wanted), inside) for text, inside in _candidates(tokens)]
    best = sorted(rated, key=lambda item: item[0], reverse=True)[:MARKED_AT_MOST]
    for score, inside in best:
        if score >= max(MARK_FROM, best[0][0] * 0.7):
            for token, part in inside:
                token.children = _wrapped(token.children or [], part)


def _candidates(tokens: list[Token]) -> Iterator[tuple[str, list[tuple[Token, str]]]]:
    """What may be marked: the text of a sentence or of a row of a table, and where it stands."""
    row: list[tuple[Token, str]] | None = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row:
            yield " ".join(text for _cell, text in row), row
            row = None
        elif token.type == "inline" and token.children:
            text = _text_of(token).strip()
            if row is not None:
                row.extend([(token, text)] if text else [])
            else:
                yield from ((sentence, [(token, sentence.strip())]) for sentence in split_sentences(text))


def share(sentence: str, wanted: frozenset[str]) -> float:
    """Share of the wanted terms that the sentence has, 0 to 1."""
    return len(terms(sentence) & wanted) / len(wanted)


def _text_of(token: Token) -> str:
    return "".join(_plain(child) for child in token.children or [])


def _plain(child: Token) -> str:
    return " " if child.type in ("softbreak", "hardbreak") else child.content


def _wrapped(children: list[Token], sentence: str) -> list[Token]:
    """The same inline tokens with `<mark>` around the characters of the sentence, text token by text token."""
    start = "".join(_plain(child) for child in children).find(sentence)
    if start < 0:
        return children
    end, position, result = start + len(sentence), 0, []
    for child in children:
        length = len(_plain(child))
        low, high = max(start - position, 0), min(end - position, length)
        position += length
        if child.type not in ("text", "code_inline") or low >= high:
            result.append(child)
        elif child.type == "code_inline":
            result.extend([_tag("<mark>"), child, _tag("</mark>")])
        else:
            parts = (child.content[:low], child.content[low:high], child.content[high:])
            result.extend([_words(parts[0]), _tag("<mark>"), _words(parts[1]), _tag("</mark>"), _words(parts[2])])
    return result


def _words(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _tag(html: str) -> Token:
    return Token("html_inline", "", 0, content=html)
