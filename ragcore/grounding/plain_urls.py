"""Addresses that stand bare in what a model writes: readers of Markdown with GitHub's rules make links of them.

A whole address that a source holds stays. Any other is written `https[:]//evil[.]example/path`, which nothing links and
everybody can read: also another path or query at a host of a source, because a document that names its own host could
have a model put what it has read behind it. Addresses are compared as they are written and not as they look.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import regex

from ragcore.text.request_cache import cached
from ragcore.types import Source

MAX_KNOWN = 1000  # characters of an address of a source; longer ones are unknown
MAX_ADDRESS = MAX_KNOWN + 200  # that are looked at in an answer
MAX_HOST = 300  # that are waited for
MAX_BEFORE = 80  # characters before an address that decide about it: its scheme, the name in front of an @
MAX_ADDRESSES = 200  # of one text
KEPT_TEXTS = 2048  # of sources, whose addresses a process keeps
_COLON = r"(?:\\?:|&(?:colon|#0{0,5}58|#[xX]0{0,5}3[aA]);)"
_SLASH = r"(?:\\?/|&(?:sol|#0{0,5}47|#[xX]0{0,5}2[fF]);)"
_DOT = r"(?:\\?\.|&(?:period|#0{0,5}46|#[xX]0{0,5}2[eE]);)"
_BEGIN = regex.compile(rf"(?P<scheme>{_COLON}{_SLASH}{{2}})|(?P<www>[wW]{{3}}{_DOT})|(?P<mail>@)")
_MAIL_NAME = re.compile(r"(?<![\w.+;:&=$,\"\\-])[\w.+;:&=$,\"-]{1,64}\Z", re.ASCII)  # as the readers that take most
_MAIL_DOMAIN = re.compile(rf"[\w.-]{{0,{MAX_HOST}}}")
_MAIL_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
_RUN = re.compile(rf"\S{{0,{MAX_ADDRESS}}}")  # as far as a reader of Markdown can take it
_HOST = re.compile(rf"[\w.-]{{0,{MAX_HOST}}}")
_ASCII_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+", re.ASCII)  # in Chinese there may be no space behind it
_INNER_DOT = re.compile(r"(?<=[\w-])\.(?=[\w-])")
# Behind an address: a few marks that readers leave out, then its end, or what cannot go on an address
_MARKS = re.compile(r"[.,;:!?'\")\]}*_~]{0,4}")
_PLAIN_MARKS = re.compile(r"[.,;:!?'\")}*_]{0,4}")  # those that `LinkGuard` need not see
_GOES_ON = re.compile(r"[A-Za-z0-9/?#&=%+@$\\^`.,;:!?'\")\]}*_~-]")
_ESCAPED = "&lt;"  # what `LinkGuard` makes of `<`

# In the text of a source, where nothing says for certain what ends an address
_PLACES = re.compile(r"(?P<scheme>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://)|(?<![A-Za-z0-9])[wW]{3}\.")
_WRITTEN = re.compile(rf"[^\s\[\]<>`\\]{{1,{MAX_KNOWN - 50}}}")  # nothing that means something in Markdown
_ASCII = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+")
_CUTS = re.compile(r"[#)'\"*,;|}，。；：、！？（）《》「」“”【】]")
MAX_CUTS = 8
_TRAILING = ".,;:!?'\")}*_~"
_DOTTED = re.compile(
    r"(?<![A-Za-z0-9_.@-])(?P<host>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)(?P<path>/[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{0,900})?"
)
_MAILS = re.compile(r"(?<![\w.+;:&=$,\"\\-])([\w.+;:&=$,\"-]{1,64})@([\w-]+(?:\.[\w-]+)+)", re.ASCII)
_FOLDED = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/?#]*")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class PlainUrlRule:
    """Decides about the address at one place of a growing text. `addresses`: see `known_addresses`."""

    addresses: frozenset[str]
    _sorted: tuple[str, ...] = field(init=False)
    _lengths: tuple[int, ...] = field(init=False)  # of the known ones, longest first

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sorted", tuple(sorted(self.addresses)))
        object.__setattr__(self, "_lengths", tuple(sorted({len(address) for address in self.addresses}, reverse=True)))

    def at(self, text: str, at: int, before: str, *, final: bool) -> tuple[str, int] | None:
        """What to write from `at` on, and where the rest begins; None to wait for more text.

        `before`: up to MAX_BEFORE characters before. One character as it is where no address begins.
        """
        plain = text[at], at + 1
        begin = _BEGIN.match(text, at, partial=not final)
        if begin is None or not _may_begin(text[at], before):
            return plain
        if begin.partial:
            return None
        if begin["mail"]:
            return self._mail(text, begin.end(), before, final)
        scheme = _SCHEME.search(before) if begin["scheme"] else None
        prefix = "www." if begin["www"] else f"{scheme[0].lower()}://" if scheme else ""
        length = self._length(text, begin.end(), prefix, final)
        if length is None:
            return None
        if length < 0:  # `http://<server>`
            return text[at : begin.end()], begin.end()
        if length:
            return _kept(text, at, begin.end() + length - len(prefix))
        host_match = _HOST.match(text, begin.end())
        assert host_match is not None
        if host_match.end() == len(text) and len(host_match[0]) < MAX_HOST and not final:
            return None
        host = host_match[0].rstrip("_.-")
        return ("www[.]" if begin["www"] else "[:]//") + _broken(host), begin.end() + len(host)

    def _length(self, text: str, start: int, prefix: str, final: bool) -> int | None:
        """Characters of the known address that the text goes on from `prefix`.

        0: no known one; -1: no address; None to wait for more.
        """
        run = _RUN.match(text, start)
        assert run is not None
        is_whole = final or run.end() < len(text) or len(run[0]) == MAX_ADDRESS
        url = _folded(prefix + run[0])
        if not is_whole and (self._is_beginning(url) or _ESCAPED.startswith(run[0])):
            return None
        if run[0].startswith(("<", _ESCAPED)):
            return -1
        for length in self._lengths:
            if length <= len(url) and url[:length] in self.addresses:
                ends = _is_end(url[length:], is_whole)
                if ends is None:
                    return None
                if ends:
                    return length
        return 0

    def _is_beginning(self, start: str) -> bool:
        """Whether a known address is longer than this and begins with it, or is this."""
        place = bisect_left(self._sorted, start)
        return place < len(self._sorted) and self._sorted[place].startswith(start)

    def _mail(self, text: str, start: int, before: str, final: bool) -> tuple[str, int] | None:
        """`name@host`, of which readers make a link to a mail program; `name@1.2` is none."""
        domain = _MAIL_DOMAIN.match(text, start)
        assert domain is not None
        if domain.end() == len(text) and len(domain[0]) < MAX_HOST and not final:
            return None
        host = _MAIL_HOST.match(domain[0])
        if host is None or not host[0].rstrip("_-")[-1:].isalpha():
            return "@", start
        name = _MAIL_NAME.search(before)
        for pattern in (_MAIL_HOST, _ASCII_HOST):
            host_match = pattern.match(domain[0])
            after = start + (host_match.end() if host_match else 0)
            if host_match and name and self._knows_mail(name[0], host_match[0]) and not text.startswith("/", after):
                return f"@{host_match[0]}", after
        return f"@{_broken(host[0])}", start + host.end()

    def _knows_mail(self, name: str, host: str) -> bool:
        return any(
            f"{person}@{host.rstrip('_-')}".translate(_LOWER) in self.addresses for person in (name, name.lstrip("_"))
        )


def _kept(text: str, at: int, end: int) -> tuple[str, int]:
    """A known address, with a space where a reader would take what stands behind it for a part of it."""
    marks = _MARKS.match(text, end)
    assert marks is not None
    if marks.end() == len(text) or text[marks.end()].isspace():
        return text[at:end], end
    plain = _PLAIN_MARKS.match(text, end)
    assert plain is not None
    return f"{text[at : plain.end()]} ", plain.end()


def _is_end(behind: str, is_whole: bool) -> bool | None:
    """Whether an address may end before this; None where more text decides."""
    marks = _MARKS.match(behind)
    assert marks is not None
    rest = behind[marks.end() :]
    if not is_whole and _ESCAPED.startswith(rest):
        return None
    return rest.startswith(_ESCAPED) or not _GOES_ON.match(rest)


# ── addresses of sources ────────────────────────────────────────────────────────────────────────


def known_addresses(sources: Sequence[Source]) -> frozenset[str]:
    """The whole addresses that stand in the texts, titles and ids of sources, and their hosts without any path.

    With their scheme, or from `www.` on, also without a fragment; mail addresses as `name@host`.
    """
    return cached(("known addresses", tuple(sources)), lambda: _known_addresses(sources))


def _known_addresses(sources: Sequence[Source]) -> frozenset[str]:
    addresses: set[str] = set()
    for source in sources:
        passage = source.passage
        for text in {source.text, passage.text, passage.title, passage.external_id}:
            addresses |= _addresses_in(text)
    return frozenset(addresses)


@lru_cache(maxsize=KEPT_TEXTS)
def _addresses_in(text: str) -> frozenset[str]:
    return frozenset(map(_folded, _addresses(text)))


def _addresses(text: str) -> Iterator[str]:
    for place in islice(_PLACES.finditer(text), MAX_ADDRESSES):
        address = _WRITTEN.match(text, place.end())
        for end in _ends(address[0]) if address else ():
            yield from [place[0] + end] if place["scheme"] else _with_schemes(f"www.{end}")
    for name in islice(_DOTTED.finditer(text), MAX_ADDRESSES):
        host = name["host"].rstrip("_-")
        yield from _with_schemes(host)
        yield from _with_schemes(f"{host}/")
        for path in _ends(name["path"] or ""):
            yield from _with_schemes(f"{host}{path}")
    for name, host in islice(_MAILS.findall(text), MAX_ADDRESSES):
        for begin in (0, *(cut.end() for cut in re.finditer(r"[;:&=$,\"]", name))):
            yield f"{name[begin:]}@{host.rstrip('_-')}"


def _with_schemes(address: str) -> Iterator[str]:
    """An address without a scheme, as it is written where it begins with `www.`, and with each that readers add."""
    yield f"http://{address}"
    yield f"https://{address}"
    if address[:4].lower() == "www.":
        yield address


def _ends(text: str) -> Iterator[str]:
    """What is written up to the next space, and each shorter address that it may stand for."""
    ascii_part = _ASCII.match(text)
    cuts = (cut.start() for cut in islice(_CUTS.finditer(text), MAX_CUTS))
    for stop in {len(text), ascii_part.end() if ascii_part else 0, *cuts}:
        for end in range(stop, max(0, stop - MAX_CUTS), -1):
            yield text[:end]
            if text[end - 1] not in _TRAILING:
                break


def bare_addresses(addresses: Collection[str] | None) -> PlainUrlRule | None:
    """The filter that keeps these addresses; None leaves every address as it is."""
    return None if addresses is None else PlainUrlRule(frozenset(map(_folded, addresses)))


def _folded(address: str) -> str:
    """Scheme and host in lower case, of the same length; a path keeps its case, which is something else to servers."""
    head = _FOLDED.match(address)
    assert head is not None
    return head[0].translate(_LOWER) + address[head.end() :]


def _may_begin(char: str, before: str) -> bool:
    """Whether an address that begins with this character may stand behind another one."""
    last = before[-1:]
    is_word = last.isascii() and last.isalnum()
    if char in "wW":
        return not is_word
    return is_word or (char == "@" and last in tuple("._+-\\"))


def _broken(host: str) -> str:
    return _INNER_DOT.sub("[.]", host)
