"""Questions for the document in which something stands: "where is the notice regulated", 备用机在哪个文件里."""

from __future__ import annotations

import re

LEAST_SUBJECT = 2  # characters of what is left of a question
_KINDS = (
    r"(?:文件|文档|文檔|制度|规定|規定|手册|手冊|指南|指引|标准|標準|规范|規範"
    r"|办法|辦法|通知|资料|資料|文章|材料|说明书|說明書|条款|條款)"
)
_SAYS = (
    r"(?:规定|規定|写|寫|记载|記載|记录|記錄|提到|提及|说明|說明"
    r"|描述|介绍|介紹|讲|講|说|說|约定|約定|涉及|查到|找到|包含|收录)"
)
_WHICH = rf"(?:哪|什么|什麼|何)一?[个個份篇本条條封项項]?{_KINDS}"
_STANDS = r"(?:(?:在|于|於|见|見|出自|来自|來自|属于|屬於|依据|依據|根据|根據|按)于?)"
_CHINESE = (
    re.compile(
        rf"(?:都|是|应该|應該|可以|能){{0,2}}{_SAYS}?{_STANDS}?{_WHICH}(?:里面|裡面|里|裡|中|上|当中|當中)?"
        rf"(?:可以|能|会|會|有){{0,2}}(?:{_SAYS}(?:到|有|着|過|过|了|的){{0,3}})?的?"
    ),
    re.compile(
        rf"(?:都|是){{0,2}}(?:{_SAYS}{_STANDS}哪[里裡儿兒]?|{_STANDS}?哪[里裡儿兒]有?{_SAYS})"
        r"(?:到|有|着|過|过|了|的){0,3}"
    ),
)
_NOUNS = (
    r"(?:document|doc|file|policy|policies|guide|manual|page|rule|standard|procedure|guideline|regulation|handbook)s?"
)
_RULES = r"(?:rules?|regulations?|polic(?:y|ies)|provisions?|instructions?|guidance|guidelines?|details)"
DOCUMENT_WORDS = rf"{_KINDS}|\b{_NOUNS}\b|\b{_RULES}\b"  # what documents are called
_WRITTEN = (
    r"(?:written(?: down| up)?|regulated|described|defined|documented|laid down|specified|stated|set (?:out|down)"
    r"|explained|covered|mentioned|recorded|governed|prescribed|stipulated)"
)
_VERBS = (
    r"(?:is|are|does|do|can|i|we|you|one|find|read|look up|says?|states?|tells?|contains?|covers?|describes?|regulates?"
    r"|defines?|explains?|specif(?:y|ies)|mentions?|deals? with|governs?|sets? out|lists?|about|it|that)"
)
_ENGLISH = (
    re.compile(rf"\b(?:in |from )?(?:which|what) (?:of the )?{_NOUNS}(?: {_VERBS})*\b", re.IGNORECASE),
    re.compile(rf"\bwhere (?:is|are|was|were)(?= .+ {_WRITTEN}\b)", re.IGNORECASE),
    re.compile(r"\bwhere (?:is|does) (?:it|this|that) (?:say|said|written|state|stated)\b", re.IGNORECASE),
    re.compile(
        rf"\bwhere (?:(?:is|are)|(?:can|do|could) (?:i|we|you|one) (?:find|read|look up|see))(?: the)? {_RULES}"
        r"(?: (?:on|about|for|of|regarding|concerning))?\b",
        re.IGNORECASE,
    ),
)
_VERSION_WISH = re.compile(
    r"(?:哪个?|哪一?个?|什么|什麼)(?:软件|軟件|固件)?版本|\b(?:which|what) (?:\w+ )?(?:version|release)\b",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![\d.])[VvRr]?\d{1,3}(?:\.\d{1,3}){1,3}(?![\d.])")
_WRITTEN_LAST = re.compile(rf"\s{_WRITTEN}(?: in)?[?.! ]*\Z", re.IGNORECASE)
_POINTS_BACK = re.compile(r"(?:这|這|那)(?:个|個|些|条|條|一条)?|它|其|it|this|that|these|they", re.IGNORECASE)
_EDGES = " \t，,。.？?！!的"


def asks_document(question: str) -> bool:
    """Whether a question asks in which document something stands."""
    return any(pattern.search(question) for pattern in (*_CHINESE, *_ENGLISH))


def wants_version_of(question: str, answer: str, title: str) -> bool:
    """Whether a question asks for a version that the answer does not say and the title of its document does.

    "Which version fixed it?" is answered by the notes of that version, whose title alone names it.
    """
    if _VERSION_WISH.search(question) is None:
        return False
    title_versions = set(_VERSION.findall(title))
    answer_versions = set(_VERSION.findall(answer)) - set(_VERSION.findall(question))
    return bool(title_versions) and not answer_versions


def without_document_wish(question: str) -> str:
    """What is to stand in the document: 备用机 of 备用机在哪个文件里; the question itself where nothing is left."""
    subject = question
    for pattern in (*_CHINESE, *_ENGLISH):
        if pattern.search(subject):
            subject = pattern.sub(" ", subject, count=1)
            break
    else:
        return question
    subject = _WRITTEN_LAST.sub("", subject).strip(_EDGES)
    return question if len(subject) < LEAST_SUBJECT or _POINTS_BACK.fullmatch(subject) else subject
