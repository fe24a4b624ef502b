"""Follow-ups that keep the question before and add to it: "same quantity but with housing", 数量不变，带外壳的呢."""

from __future__ import annotations

import re

_SAME_EN = re.compile(
    r"(?:(?:and|but|ok|okay|what about|how about)\s+)*(?:the\s+)?same(?:\s+[\w-]+){1,3}?,?\s+(?:but|only|just)\s+"
    r"(?P<other>(?:with|without|for|in|on|at|from|as)\s+[^?.!]{2,60})[?.!]*",
    re.IGNORECASE,
)
_SAME_ZH = re.compile(
    r"(?:那)?(?:(?:同样|同樣|一样|一樣|相同)的?[\u4e00-\u9fff]{2}|[\u4e00-\u9fff]{2}(?:不变|不變|一样|一樣|相同))[，,\s]?"
    r"(?:但是?|不过|只是)?(?:换成|換成|改成|如果是|要是)?(?P<other>[^，,。？！?!]{2,24}?)(?:的话|的)?(?:呢|吗|多少)?[？?]?"
)


def same_but(text: str, earlier: str) -> str | None:
    """The earlier question with what a follow-up adds to it; None for any other message, and without a question."""
    if earlier and (match := _SAME_EN.fullmatch(text.strip())):
        return f"{earlier.rstrip(' ?.!')} {match['other']}"
    if earlier and (match := _SAME_ZH.fullmatch(text.strip())):
        return f"{earlier.rstrip('？?。')}，{match['other']}"
    return None
