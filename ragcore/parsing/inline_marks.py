"""Elements of HTML inside lines of Markdown that change what is read: raised and lowered text, readings (ruby).

Left as they are, 10<sup>6</sup> would be quoted as 106, and a word with readings would not be found.
"""

from __future__ import annotations

import re

from ragcore.parsing.raised import LOWERED, NEAR_CHARACTERS, RAISED, on_level
from ragcore.parsing.ruby import is_reading_kept

NEAR_PIECES = 8  # before an element, which hold the characters that tell what it is
_LEVELS = {"sup": RAISED, "sub": LOWERED}
_ELEMENT = re.compile(
    r"(?P<code>`[^`\n]{1,500}`)|<(?P<name>sup|sub)>(?P<text>[^<>\n]{1,100})</(?P=name)>"
    r"|<ruby(?:\s[^<>\n]{0,200})?>(?P<ruby>(?:(?!</?ruby)[^\n]){1,1000})</ruby>",
    re.IGNORECASE,
)
_READING = re.compile(r"<rt>(?P<words>[^<>\n]{0,200})(?:</rt>)?|<rp>[^<>\n]{0,20}(?:</rp>)?", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_MAY_HAVE = re.compile(r"</(?:sup|sub|ruby)>", re.IGNORECASE)


def without_inline_marks(source: str) -> str:
    """Markdown whose raised and lowered figures and annotated words are plain text; code stays as it is."""
    if _MAY_HAVE.search(source) is None:
        return source
    pieces: list[str] = []
    at = 0
    for match in _ELEMENT.finditer(source):
        pieces.append(source[at : match.start()])
        at = match.end()
        if match["name"]:
            before = "".join(pieces[-NEAR_PIECES:])[-NEAR_CHARACTERS:].rpartition("\n")[2]
            after = source[at : at + NEAR_CHARACTERS].partition("\n")[0]
            pieces.append(on_level(match["text"], _LEVELS[match["name"].lower()], before=before, after=after))
        else:
            pieces.append(match["code"] or _annotated(match["ruby"]))
    return "".join([*pieces, source[at:]])


def _annotated(ruby: str) -> str:
    """The characters in one piece, with their reading behind them where people search by it."""
    reading = "".join(match["words"] or "" for match in _READING.finditer(ruby)).strip()
    base = "".join(_TAG.sub("", _READING.sub("", ruby)).split())
    return f"{base}（{reading}）" if is_reading_kept(reading) else base
