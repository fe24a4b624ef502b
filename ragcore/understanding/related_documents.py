"""Questions for the documents that stand beside another one: "the test cases of this design", "F123的测试用例"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ragcore.text.normalise import nfkc

_ROLES: Mapping[str, str] = {  # role -> how people write it
    "test": r"tests?(?:[ -](?:cases?|plans?|specs?|specifications?|documents?|reports?|results?))?"
    r"|测试(?:用例|文档|方案|计划|报告|规格)?|用例|測試(?:用例|案例|文件|方案|計畫|報告)?",
    "design": r"designs?(?: (?:documents?|specs?|specifications?))?"
    r"|设计(?:文档|方案|说明书?|规格)?|設計(?:文件|方案|說明書?)?",
    "development": r"(?:development|implementation)(?: (?:documents?|notes?|specs?))?"
    r"|开发(?:文档|方案|说明)?|实现(?:文档|方案|说明)?|開發(?:文件|方案|說明)?|實作(?:文件|說明)?",
    "supplement": r"(?:supplements?|amendments?|addend(?:a|um)|incremental editions?)"
    r"|补充(?:文件|规定|说明|版)?|增补(?:文件|版)?|增量(?:版|文件)",
    "older": r"(?:previous|former|older|last) (?:editions?|versions?|releases?)|上一版本?|前一版本?|旧版本?|舊版本?",
}
_THING = (
    r"(?:design|development|test|feature|requirement|specification|spec|document|edition|version|plan|function)s?"
    r"(?: (?:document|case|specification|spec|plan)s?)?"
)
_THING_ZH = (
    r"(?:设计|开发|测试|功能|特性|需求|规格|文档|文件|方案|版本|用例|設計|開發|測試|規格)"
    r"(?:文档|文件|方案|说明|用例|說明)?"
)
_NAME = (
    r"[\"“「『《](?P<quoted>[^\"”」』》]{2,100})[\"”」』》]"
    r"|(?<![A-Za-z\d_.-])(?P<code>(?:[A-Za-z][\w.-]{0,40}?|\d[\w-]{0,40}?)\d[\w.-]{0,60})"
)
_EN = re.compile(
    rf"\b(?P<role>{{role}})\s+(?:of|for|to|belonging to|that belongs? to)\s+"
    rf"(?:(?:this|that|these|those|the same)\s+{_THING}\b|(?:the\s+)?(?:{_THING}\s+)?(?:{_NAME})(?=[\s?.!,]|$))"
)
_ZH = re.compile(
    rf"(?:(?:这个|这份|这篇|该|此|本|上述|那个|那份|這個|這份|該)(?:个|份|篇)?{_THING_ZH}"
    rf"|(?:{_THING_ZH})?(?:{_NAME})(?:{_THING_ZH})?)\s*(?:的|对应的|相关的|相應的)\s*(?P<role>{{role}})"
)
_PATTERNS = [
    (role, re.compile(form.pattern.replace("{role}", words), re.IGNORECASE))
    for role, words in _ROLES.items()
    for form in (_EN, _ZH)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedWish:
    """The documents of a role beside another one. `name`: of that one; "" for what the answer before cited."""

    role: str  # test, design, development, supplement or older
    name: str = ""


def related_wish(question: str) -> RelatedWish | None:
    """What a question says of documents beside another one; None where it asks for something else."""
    text = nfkc(question)
    for role, pattern in _PATTERNS:
        if match := pattern.search(text):
            return RelatedWish(role=role, name=(match["quoted"] or match["code"] or "").strip())
    return None
