"""Compatibility letters to plain ones, and characters that nobody sees taken out (D25).

This is display text: what a reader sees of a source. NFKC as it stands would turn "，" into "," and "10²" into
"102"; so Chinese punctuation, raised and lowered digits, circled numbers and fractions stay. Search terms are
normalised further by ragcore.text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_KEPT = frozenset("，。？！：；（）【】《》〈〉「」『』、…—～“”‘’￥·")
_KEPT_FORMS = frozenset({"<super>", "<sub>", "<circle>", "<fraction>"})
# Characters without a glyph of their own: zero-width spaces, direction marks, soft hyphens, byte order marks,
# object placeholders, and the invisible "tag" letters, with which instructions are hidden in documents.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffc\ufffe\uffff\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Bullets of symbol fonts (Wingdings, Symbol), which stand in the private area
_PRIVATE_BULLETS = re.compile("[\uf06c\uf06e\uf071\uf075\uf076\uf077\uf0a7\uf0a8\uf0b7\uf0d8\uf0e0\uf0fc]")
# Radicals that PDF writers put in place of the characters they look like, and that Unicode does not decompose
_RADICALS = str.maketrans(
    "⼾⺠⺟⻁⻄⻅⻆⻉⻋⻌⻍⻎⻓⻔⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻨⻩⻬⻮⻰⻳",
    "户民母虎西见角贝车辶辶辶长门青韦页风飞食马骨鬼鱼鸟麦黄齐齿龙龟",
)
_CLOCK = re.compile(r"(?<=[0-9])：(?=[0-9])")


def normalise_characters(text: str) -> str:
    """NFKC except for what would change the meaning or the look of Chinese text."""
    text = unicodedata.normalize("NFC", text.translate(_RADICALS))
    foreign = {char for char in text if char >= "\x80"}
    table = {ord(char): plain for char in foreign if (plain := _plain(char)) != char}
    if table:
        text = unicodedata.normalize("NFC", text.translate(table))
    return _CLOCK.sub(":", text)


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    if char in _KEPT:
        return char
    form = unicodedata.decomposition(char)
    if not form.startswith("<") or form.partition(" ")[0] in _KEPT_FORMS:
        return char
    return "".join(_plain(chr(int(code, 16))) for code in form.split()[1:])


def remove_invisible(text: str) -> str:
    """Without control and zero-width characters; every kind of line break becomes a newline."""
    text = _LINE_BREAKS.sub("\n", text)
    text = _PRIVATE_BULLETS.sub("•", text)
    return _INVISIBLE.sub("", _CONTROL.sub("", text))
