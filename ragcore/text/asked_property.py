"""The property whose value a question asks for, and whether a text speaks of it: the warranty of the rack.

A text about the rack that says nothing of a warranty does not answer, whatever it says of the rack.
"""

from __future__ import annotations

import re

from ragcore.glossary_port import Glossary
from ragcore.ports import Tokenizer
from ragcore.text.glossary import glossary_of
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem

NAMED = 0.5  # share of a meaning from which a word of the other language names the property
_ENGLISH = re.compile(r"\bwhat (?:is|are|was|were) the ((?:[\w-]+ ){1,4}?)(?:of|for) ", re.IGNORECASE)
_SHORT = re.compile(
    r"\A\W*+((?:[\w-]+ ){0,3}[\w-]+) (?:of|for) [\w./'&-]++(?: [\w./'&-]++){0,5}\W*+\Z", re.IGNORECASE
)  # MTBF of the P10
# what rows tell without naming it: a figure with its unit, or a word
_UNNAMED = re.compile(
    r"description|entity|entry|count|ratio|percentage|share|function|term|identifier|length|height|width|depth|distance"
    r"|speed|capacity|weight|range|state|result|answer|content|effect|use[ds]?|needed|required|allowed|called|known"
    r"|地方|内容|情况|情況|结果|結果|比例|长度|高度|距离|速度|作用|意思|地址",
    re.IGNORECASE,
)
_OF_CHINESE = re.compile(rf"的([{CJK}]{{2,6}}?)(?:是|有|在|为|要|给)?(?:什么|什麼|多少|多久|多长|多大|谁|誰|哪|几|幾)")
# what a thing is asked to work with: "run on Linux", "have a preview option", 支持摄像头吗
_SUPPORT = re.compile(
    r"\b(?:is|are|do|does|did|can|will|has|have)\b.{1,60}?\b(?:supports?|runs? on|works? (?:with|on)|compatible with"
    r"|available (?:for|on)) (?:(?:an?|the|any) )?([A-Za-z][\w-]*\w) ?[?.!]*\Z",
    re.IGNORECASE,
)
_SUPPORT_CHINESE = re.compile(
    rf"(?:支持|兼容|适配|適配)(?:接|用|连接|使用|外接)?(?!的)([A-Za-z][\w-]*[A-Za-z]|[{CJK}]{{2,4}}?)(?:[吗嗎么]|\W*\Z)"
)
# who holds an office: "name of the buyer at Lindt", 昇辉的采购员叫什么
_ROLE = re.compile(
    r"\b(?:names? of|who(?:'s| is| are| was)?) (?:the |our |their )?(?:[\w-]+ ){0,2}?"
    r"(?P<role>(?-i:[a-z-]+)(?:ers?|ors?|ists?|ants?)|chief|contact)"
    r" (?:at|of|in|from|for) (?:the |our )?(?P<thing>[\w.-]+(?: (?-i:[A-Z])[\w.-]*)*)",
    re.IGNORECASE,
)
_ROLE_CHINESE = re.compile(
    rf"(?P<thing>(?<![\w.-])[A-Za-z0-9_.-]++|[{CJK}]{{2,8}}?)的(?P<role>[{CJK}]{{1,4}}[员人长理师主任管])(?:是|叫|姓)(?:谁|誰|什么|啥)"
)
_ASKS = re.compile(r"\b(?:what|which|who|whose|how|why|when|where|is|are|do|does|did|can|list|name)\b", re.IGNORECASE)
_CHINESE = re.compile(rf"([{CJK}]{{2}})(?:一[天月年次晚]|每[天月年次晚])(?:是|有)?多少")
# says how a value is given, not of what
_GENERIC = re.compile(
    r"name|number|value|purpose|reason|cause|difference|role|meaning|time|date|period|way|size|amount|level|rate|kind|type"
    r"|list|status|limit|most|best|worst|main|total|last|final|next|step|maximum|minimum|max|min|rules?|terms?|steps?|details?"
    r"|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|最多|最少|一共|总共|可以|需要|能报|大概|员工|我们",
    re.IGNORECASE,
)


def asked_property(question: str) -> str:
    """In lower case; "" where a question asks for no value, or only in words that every value has ("the period")."""
    plain = nfkc(question)
    if match := _ENGLISH.search(plain):
        words = _telling(match[1].lower())
        return words[-1] if words else ""
    match = _CHINESE.search(plain)
    return match[1] if match and not _GENERIC.fullmatch(match[1]) else ""


def asked_column(question: str, tokenizer: Tokenizer) -> str:
    """What a question wants to know of a thing, as the head of a column would say it; "" where it does not.

    "Payment terms of Lindt", 昇辉的交期几周.
    """
    plain = nfkc(question)
    if match := _OF_CHINESE.search(plain):
        words = [word for word in tokenizer.words(match[1]) if len(word) > 1] or [match[1]]
    else:
        match = _ENGLISH.search(plain) or (None if _ASKS.search(plain) else _SHORT.search(plain))
        words = _telling(match[1].lower()) if match else []
    return words[-1] if words and not _GENERIC.fullmatch(words[-1]) and not _UNNAMED.fullmatch(words[-1]) else ""


def asked_support(question: str) -> str:
    """The thing that another one is asked to work with, as written; "" where a question asks something else."""
    plain = nfkc(question)
    match = _SUPPORT.search(plain) or _SUPPORT_CHINESE.search(plain)
    return "" if match is None or _GENERIC.fullmatch(match[1]) else match[1]


def asked_role(question: str) -> tuple[str, str] | None:
    """The office whose holder a question asks for, in lower case, and where it is held; None for other questions."""
    plain = nfkc(question)
    match = _ROLE.search(plain) or _ROLE_CHINESE.search(plain)
    return (match["role"].lower(), match["thing"]) if match else None


def _telling(text: str) -> list[str]:
    return [word for word in text.split() if len(word) > 3 and not _GENERIC.fullmatch(word)]


def speaks_of(text: str, word: str, tokenizer: Tokenizer, *, is_record: bool = False) -> bool:
    """Whether a text has a word, one that means the same, or one of the other language that does.

    By the dictionary of the tokenizer; True without one. A Chinese word that it does not know counts as said, in a
    record, which names each value shortly, only if some character of it stands there: 交期, 交货周期.
    """
    glossary = glossary_of(tokenizer)
    lower, stems = text.lower(), frozenset(tokenizer.words(text))
    if glossary is None or word in lower or stem(word) in stems:
        return True
    if word.isascii():
        chinese = [translation for translation, share in glossary.translations(word).items() if share >= NAMED]
        return any(translation in lower for translation in chinese if len(translation) > 1) or _means_alike(
            chinese, stems, glossary
        )
    if not glossary.meanings(word):
        return not is_record or any(character in text for character in word)  # else nothing can be said
    english = [meaning for meaning in glossary.meanings(word) if meaning <= stems]
    alike = (
        synonym
        for meaning in glossary.meanings(word)
        if len(meaning) == 1
        for synonym in _chinese_of(meaning, glossary)
    )
    return bool(english) or any(synonym in text for synonym in alike)


def _means_alike(chinese: list[str], stems: frozenset[str], glossary: Glossary) -> bool:
    """Whether a text has another English word for one of these: "cost" for "price"."""
    return any(
        meaning <= stems for translation in chinese for meaning in glossary.meanings(translation) if len(meaning) == 1
    )


def _chinese_of(meaning: frozenset[str], glossary: Glossary) -> list[str]:
    (sense,) = meaning
    return [word for word, share in glossary.translations(sense).items() if share == 1.0 and len(word) > 1]
