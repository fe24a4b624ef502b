"""Labels of points and clauses that people cite: 2.1.2, 第三条, 附件B, ③, 步骤2."""

from __future__ import annotations

import re

from ragcore.text.normalise import nfkc

_HAN_DIGITS = {han: number for number, han in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100}
_HAN = "".join((*_HAN_DIGITS, *_HAN_UNITS))
_LABELS = (
    rf"第\s?[{_HAN}\d]{{1,5}}\s?[条條款项項步章节節]|附[件录錄表图圖][A-Z{_HAN}\d]{{1,2}}(?![A-Za-z\d])"
    r"|(?:步骤|步驟|(?i:step ))\d{1,3}(?!\d)|[①-⑳]"
)
_NAMED = re.compile(rf"{_LABELS}|(?<![\w.])\d{{1,2}}(?:\.\d{{1,2}}){{2,4}}(?![\w.])")
_AT_START = re.compile(rf"\s*(?:{_LABELS}|\d{{1,2}}(?:\.\d{{1,2}}){{2,4}}(?=\s))")
_NUMBER = re.compile(rf"[{_HAN}\d]+")
_CIRCLED = re.compile("[①-⑳]")


def point_labels(question: str) -> frozenset[str]:
    """The labels that a question names, as `point_label` writes them."""
    return frozenset(_folded(match[0]) for match in _NAMED.finditer(_plain(question)))


def point_label(text: str) -> str:
    """The label with which a point begins, its number in digits; "" where it has none."""
    match = _AT_START.match(_plain(text))
    return _folded(match[0]) if match is not None else ""


def _plain(text: str) -> str:
    """Normalised text that keeps circled numbers, which are no digits of what stands before them."""
    parts = _CIRCLED.split(text)
    circles = _CIRCLED.findall(text)
    return "".join(nfkc(part) + circle for part, circle in zip(parts, [*circles, ""], strict=True))


def _folded(label: str) -> str:
    label = re.sub(r"\s", "", label).replace("條", "条").replace("項", "项").replace("節", "节").replace("驟", "骤")
    return _NUMBER.sub(lambda match: _digits(match[0]), label.lower() if label[:4].lower() == "step" else label)


def _digits(number: str) -> str:
    """A number in Chinese characters up to 999, or in digits, without zeros in front."""
    if number.isdecimal():
        return str(int(number))
    total = digit = 0
    for char in number:
        if char in _HAN_UNITS:
            total, digit = total + (digit or 1) * _HAN_UNITS[char], 0
        else:
            digit = _HAN_DIGITS.get(char, digit)
    return str(total + digit)
