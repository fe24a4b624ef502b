"""Markdown of answers to safe HTML.

Nothing that a model writes becomes a link or a picture unless its address is that of a source; `[n]` becomes a button
outside of code; sentences that are not well supported are marked; formulas and code are set as such.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count, islice, pairwise
from typing import Any, cast

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.rendering.code import highlighted_code
from chat.rendering.effort import Effort, TooMuchError, limit_effort
from chat.rendering.formulas import ATTRIBUTES as FORMULA_ATTRIBUTES
from chat.rendering.formulas import TAGS as FORMULA_TAGS
from chat.rendering.formulas import formula_mathml
from chat.rendering.table_heads import label_cells
from ragcore.answerability import is_doubtful
from ragcore.grounding.citations import Segments
from ragcore.text.code_blocks import is_block
from ragcore.text.scripts import language_tag

_OPEN, _CLOSE = "\ue000", "\ue001"  # private use: around a marked sentence, `OPEN index OPEN … CLOSE`
_PLACE = "\ue002"  # the same: behind a marker the number of its place in the text, `[n]PLACE index PLACE`
_CITE = re.compile(rf"\[(\d{{1,3}})\](?:{_PLACE}(\d+){_PLACE})?")
_MARKER = re.compile(r"\[\d{1,3}\]")
_SPAN = re.compile(f"{_OPEN}(\\d+){_OPEN}|{_CLOSE}")
LEAST_CLAIM = 12  # letters and digits of a part of a sentence that can be looked for by itself
_PLACES = re.compile(f"{_PLACE}\\d+{_PLACE}")
_PRIVATE_ENTITY = re.compile(r"&#(?:x0*e00[012]|0*5734[456]);?", re.IGNORECASE)  # would become those characters
_DOLLARS = re.compile(  # prices are none: `$5 and $10`, `US$ and A$`
    r"\$\$(?P<block>[^$]+)\$\$|\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d)"
)
_ROUND_END = re.compile(r"\\\)")
_SQUARE_END = re.compile(r"\\\](?=[ \t]*[.,;。，；]?[ \t]*(?:\n|\Z))")  # not an escaped bracket within a line
_TAGS = (
    "a p br hr h1 h2 h3 h4 h5 h6 strong em s ul ol li blockquote pre code table thead tbody tr th td img span button"
)
_NOTICE_TAGS = {"a", "p", "br", "strong", "em", "s", "ul", "ol", "li", "code"}
_ATTRIBUTES = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "li"), {"lang"}),
    "p": {"lang", "class"},
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "ol": {"start"},
    "th": {"class", "lang"},
    "td": {"class", "lang", "data-head"},
    "code": {"class"},
    "button": {"class", "type", "data-cite", "data-place"},
    "span": {"class", "tabindex", "data-support-reason"},
}
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def render_markdown(
    text: str,
    *,
    citations: Collection[int] = (),
    sentences: Sequence[Mapping[str, Any]] = (),
    addresses: Collection[str] = (),
    with_places: bool = False,
    with_languages: bool = False,
) -> str:
    """Sanitised HTML. `citations`: numbers that become buttons; `sentences`: with text, support and reason, in order;
    `addresses`: URLs of sources that may be linked or shown; `with_places`: markers tell which one of the text they
    are, as `claim_at` takes it; `with_languages`: Chinese and English paragraphs, points and cells say so, for screen
    readers. What takes too long, or has too many levels, is shown as it was written.

    Computes for up to some seconds: call it in a thread, never on the event loop.
    """
    marked, spans = _with_spans(_without_private(text), sentences)
    marked = _with_places(marked) if with_places else marked
    env = {"citations": frozenset(citations), "addresses": frozenset(addresses), "effort": Effort()}
    env["with_languages"] = with_languages
    try:
        rendered = markdown_parser().render(marked, env)
    except (TooMuchError, RecursionError):
        rendered = _plain(marked, env)
    rendered = _PLACES.sub("", rendered)
    return _sanitize(_SPAN.sub(lambda match: _span_tag(match, spans), rendered))


def render_notice(text: str) -> str:
    """Sanitised HTML of words that administrators write: emphasis, lists, code, and links to http and https addresses.

    Pictures, headings, tables and everything else lose their marks and keep their words.
    """
    tokens = [child for token in markdown_parser().parse(text) for child in token.children or ()]
    addresses = {str(child.attrGet("href")) for child in tokens if child.type == "link_open"}
    return nh3.clean(
        render_markdown(text, addresses=addresses),
        tags=_NOTICE_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer",
    )


def claim_at(text: str, place: int) -> str:
    """What an answer claims with its marker number `place`, from 0; "" where it has none such.

    That is the sentence that carries it, or where it carries several the part in front of this one.
    """
    marker = next(islice(_MARKER.finditer(text), place, None), None) if place >= 0 else None
    if marker is None:
        return ""
    whole = Segments(text).at(marker.start())
    if is_block(whole):
        return whole
    before = text[max(0, text.rfind(whole, 0, marker.end() + len(whole))) : marker.start()]
    parts = [part.strip() for part in _MARKER.split(before) if sum(map(str.isalnum, part)) >= LEAST_CLAIM]
    return parts[-1] if parts else whole


def _with_places(text: str) -> str:
    places = count()
    return _MARKER.sub(lambda match: f"{match[0]}{_PLACE}{next(places)}{_PLACE}", text)


# ── markdown-it ─────────────────────────────────────────────────────────────────────────────────


@cache
def markdown_parser() -> MarkdownIt:
    """The parser of answers; `env["effort"]` limits what a text may cost."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline", "reference"])
    parser.inline.ruler.before("link", "cite", _cite)
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.core.ruler.push("languages", _tell_languages)
    parser.core.ruler.push("block_markers", _mark_block_markers)
    parser.core.ruler.push("table_heads", lambda state: label_cells(state.tokens, _without_marks))
    limit_effort(parser)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _tell_languages(state: StateCore) -> None:
    """`lang` at each block that is surely Chinese or English, where that is asked for."""
    if not state.env.get("with_languages"):
        return
    for at, token in enumerate(state.tokens):
        if token.type == "inline" and (tag := language_tag(_without_marks(token.content))):
            above = state.tokens[at - 1]  # a paragraph of a point without empty lines has no tag of its own
            (state.tokens[at - 2] if above.hidden and at > 1 else above).attrSet("lang", tag)


def _mark_block_markers(state: StateCore) -> None:
    """A paragraph of nothing but markers is the source of the block above it; the style sheet puts it there."""
    for above, token in pairwise(state.tokens):
        if token.type == "inline" and above.type == "paragraph_open" and token.children:
            between = (child for child in token.children if child.type != "cite")
            if token.children[0].type == "cite" and all(not child.content.strip() for child in between):
                above.attrSet("class", "block-source")


def _cite(state: StateInline, silent: bool) -> bool:
    """`[n]` as a token of its own, before the rule for links sees the bracket."""
    match = _CITE.match(state.src, state.pos)
    if match is None or int(match[1]) not in state.env.get("citations", ()):
        return False
    if not silent:
        token = state.push("cite", "", 0)
        token.content, token.info = match[1], match[2] or ""
    state.pos = match.end()
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    """A formula as a token of its own, before `\\(` becomes a bracket and `_` emphasis.

    One dollar sign is a formula only if it reads as one; the other forms stay as they were written, in code.
    """
    if state.src[state.pos] not in "$\\":
        return False
    formula = _dollars(state) if state.src[state.pos] == "$" else _bracketed(state)
    if formula is None or _OPEN in formula.whole or _CLOSE in formula.whole:
        return False
    markup = _formula_markup(state, formula)
    if markup is None and formula.is_doubtful:
        return False
    if not silent:
        state.push("formula", "", 0).content = markup or f"<code>{html.escape(formula.whole)}</code>"
    state.pos += len(formula.whole)
    return True


@dataclass(frozen=True, slots=True)
class _Written:
    """A formula with its marks, without them, and how it is set."""

    whole: str
    source: str
    is_display: bool
    is_doubtful: bool = False  # one dollar sign may be a price


def _dollars(state: StateInline) -> _Written | None:
    match = _DOLLARS.match(state.src, state.pos)
    if match is None:
        return None
    is_inline = match.lastgroup == "inline"
    return _Written(match[0], match[match.lastgroup or 0], is_display=not is_inline, is_doubtful=is_inline)


def _bracketed(state: StateInline) -> _Written | None:
    """`\\(…\\)`, or `\\[…\\]` at the beginning of a line and up to the end of one."""
    start, kind = state.pos, state.src[state.pos + 1 : state.pos + 2]
    if kind not in ("(", "[") or (kind == "[" and start > 0 and state.src[start - 1] != "\n"):
        return None
    ends = _ends(state, kind)
    place = bisect_left(ends, start + 3)  # something stands between
    if place == len(ends):
        return None
    return _Written(state.src[start : ends[place] + 2], state.src[start + 2 : ends[place]], is_display=kind == "[")


def _ends(state: StateInline, kind: str) -> list[int]:
    """Where formulas end in this text. Looked for once: many that begin and never end would take quadratic time."""
    ends = state.env.setdefault("formula_ends", {})
    if ends.get(kind, ("",))[0] != state.src:
        expression = _ROUND_END if kind == "(" else _SQUARE_END
        ends[kind] = (state.src, [match.start() for match in expression.finditer(state.src)])
    return cast(list[int], ends[kind][1])


def _formula_markup(state: StateInline, formula: _Written) -> str | None:
    """MathML, computed once for a formula: markers of links are read several times."""
    markups = state.env.setdefault("formulas", {})
    key = (formula.source, formula.is_display)
    if key not in markups:
        make = partial(formula_mathml, _PLACES.sub("", formula.source).strip(), display=formula.is_display)
        markups[key] = state.env["effort"].decorate(make) if "effort" in state.env else make()
    return cast("str | None", markups[key])


def _plain(text: str, env: Mapping[str, Any]) -> str:
    """Paragraphs of the text as it was written, with its markers and marks of support."""
    marked_up = _CITE.sub(lambda match: _plain_marker(match, env), html.escape(text))
    paragraphs = (part.strip("\n").replace("\n", "<br>\n") for part in _BLANK_LINES.split(marked_up))
    return "".join(f"<p>{part}</p>\n" for part in paragraphs if part.strip())


def _plain_marker(match: re.Match[str], env: Mapping[str, Any]) -> str:
    return _marker(match[1], match[2] or "") if int(match[1]) in env["citations"] else match[0]


def _render_formula(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return tokens[index].content


def _render_cite(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return _marker(tokens[index].content, tokens[index].info)


def _marker(number: str, place: str) -> str:
    which = f' data-place="{place}"' if place else ""
    return f'<button class="cite" type="button" data-cite="{number}"{which}>{number}</button>'


def _render_image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    alt = html.escape(token.content)
    source = str(token.attrGet("src"))
    return f'<img src="{html.escape(source)}" alt="{alt}">' if source in env.get("addresses", ()) else alt


def _render_link(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    address = str(tokens[index].attrGet("href"))
    return f'<a href="{html.escape(address)}">' if address in env.get("addresses", ()) else ""


def _render_link_end(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Only a link that was opened is closed; links do not nest."""
    opened = next(token for token in reversed(tokens[:index]) if token.type == "link_open")
    return "</a>" if str(opened.attrGet("href")) in env.get("addresses", ()) else ""


def _render_fence(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    language = _LANGUAGE.match(token.info.strip())
    name = f' class="language-{language[0]}"' if language else ""
    content = _without_marks(token.content)
    effort = env["effort"]
    coloured = effort.decorate(
        partial(highlighted_code, content, language[0] if language else "", seconds=effort.for_code())
    )
    return f"<pre><code{name}>{html.escape(content) if coloured is None else coloured}</code></pre>\n"


def _render_cell(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Language, head, and alignment as a class: inline styles are forbidden by our content security policy."""
    token = tokens[index]
    alignment = re.search(r"text-align:\s*(left|right|center)", str(token.attrGet("style") or ""))
    attributes = f' class="align-{alignment[1]}"' if alignment else ""
    attributes += "".join(
        f' {name}="{html.escape(str(value))}"' for name in ("lang", "data-head") if (value := token.attrGet(name))
    )
    return f"<{token.tag}{attributes}>"


_RULES = {
    "cite": _render_cite,
    "formula": _render_formula,
    "image": _render_image,
    "link_open": _render_link,
    "link_close": _render_link_end,
    "fence": _render_fence,
    "th_open": _render_cell,
    "td_open": _render_cell,
}


# ── support of sentences ────────────────────────────────────────────────────────────────────────


def _with_spans(text: str, sentences: Sequence[Mapping[str, Any]]) -> tuple[str, list[Mapping[str, Any]]]:
    """The text with marks around sentences that want attention, and those sentences by index."""
    out: list[str] = []
    spans: list[Mapping[str, Any]] = []
    end = 0
    for start, sentence in _places(text, sentences):
        words = sentence["text"]
        out += [text[end:start], f"{_OPEN}{len(spans)}{_OPEN}", words, _CLOSE]
        spans.append(sentence)
        end = start + len(words)
    return "".join([*out, text[end:]]), spans


def _places(text: str, sentences: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Where each sentence that is not supported begins, in order; what cannot be marked cleanly is left out."""
    position = 0
    best = max((sentence.get("relevance") or 0.0 for sentence in sentences), default=0.0)
    for sentence in sentences:
        start = text.find(sentence["text"], position)
        if start < 0:
            continue
        position = start + len(sentence["text"])
        is_marked = sentence["support"] != "supported" or is_doubtful(sentence.get("relevance"), best)
        if is_marked and _is_closed(sentence["text"]):
            yield start, sentence


def _is_closed(sentence: str) -> bool:
    """Whether marks of emphasis and code pair up inside, and no table cell or line of a list is cut."""
    if sentence.startswith(("|", "```")) or re.search(r"\n[^\S\n]*(?:[-*+|#>]|\d+\.)", sentence) or "\n\n" in sentence:
        return False
    return all(sentence.count(mark) % 2 == 0 for mark in ("`", "**", "~~", "__")) and (
        sentence.replace("**", "").count("*") % 2 == 0
        and sentence.count("$") % 2 == 0
        and all(sentence.count(rf"\{a}") == sentence.count(rf"\{b}") for a, b in ("()", "[]"))
    )


def _span_tag(match: re.Match[str], spans: Sequence[Mapping[str, Any]]) -> str:
    if match[1] is None:
        return "</span>"
    sentence = spans[int(match[1])] if int(match[1]) < len(spans) else None
    if sentence is None:
        return ""
    reason = html.escape(sentence["reason"] or "")
    state = "doubtful" if sentence["support"] == "supported" else sentence["support"]
    return f'<span class="support {state}" tabindex="0" data-support-reason="{reason}">'


def _without_marks(text: str) -> str:
    return _PLACES.sub("", _SPAN.sub("", text))


def _without_private(text: str) -> str:
    """Without the characters that mark sentences, however they are written."""
    return _PRIVATE_ENTITY.sub("", text.translate(dict.fromkeys(map(ord, (_OPEN, _CLOSE, _PLACE)))))


def _sanitize(markup: str) -> str:
    """The last word has an allow-list, whatever the steps before did."""
    return nh3.clean(
        markup,
        tags={*_TAGS.split(), *FORMULA_TAGS},
        attributes={**_ATTRIBUTES, **FORMULA_ATTRIBUTES},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer",
    )
