"""What a text says of values that hold no longer, and questions that ask for them.

"The warranty is ~~24 months~~ 36 months.", "5 days (was 3 days before 2025)", "由行政部审批改为部门主管审批".
"""

from __future__ import annotations

import re

from ragcore.text.normalise import nfkc

_NOUNS = r"(?:value|limit|rule|price|rate|fee|term|deadline|figure|version|edition|number|amount|period)s?"
_ASKS_FORMER = re.compile(
    r"\b(?:previously|formerly|originally|used to|in the past)\b"
    r"|\b(?:before|until) the (?:change|update|revision|amendment)\b"
    rf"|\b(?:old|former|previous|earlier|prior|original) {_NOUNS}\b"
    r"|\b(?:was|were|did)\b[^?]{0,120}\b(?:before|earlier)\s*[?.!]*\Z"
    r"|以前|原来|原來|原先|从前|從前|旧版|舊版|老版|上一版|旧规定|旧标准"
    r"|(?:修改|修订|修訂|调整|調整|变更|變更|改|改版|涨价)(?:之|以)?前(?!应|要|需|必|须|请|如何|怎么)",
    re.IGNORECASE,
)
_STRUCK = r"~~[^~\n]{1,200}~~"
_MOVED = r"(?:up|down|raised|increased|lowered|reduced|changed|extended|shortened) from"
_BEFORE_ZH = r"[以此之]前"
_WAS = re.compile(
    rf"{_STRUCK}|\b(?:was|were|had been) (?:\w+ ){{0,3}}\d[^.;]{{0,60}}\b(?:until|till|before|previously|formerly)\b"
    rf"|[,(]\s?(?:was|were|formerly|previously|originally|until)\b|\b(?:previously|formerly|used to be|{_MOVED})\b"
    rf"|原[为為是定]|原先|原来|原來|{_BEFORE_ZH}[为為是由按]|{_BEFORE_ZH}[^。；]{{0,12}}[)）]"
    r"|[由从從]\S{1,20}(?:改为|改為|调整为|調整為|提高到|提高至|降低到|降至|延长至|缩短为|变更为)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[(（][^()（）]{1,80}[)）]")
_HOLDS = re.compile(
    r"\b(?:is|are|now|may|must|can|has|have|will|shall|should|at most|up to)\b|应|應|须|須|可|为准|不得|[现現]|需",
    re.IGNORECASE,
)
_FORMER_VALUE = re.compile(
    r"~~[^~\n]{1,60}~~"
    rf"|(?:\b(?:was|were|formerly|previously|originally|{_MOVED})\b|原[为為是定]|{_BEFORE_ZH}[为為是])\s?[^,;.)）。，；~]{{1,40}}?(?=\s(?:until|till|before)\b|[,;.)）。，；~]|\Z)",
    re.IGNORECASE,
)
_REPLACED = re.compile(r"~~[^~\n]{1,200}~~[ \t]?(?:(?:→|->|=>|,|，)[ \t]?)?(?=[*\w\"“‘(（$€£¥<>≤≥±+-])")


def names_former(question: str) -> bool:
    """Whether a question speaks of a value that holds no longer."""
    return _ASKS_FORMER.search(nfkc(question)) is not None


def tells_former(text: str) -> bool:
    """Whether a sentence tells a value that holds no longer."""
    return _WAS.search(text) is not None


def tells_only_former(text: str) -> bool:
    """The same of one that does not tell what holds now."""
    plain = _ASIDE.sub("", text)
    return "~~" not in text and tells_former(plain) and not _HOLDS.search(plain)


def former_spans(text: str) -> list[tuple[int, int]]:
    """Where a sentence tells values that hold no longer."""
    return [match.span() for match in _FORMER_VALUE.finditer(text)] if tells_former(text) else []


def without_struck(text: str) -> str:
    """A text without what its author has struck through and replaced."""
    return _REPLACED.sub("", text) if "~~" in text else text
