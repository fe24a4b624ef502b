"""Addresses that stand bare in what a model writes: readers of Markdown with GitHub's rules make links of them (B4).

An address whose host stands in a source stays. Any other is written `https[:]//evil[.]example/path`, which nothing
links and everybody can read. What a host is follows the URL standard and not the looks: `https://known@other` leads to
`other`, `https://known。other` to `known.other`, and whatever is not certain counts as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import regex

from ragcore.text.normalise import nfkc
from ragcore.text.request_cache import cached
from ragcore.types import Source

LONGEST_DOMAIN = 5  # characters of a top-level domain in Chinese; more of them behind a full stop are a sentence
MAX_AUTHORITY = 300  # characters behind `//` that are waited for; no host is longer
_COLON = r"(?:\\?:|&(?:colon|#0{0,5}58|#[xX]0{0,5}3[aA]);)"
_SLASH = r"(?:\\?/|&(?:sol|#0{0,5}47|#[xX]0{0,5}2[fF]);)"
_DOT = r"(?:\\?\.|&(?:period|#0{0,5}46|#[xX]0{0,5}2[eE]);)"
_BEGIN = regex.compile(rf"(?P<scheme>{_COLON}{_SLASH}{{2}})|(?P<www>[wW]{{3}}{_DOT})|(?P<mail>@)")
_MAIL = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_DOMAIN = re.compile(rf"[\w.-]{{0,{MAX_AUTHORITY}}}")
_REACH = rf"[^ \t\n\r\f\v/?#]{{0,{MAX_AUTHORITY}}}"  # as far as a reader of Markdown takes it
_AUTHORITY = re.compile(_REACH)
_AUTHORITIES = re.compile(rf"://({_REACH})")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*(?<![_-])")  # `_` at its end is emphasis
_ASCII_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?<![_-])")  # in Chinese there may be no space behind it
_WRITTEN = re.compile(r"[a-z0-9._~%@:\\&+-]*[a-z0-9]")  # `git@host`: known only where a source has just that
_NAMES = (_WRITTEN, _ASCII_HOST, _HOST)
_DOTTED = (
    re.compile(r"(?<![\w-])[\w-]+(?:\.[\w-]+){1,127}(?<![_-])"),
    re.compile(r"(?<![a-z0-9_-])[a-z0-9_-]+(?:\.[a-z0-9_-]+){1,127}(?<![_-])"),
)
_INNER_DOT = re.compile(r"(?<=[\w-])\.(?=[\w-])")
# Behind a known host: what moves the host elsewhere, and what reading may change later (`](`, see `LinkGuard`)
_MOVES = regex.compile(r"[@\\%]|&(?!lt;)|\]\(|[\p{Cf}\p{Cc}\p{M}]")
_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_JOINED = regex.compile(rf"(?!_|{_CJK.pattern})\w")  # a letter that makes the host another one
_LABELS = re.compile(r"[.。]+(?=[\w-])")
_NO_HOST = re.compile(r"[\[\]|^>]")  # with one of these directly behind the host there is no valid address


@dataclass(frozen=True, slots=True)
class PlainUrlRule:
    """Decides about the address at one place of a growing text. `hosts`: those of sources, see `hosts_of`."""

    hosts: frozenset[str]

    def at(self, text: str, at: int, before: str, *, final: bool) -> tuple[str, int] | None:
        """What to write from `at` on, and where the rest begins; None to wait for more text.

        `before`: the character before. One character as it is where no address begins.
        """
        plain = text[at], at + 1
        begin = _BEGIN.match(text, at, partial=not final)
        if begin is None or not _may_begin(text[at], before):
            return plain
        if begin.partial:
            return None
        if begin["mail"]:
            return self._mail(text, begin.end(), final)
        authority = _AUTHORITY.match(text, begin.end())
        assert authority is not None
        if authority.end() == len(text) and len(authority[0]) < MAX_AUTHORITY and not final:
            return None
        host = _HOST.match(authority[0])
        after = begin.end() + (host.end() if host else 0)
        if self._knows(("www." if begin["www"] else "") + authority[0]):
            return text[at:after], after
        return ("www[.]" if begin["www"] else "[:]//") + _broken(host[0] if host else ""), after

    def _mail(self, text: str, start: int, final: bool) -> tuple[str, int] | None:
        """`name@host`, of which readers make a link to a mail program; `name@1.2` is none."""
        domain = _DOMAIN.match(text, start)
        assert domain is not None
        if domain.end() == len(text) and len(domain[0]) < MAX_AUTHORITY and not final:
            return None
        host = _MAIL.match(domain[0])
        name = host[0].rstrip("_-") if host else ""
        if host is None or not name[-1:].isalpha() or _name(name) in self.hosts:
            return "@", start
        return "@" + _broken(host[0]), start + host.end()

    def _knows(self, authority: str) -> bool:
        text = nfkc(authority).lower()
        if len(authority) >= MAX_AUTHORITY:
            return False
        found = (pattern.match(text) for pattern in _NAMES)
        return "://" + text in self.hosts or any(
            _name(host[0]) in self.hosts and _ends(text[host.end() :]) for host in found if host
        )


def hosts_of(sources: Sequence[Source]) -> frozenset[str]:
    """The hosts that stand in the texts, titles and addresses of sources, lower case and without `www.`.

    Behind `://` there is also all that a source writes there, so that a quotation of it stays as it is.
    """
    return cached(("hosts", tuple(sources)), lambda: _hosts_of(sources))


def _hosts_of(sources: Sequence[Source]) -> frozenset[str]:
    hosts: set[str] = set()
    for source in sources:
        passage = source.passage
        for text in {source.text, passage.text, passage.title, passage.external_id}:
            hosts.update(_hosts(nfkc(text).lower()))
    return frozenset(hosts)


def _hosts(text: str) -> Iterable[str]:
    for pattern in _DOTTED:
        yield from map(_name, pattern.findall(text))
    for written in _AUTHORITIES.findall(text):
        yield "://" + written  # also what is no host: `file:///`, `http://<server>/`
        yield from (_name(name[0]) for pattern in _NAMES if (name := pattern.match(written)))


def bare_addresses(hosts: Collection[str] | None) -> PlainUrlRule | None:
    """The filter for these hosts; None leaves every address as it is."""
    return None if hosts is None else PlainUrlRule(frozenset(map(_name, hosts)))


def _may_begin(char: str, before: str) -> bool:
    """Whether an address that begins with this character may stand behind another one."""
    is_word = before.isascii() and before.isalnum()
    if char in "wW":
        return not is_word
    return is_word or (char == "@" and before in tuple("._+-\\"))


def _ends(rest: str) -> bool:
    """Whether what stands behind a host leaves it what it is."""
    if _MOVES.search(rest) or _JOINED.match(rest):
        return False
    *others, last = _LABELS.split(rest)
    return not others or bool(_NO_HOST.match(rest)) or len(_CJK.findall(last)) > LONGEST_DOMAIN


def _name(host: str) -> str:
    return host.lower().removeprefix("www.")


def _broken(host: str) -> str:
    return _INNER_DOT.sub("[.]", host)
