"""Cleaning rules for text: plain letters, nothing invisible, mojibake repaired, tidy white space (D25).

This is display text: what a reader sees of a source. NFKC as it stands would turn "，" into "," and "10²" into
"102"; so Chinese punctuation, raised and lowered digits, circled numbers and fractions stay. Search terms are
normalised further by ragcore.text. Log timestamps stay unless a set removes them, because they may be what matters.
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
_SUSPICIOUS = re.compile(
    "[\u0080-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2,}"
)
_TAB = re.compile(r"[ ]*\t[ \t]*")
# Line breaks that some program wrote as backslash and letter; "\\n" alone may be part of a path
_ESCAPED_BREAK = re.compile(r"(?:\\r\\n(?:\\t)*)+")
_SPACES = re.compile(r"(?<=\S)[ \u3000]{2,}(?=\S)")
_TRAILING = re.compile(r"[ \t\u3000]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
_BESIDE_CJK_STOP = re.compile(
    r"(?<=[，。？！：；、）】》」』”]) +(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff]) +(?=[，。？！：；、）】》」』])"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DATE = rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTH}\s+\d{{1,2}})"
_TIME = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?"
_STAMP = re.compile(rf"^[ \t]*\[?(?:{_DATE}[T ,]?\s*)?{_TIME}\]?[ \t]*(?:[-:|][ \t]+)?", re.MULTILINE)


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


def repair_mojibake(text: str) -> str:
    """Repairs stretches that are valid UTF-8 when their characters are taken as bytes; correct text never is."""
    return _SUSPICIOUS.sub(_repair, text)


def _repair(match: re.Match[str]) -> str:
    try:
        return b"".join(map(_byte, match[0])).decode("utf-8")
    except UnicodeError:
        return match[0]


def _byte(char: str) -> bytes:
    """Windows-1252, where the five bytes that it leaves open stand for themselves."""
    try:
        return char.encode("cp1252")
    except UnicodeEncodeError:
        return char.encode("latin-1")


def tidy_whitespace(text: str) -> str:
    """One space where there were many, at most one blank line; the indentation of lines stays.

    Spaces beside Chinese punctuation are left over from type-setting and go.
    """
    text = _ESCAPED_BREAK.sub("\n", text)
    text = _TAB.sub(lambda found: _expand_tab(text, found), text)
    text = _SPACES.sub(" ", _TRAILING.sub("", text))
    return _BLANK_LINES.sub("\n\n", _BESIDE_CJK_STOP.sub("", text)).strip("\n")


def tidy_code(text: str) -> str:
    """Code keeps its white space, except behind the last character of a line."""
    return _TRAILING.sub("", text).strip("\n")


def _expand_tab(text: str, found: re.Match[str]) -> str:
    """A tab at the beginning of a line indents, anywhere else it separates."""
    at_line_start = found.start() == 0 or text[found.start() - 1] == "\n"
    return found[0].replace("\t", "    ") if at_line_start else " "


def strip_log_timestamps(text: str) -> str:
    """Lines without the time at which they were written; lines that do not begin with one stay."""
    return _STAMP.sub("", text)
