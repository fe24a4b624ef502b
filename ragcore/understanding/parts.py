"""The parts of a question that asks for several things (U3)."""

from __future__ import annotations

import re

from ragcore.text.scripts import language_of

_SENTENCES = re.compile(r"(?<=[?？；;])\s*")
_COMPARED_ZH = re.compile(
    r"^(?P<lead>.*?(?:比较|对比|请问)?(?:一下)?)(?P<a>[^，。；、？]{1,30}?)(?:和|与|跟|同|及)(?P<b>[^，。；、？]{1,30}?)"
    r"(?:之间)?(?:的|有什么|有哪些|有何|在)(?P<rest>.{0,20}?(?:区别|差别|差异|不同|异同|对比|比较|关系|优缺点|联系).*)$"
)
_COMPARED_EN = re.compile(
    r"(?:differences?\s+between|compare|comparison\s+(?:of|between)|relationship\s+between|similarities\s+between)\s+"
    r"(?P<a>.{1,60}?)\s+(?:and|with|to|versus|vs\.?)\s+(?P<b>[^?.,]{1,60})",
    re.I,
)
_VERSUS = re.compile(r"^(?P<a>.{1,50}?)\s+(?:vs\.?|versus)\s+(?P<b>[^?.,]{1,50})", re.I)
_JOINED_EN = re.compile(
    r"(?:,\s*(?:and\s+)?|\s+and\s+(?:also\s+)?)(?=(?:what|how|why|who|when|where|which|is|are|does|do|can)\b)", re.I
)
_JOINED_ZH = re.compile(r"[，,]\s*(?:并且|并|以及|同时|还有|另外)?|(?:并且|以及|同时)")
_ASKS_ZH = re.compile(r"什么|如何|怎么|怎样|为什么|哪|谁|多少|吗|几|是否")
_LISTED_ZH = re.compile(
    r"^(?P<items>[^，。；？的]{1,12}(?:、[^，。；？的]{1,12})+(?:和|与|及|以及)[^，。；？的]{1,12})的(?P<rest>.+)$"
)


def parts_of(query: str) -> list[str]:
    """Questions that can be asked alone, in order; [] where the question has one part."""
    sentences = [text.strip() for text in _SENTENCES.split(query) if len(text.strip()) > 2]
    if len(sentences) > 1:
        return sentences
    found = _parts_zh(query) if language_of(query) == "zh" else _parts_en(query)
    return found if len(found) > 1 else []


def _parts_zh(query: str) -> list[str]:
    if match := _LISTED_ZH.match(query):
        items = re.split(r"、|以及|和|与|及", match["items"])
        return [f"{item}的{match['rest']}" for item in items if item]
    if match := _COMPARED_ZH.match(query):
        return [f"{match['a']}是什么", f"{match['b']}是什么"]
    pieces = [piece.strip() for piece in _JOINED_ZH.split(query) if piece.strip()]
    asking = [piece for piece in pieces if _ASKS_ZH.search(piece)]
    return asking if len(asking) > 1 and len(asking) == len(pieces) else []


def _parts_en(query: str) -> list[str]:
    if match := _COMPARED_EN.search(query) or _VERSUS.match(query):
        return [f"What is {_thing(match['a'])}?", f"What is {_thing(match['b'])}?"]
    pieces = [piece.strip(" ?.,") for piece in _JOINED_EN.split(query) if piece.strip(" ?.,")]
    return [f"{piece[0].upper()}{piece[1:]}?" for piece in pieces] if len(pieces) > 1 else []


def _thing(text: str) -> str:
    return text.strip(" ?.")
