"""Markdown of documents as safe HTML, with the cited sentences marked and their own pictures."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import islice
from typing import Any

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from ragcore.text.code_blocks import code_blocks, is_block, verbatim_parts
from ragcore.text.sentences import split_sentences

MARK_FROM = 0.45  # share of the claim's terms that a sentence must have to be marked
QUOTED_FROM = 0.95  # the share from which a sentence counts as the one that was quoted
MARKED_AT_MOST = 3  # sentences
MAX_LEVELS = 120
_CODE = frozenset({"fence", "code_block"})
_MARKED = "marked"  # of a token: the lines of its code that were quoted
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
    parser.add_render_rule("fence", _render_code)
    parser.add_render_rule("code_block", _render_code)
    parser.options["maxNesting"] = MAX_LEVELS  # deeper lists and quotes would be left out
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


def _render_code(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A block of code, the lines that were quoted in `<mark>`."""
    rest, marked_up = tokens[index].content, ""
    for lines in tokens[index].meta.get(_MARKED, ()):
        before, quoted, behind = rest.partition(lines)
        if quoted:
            marked_up, rest = f"{marked_up}{escape(before)}<mark>{escape(quoted)}</mark>", behind
    return f"<pre><code>{marked_up}{escape(rest)}</code></pre>\n"


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
    parts = [match.group().lower() for match in _TERM.finditer(_MARKER.sub("", text))]
    words = {word for word in parts if word.isascii()}
    pairs = {a + b for a, b in zip(parts, parts[1:], strict=False) if not a.isascii() and not b.isascii()}
    return frozenset(words | pairs)


def marked_places(text: str, claim: str) -> tuple[int, ...]:
    """Which sentences, rows and blocks of code carry the claim, by their number from 0 (`sentence_texts`)."""
    return tuple(_best(list(_candidates(_renderer().parse(text))), claim)) if claim else ()


def sentence_texts(text: str, places: Collection[int]) -> list[str]:
    """The sentences and rows of a passage with these numbers, as a reader sees them."""
    candidates = islice(_candidates(_renderer().parse(text)), max(places, default=-1) + 1)
    return [
        " ".join(part for _token, part in candidate.parts)
        for number, candidate in enumerate(candidates)
        if number in places
    ]


def citation_texts(text: str, claim: str) -> list[str]:
    """The sentences and rows that carry the claim; without any the first ones that are no headings."""
    candidates = list(_candidates(_without_headings(_renderer().parse(text))))
    chosen = sorted(_best(candidates, claim)) or range(min(2, len(candidates)))
    return [" ".join(part for _token, part in candidates[number].parts) for number in chosen]


def _without_headings(tokens: list[Token]) -> list[Token]:
    after_heading = [before.type == "heading_open" for before in tokens]
    return [token for token, is_heading in zip(tokens, [False, *after_heading], strict=False) if not is_heading]


def _mark(tokens: list[Token], claim: str) -> None:
    """Wrap the sentences that share most terms with the claim; none if none shares enough."""
    candidates = list(_candidates(tokens))
    for number in _best(candidates, claim):
        for token, part in candidates[number].parts:
            if token.type in _CODE:
                token.meta = {**token.meta, _MARKED: _quoted_lines(claim, part)}
            else:
                token.children = _wrapped(token.children or [], part)


def _quoted_lines(claim: str, code: str) -> list[str]:
    """The pieces of code that a claim quotes, in order; all of it where it quotes none letter by letter."""
    lines = [part for block in code_blocks(claim) for part in verbatim_parts(block.code) if part in code]
    return lines or [code.rstrip("\n")]


def _best(candidates: Sequence[_Candidate], claim: str) -> list[int]:
    """Numbers of the candidates that carry the claim, the best first.

    Where one has all of the claim's terms, only those that have; they are what was quoted.
    """
    claim_terms = terms(code_blocks(claim)[0].code if is_block(claim) else claim)
    if not claim_terms:
        return []
    rated = [(share(candidate.text, claim_terms), -number) for number, candidate in enumerate(candidates)]
    best = sorted(rated, reverse=True)[:MARKED_AT_MOST]
    if not best:
        return []
    least = QUOTED_FROM if best[0][0] >= QUOTED_FROM else max(MARK_FROM, best[0][0] * 0.7)
    return [-number for score, number in best if score >= least]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What may be marked: a sentence, a row of a table, or a block of code."""

    text: str  # by which it is found; of a row with the names of its columns
    parts: Sequence[tuple[Token, str]]  # where it stands


def _candidates(tokens: list[Token]) -> Iterator[_Candidate]:
    row: list[tuple[Token, str]] | None = None
    head: list[str] = []
    in_head = False
    for token in tokens:
        if token.type in ("thead_open", "thead_close"):
            in_head = token.type == "thead_open"
            head = [] if in_head else head
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            if in_head:
                head = [text for _cell, text in row]
            elif row:
                yield _Candidate(" ".join([*head, *(text for _cell, text in row)]), row)
            row = None
        elif token.type in _CODE:
            yield _Candidate(token.content, [(token, token.content)])
        elif token.type == "inline" and token.children:
            text = _text_of(token).strip()
            if row is not None:
                row.extend([(token, text)] if text else [])
            else:
                yield from (_Candidate(sentence, [(token, sentence.strip())]) for sentence in split_sentences(text))


def share(sentence: str, claim_terms: frozenset[str]) -> float:
    """Share of the wanted terms that the sentence has, 0 to 1."""
    return len(terms(sentence) & claim_terms) / len(claim_terms)


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
