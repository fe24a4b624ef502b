"""The sentences with which an answer is refused, and how to recognise them."""

from __future__ import annotations

import re

from ragcore.text.normalise import squeeze
from ragcore.types import Language

_NOT_KNOWN = {
    "zh": "根据当前已知知识库，暂时无法回答该问题",
    "en": "The knowledge base does not contain an answer to this question",
}
_NOT_FOUND = {
    "zh": "参考资料中未找到相关信息",
    "en": "The reference material does not contain this information",
}
_MARKER = re.compile(r"\[\d+\]")


def refusal(style: str, language: Language) -> str:
    """The refusal sentence of a style; English for languages other than Chinese."""
    sentences = _NOT_FOUND if style == "precise" else _NOT_KNOWN
    return sentences["zh" if language == "zh" else "en"]


def is_refusal(text: str) -> bool:
    """Whether an answer consists of a refusal sentence, or begins with one and adds at most a remark.

    Punctuation, spaces, case and citation markers do not matter. A long answer that contains the sentence
    somewhere has answered a part of the question and is no refusal.
    """
    plain = squeeze(_MARKER.sub("", text))
    return any(plain.startswith(sentence) and len(plain) <= 2 * len(sentence) for sentence in _known())


def is_bare_refusal(text: str) -> bool:
    """Whether an answer is a refusal sentence and nothing else."""
    return squeeze(_MARKER.sub("", text)) in _known()


def _known() -> list[str]:
    return [squeeze(sentence) for group in (_NOT_KNOWN, _NOT_FOUND) for sentence in group.values()]
