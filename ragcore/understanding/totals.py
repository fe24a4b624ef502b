"""Follow-ups that want the total of what was asked for one time: "what about the total", 那总共呢."""

from __future__ import annotations

import re

_TOTAL = re.compile(
    r"(?:in\s+|the\s+)?(?:(?:grand\s+|overall\s+)?total|sum|altogether|overall)|(?:总共|總共|一共|合计|合計|总计|總計|全部加起来)",
    re.IGNORECASE,
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_TIME = re.compile(
    rf"\s*\b(?:in|for|during|of)\s+(?:(?:the\s+)?(?:first|second|third|fourth)\s+(?:quarter|half)(?:\s+of)?(?:\s+\d{{4}})?"
    rf"|(?:\d{{4}}\s*)?(?:q[1-4]|h[12])(?:\s*\d{{4}})?|{_MONTH}(?:\s+\d{{4}})?|\d{{4}})\b"
    r"|(?:在|于)?(?:(?:20\d\d|今|明|去)年)?(?:第?[一二三四1-4]季度|[上下]半年|\d{1,2}月份?)|(?:在|于)?20\d\d年",
    re.IGNORECASE,
)


def total_of_earlier(what: str, earlier: str) -> str | None:
    """The earlier question without its time and with the wish for a total; None where `what` is no such wish.

    Also None where the earlier question names no time: then the total is one more thing of the same kind.
    """
    if _TOTAL.fullmatch(what.strip()) is None or (time := _TIME.search(earlier)) is None:
        return None
    remainder = f"{earlier[: time.start()]}{earlier[time.end() :]}".rstrip(" ?？.。")
    return f"{remainder} in total" if remainder.isascii() else f"{remainder}，合计"
