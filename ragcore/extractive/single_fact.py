"""Whether a question asks for one thing, which one sentence can tell, rather than for a decision or several things."""

from __future__ import annotations

import re

from ragcore.extractive.answer_patterns import asks_several, cue_kind
from ragcore.text.question_type import question_type, wanted
from ragcore.text.scripts import language_of

_ENGLISH_ASKS = r"(?:what|which|who|whom|whose|when|where|how|why)"
_ASKS_ENGLISH = re.compile(rf"\b{_ENGLISH_ASKS}\b", re.IGNORECASE)
_ASKS_AGAIN = re.compile(rf"(?:[,;?.]|\band\b|\bor\b)\s*(?:[\w']+ ){{0,2}}?{_ENGLISH_ASKS}\b", re.IGNORECASE)
_DECIDES_TOO = re.compile(  # "… and did both of them pay", 能拆成两次休不
    r"(?:[,;?.]|\band\b|\bor\b)\s*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have)\b"
    r"|[能可会會要行][^，。？?]{1,12}[不没沒]\s*[?？]?\s*\Z",
    re.IGNORECASE,
)
_ASKS_CHINESE = re.compile(r"为什么|什么|甚么|哪|多少|多[久长大高重远快]|几|谁|何[时地处]|如何|怎[么样]|咋")
_DECIDES = re.compile(
    r"[吗嗎]\s*[?？]?\s*\Z|是否|能否|可否|[能可行要用算]不[能可行要用算]"
    r"|\A\s*(?:is|are|was|were|do|does|did|can|could|may|must|should|shall|will|would|has|have|had|am)\b",
    re.IGNORECASE,
)


def asks_single_fact(question: str) -> bool:
    """True for "when was the mast built"; False for yes or no, lists, summaries, comparisons and two questions."""
    is_amount = wanted(question) in ("number", "time")
    if not is_amount and (asks_several(question) or cue_kind(question) == "list"):
        return False
    if question_type(question) == "comparison" or _DECIDES.search(question) or _DECIDES_TOO.search(question):
        return False
    if language_of(question) == "zh":
        return len(_ASKS_CHINESE.findall(question)) == 1
    return _ASKS_ENGLISH.search(question) is not None and not asks_twice(question)


def asks_twice(question: str) -> bool:
    """True for "who signs it and how soon", 有效期几年，到期怎么续."""
    if language_of(question) == "zh":
        return len(_ASKS_CHINESE.findall(question)) > 1
    first = _ASKS_ENGLISH.search(question)
    return first is not None and _ASKS_AGAIN.search(question, first.end()) is not None
