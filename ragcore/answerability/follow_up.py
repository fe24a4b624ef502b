"""What a follow-up asks of the thing that its conversation names: "and which version introduced it"."""

from __future__ import annotations

import re

from ragcore.answerability.model import is_about, said_besides_asking
from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.types import Source

_KIND_ZH = re.compile(r"(?P<which>哪(?:一)?(?:个|個|种|種|款|项|項|份|类|類))[\u4e00-\u9fff]{2}(?=[\u4e00-\u9fff])")
_VERBS_EN = r"(?:is|are|was|were|do|does|did|has|have|can|will)"
_KIND_EN = re.compile(rf"\b(?P<which>which|what)\s+(?!{_VERBS_EN}\b)[a-z]+(?=\s)", re.I)


def tells_subject(question: str, typed: str, source: Source, *, tokenizer: Tokenizer) -> bool:
    """Whether a source has every word that the conversation put into a question; False if it put none in."""
    put_in = set(keywords(question, tokenizer)) - set(keywords(typed, tokenizer))
    source_text = f"{source.passage.title} {source.text}".lower()
    return bool(put_in) and all(word.lower() in source_text for word in put_in)


def tells_asked(typed: str, source: Source, *, tokenizer: Tokenizer) -> bool:
    """Whether a source has half of what a follow-up says itself besides the kind of what it asks for; False for none.

    `typed`: the question without what the conversation put into it.
    """
    plain = without_kind(typed)
    return bool(said_besides_asking(plain, tokenizer=tokenizer)) and is_about(plain, [source], tokenizer=tokenizer)


def without_kind(question: str) -> str:
    """从哪个引入 for 从哪个版本引入: an answer tells the version and hardly ever says that it is one."""
    return _KIND_EN.sub(r"\g<which>", _KIND_ZH.sub(r"\g<which>", question, count=1), count=1)
