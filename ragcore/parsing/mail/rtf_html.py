"""The web page inside a rich text body, as Outlook stores what came as HTML (MS-OXRTFEX).

Marks of HTML stand in groups `{\\*\\htmltag…}`, its text stands between them, and what only readers of rich text shall
see is enclosed by `\\htmlrtf` and `\\htmlrtf0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_DEPTH = 500  # groups inside groups
_HEAD_BYTES = 4096
_TOKEN = re.compile(
    rb"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-z])|(?P<group>[{}])"
    rb"|[\r\n]+|(?P<text>[^\\{}\r\n]+)"
)
_LEFT_OUT = frozenset((b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"object", b"mhtmltag"))
_CHARACTERS = {
    b"par": "\n",
    b"line": "\n",
    b"tab": "\t",
    b"lquote": "\u2018",
    b"rquote": "\u2019",
    b"ldblquote": "\u201c",
    b"rdblquote": "\u201d",
    b"bullet": "\u2022",
    b"endash": "\u2013",
    b"emdash": "\u2014",
}
_SIGNS = {b"~": "\u00a0", b"_": "-", b"-": ""}


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds inside a group."""

    is_left_out: bool = False
    is_for_rtf: bool = False
    is_optional: bool = False  # `\\*` has been read, and the next word tells what the group is
    fallback: int = 1  # characters behind one in Unicode that stand for it


def encapsulated_html(rich: bytes, encoding: str) -> str | None:
    """The HTML of a rich text body; None where it was never HTML. `encoding`: of its text in 8 bits."""
    if b"\\fromhtml" not in rich[:_HEAD_BYTES]:
        return None
    reader = _Reader(encoding)
    for match in _TOKEN.finditer(rich):
        reader.read(match)
    return reader.text()


class _Reader:
    """Takes one token after the other; groups and bytes that are not yet decoded are its state."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._group = _Group()
        self._outer: list[_Group] = []
        self._parts: list[str] = []
        self._bytes = bytearray()
        self._skip = 0  # characters that stand for one in Unicode

    def text(self) -> str:
        """What has been read."""
        self._decode()
        return "".join(self._parts)

    def read(self, match: re.Match[bytes]) -> None:
        if group := match["group"]:
            self._open_or_close(group)
        elif word := match["word"]:
            self._word(word, int(match["number"]) if match["number"] else None)
        elif match["byte"]:
            self._add_bytes(bytes.fromhex(match["byte"].decode()))
        elif sign := match["sign"]:
            if sign == b"*":
                self._group = replace(self._group, is_optional=True)
            elif sign in _SIGNS:
                self._add(_SIGNS[sign])
            else:
                self._add_bytes(sign)
        elif match["text"]:
            self._add_bytes(match["text"])

    def _open_or_close(self, sign: bytes) -> None:
        if sign == b"{" and len(self._outer) < MAX_DEPTH:
            self._outer.append(self._group)
        elif sign == b"}" and self._outer:
            self._group = self._outer.pop()

    def _word(self, word: bytes, number: int | None) -> None:
        group = self._group
        if group.is_optional:
            self._group = replace(group, is_optional=False, is_left_out=group.is_left_out or word != b"htmltag")
        elif word in _LEFT_OUT:
            self._group = replace(group, is_left_out=True)
        elif word == b"htmlrtf":
            self._group = replace(group, is_for_rtf=number != 0)
        elif word == b"uc":
            self._group = replace(group, fallback=max(0, min(number or 0, 10)))
        elif word == b"u" and number is not None:
            code = number % 0x10000
            self._add(chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd")
            self._skip = group.fallback
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])

    def _is_shown(self) -> bool:
        return not (self._group.is_left_out or self._group.is_for_rtf)

    def _add(self, text: str) -> None:
        if self._is_shown():
            self._decode()
            self._parts.append(text)

    def _add_bytes(self, content: bytes) -> None:
        skipped = min(self._skip, len(content))
        self._skip -= skipped
        if self._is_shown():
            self._bytes += content[skipped:]

    def _decode(self) -> None:
        """Bytes that stand together are decoded together: a character may have two, one of them written plain."""
        self._parts.append(self._bytes.decode(self._encoding, errors="replace"))
        self._bytes.clear()
