"""Words about pictures: whether a question asks for one, and which figures a sentence names."""

from __future__ import annotations

import re

_NUMBER = r"[A-Z]?\d{1,3}(?:[.\-\u2013]\d{1,3}){0,2}"
_LABEL = re.compile(
    rf"(?:\bfig(?:ure|\.)?[ \u00a0]{{0,3}}|(?:附|插|示意)?[图圖] ?)(?P<number>{_NUMBER})(?![A-Za-z0-9_%])",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"图片|插图|图像|图示|示意图|流程图|架构图|结构图|拓扑图|接线图|电路图|原理图|框图|照片|截图|图纸|哪张图|什么图|有没有图|看图|配图"
    r"|长什么样|什么样子|外观"
    r"|\b(?:picture|figure|diagram|drawing|illustration|screenshot|photo|photograph|schematic|flow ?chart|image)\b"
    r"|\b(?:pictures|diagrams|drawings|illustrations|screenshots|photos|photographs|schematics|images)\b"
    r"|\blooks? like\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"[上下如见此附]图|图[中示]|见[上下]?图|示意图|流程图|架构图|结构图|接线图|截图|照片"
    r"|\b(?:the|this|following|above|next|see|in|accompanying)"
    r" (?:figure|picture|diagram|drawing|illustration|screenshot|photo|schematic|image)\b",
    re.IGNORECASE,
)


def asks_for_picture(question: str) -> bool:
    """Whether a question asks for a picture, in English or Chinese, or for a figure by its number."""
    return bool(_ASKS.search(question) or _LABEL.search(question))


def names_figure(sentence: str) -> bool:
    """Whether a sentence points to a picture: by its number, or as the figure below."""
    return bool(_LABEL.search(sentence) or _POINTS.search(sentence))


def figure_numbers(text: str) -> frozenset[str]:
    """The numbers of the figures that a text names, such as `3` or `4-2`; equal however the dash is written."""
    return frozenset(match["number"].replace("\u2013", "-").upper() for match in _LABEL.finditer(text))
