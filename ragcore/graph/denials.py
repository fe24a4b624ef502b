"""What keeps the ends of a sentence from being a fact: it is denied, doubted, or said of nothing in particular."""

from __future__ import annotations

import re

COMPARED, EXTENDS = "相比", "扩展"  # relations of Chinese cues
_DENIED = re.compile(
    r"(?i:\b(?:not|never|no longer|neither|nor|nobody|nothing|none|cannot|without|hardly|barely|scarcely|almost|nearly|"
    r"seldom|allegedly|supposedly|reportedly|apparently|possibly|probably|perhaps|maybe)\b|^no |"
    r"^(?:the|an?|two|three|four|several|various|little|few|much|who|what|when|where|which|every|any)(?:ever)?"
    r"(?:one|body|thing)?\b)|"
    r"(?<= )(?!(?:supply|family|assembly|anomaly|reply|ally|poly|monopoly|rely)$)[a-z]+ly$"
)  # of a subject: "Lyra never improves it", "Lyra partly implements it"
_NOTHING = re.compile(
    r"^(?i:no|none|nothing|nobody|neither|not|hardly|little|few|those|these|that|this|it|them|him|her|us|each other|"
    r"one another)\b|\b(?:is|are|was|were|has|have|had|can|may|will|shall|should|must|does|did)\b"
)  # of an object: nothing, what was named before, or half a sentence
_DENIED_ZH = re.compile(
    "^(?:只有|仅有?|唯有|有人|谁|并非|不是|除非|无人|没人|没有|无论|据|听说|相传|难道)|"
    "(?:[未尚再拟]|未必|不必|不见得|不一定|不太|不怎么|基本|大致|大体|勉强|计划|打算|准备|可能|也许|几乎|部分|难以|无法|很少|从不|"
    "并不|是否|能否|没能|未能|似乎|据[称说悉]|听说|号称|向[东南西北前后]{1,2})$"
)
_NOTHING_ZH = re.compile(r"^(?:没有|任何|无$|零$|[\d零一二两三四五六七八九十几]+[次遍回]$)")
_SPAN_ZH = re.compile(r"^[\d零一二两三四五六七八九十半百几]+\D{1,3}$")  # three months, ten kilometres, two floors
_COMPARISON_END = re.compile(
    "更|要[好快慢高低大小多少]|有所|明显|显著|在|提升|提高|降低|下降|减少|增加|节省|节约|缩短|延长|多出|少了|而言|来说|没有|并无"
)
_EMPHASIS_ZH = re.compile("(?:明显|显著|大幅|进一步|有效地?|成功)$")


def is_denied(subject: str, object_: str, *, chinese: bool) -> bool:
    """Whether what stands at either end says that there is no such fact, or that nobody knows."""
    denied, nothing = (_DENIED_ZH, _NOTHING_ZH) if chinese else (_DENIED, _NOTHING)
    return bool(denied.search(subject) or nothing.search(object_))


def without_emphasis(subject: str) -> str:
    """A Chinese subject without "clearly" or "further" behind it."""
    return _EMPHASIS_ZH.sub("", subject)


def without_comparison(ends: tuple[str, str], relation: str) -> tuple[str, str] | None:
    """Ends of a Chinese fact: a comparison names its other side alone; what is extended by six months is no thing."""
    if relation == EXTENDS and _SPAN_ZH.match(ends[1]):
        return None
    if relation != COMPARED:
        return ends
    other = _COMPARISON_END.split(ends[1], maxsplit=1)[0]
    return (ends[0], other) if len(other) > 1 else None
