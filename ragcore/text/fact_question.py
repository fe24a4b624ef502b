"""What a question about facts asks for: a subject, an object, a relationship or a type.

The kind is the place of the question word in the sentence. "Who is the leader of Belgium?" asks for the one that is
told something of (subject); "Where is the airport located?" asks for what is told of the airport (object).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types.answering import FactTarget

KINDS: tuple[FactTarget, ...] = get_args(FactTarget)

_WH = r"(?:who|whom|whose|what|which|where|when|how)"
_BE = r"(?:is|are|was|were|'s)"
_AUX = r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|may|must|should)"
_STRANDED = r"(?:in|on|at|by|from|to|of|for|with|into|under|as|about|after|near)"
_NOUN = r"(?:type|kind|sort|class|category)"
_PARTICIPLE = (
    r"(?:\w+ed|born|built|made|known|found|held|written|run|led|sung|flown|spoken|located|begun|set|won|shown|grown|drawn|"
    r"chosen|given|taken|sold|bought|eaten|called|worn|driven)"
)
_ASK = r"(?:谁|什么|甚么|哪|何|多少|几)"
_CHINESE: tuple[tuple[re.Pattern[str], FactTarget, float], ...] = (
    (
        re.compile(
            r"(?:什么|何种|哪种|怎样的|啥|有何|有无|何)(?:样的)?(?:关系|关联|联系)|(?:关系|关联|联系)(?:是|为|有)?(?:什么|怎样|如何|哪些|吗|$)|(?:如何|怎么|怎样)(?:相关|关联|联系|相连)|之间的?(?:关系|联系|关联)"
        ),
        "relationship",
        0.96,
    ),
    (
        re.compile(
            r"(?:什么|哪种|哪类|何种|哪一类|哪个|什麼)(?:样的)?(?:类型|种类|类别|类)?的?(?:实体|东西|事物|对象|物体)"
        ),
        "type",
        0.95,
    ),
    (
        re.compile(
            r"(?:属于|算|归为|归于|归类为)(?:什么|哪一?(?:种|类|个))(?:类型|类别|种类|类|[?？]*$)|(?:类型|类别|种类)(?:是|为)(?:什么|哪)|是(?:什么|哪种|哪类|何种)(?:类型|类别|种类)"
        ),
        "type",
        0.92,
    ),
    (re.compile(r"是(?:一|个|一个|一种)?(?:人|地方|组织|公司|机构).{0,3}还是"), "type", 0.85),
    (re.compile(r"^[^的]{1,40}是(?:个|一个|一种)?(?:什么|甚么|啥)[?？]?$"), "type", 0.7),
    (re.compile(r"的[^的]{1,14}(?:是|为|叫|叫做)(?:谁|什么|哪|何|多少)"), "subject", 0.85),
    (
        re.compile(
            r"^(?:请问)?(?:谁|哪(?:位|个|一个|些|家|座|种|款|支|部|项|条|所)[^?？]{0,12}?(?:的|是|在|由|位于|发|建|设|开|制|担|属|服|创|写|获|拥|管|导|使|包|负|支|提|运|流|演|执|生|产))"
        ),
        "subject",
        0.88,
    ),
    (re.compile(r"^(?:请问)?(?:什么|何物|何人|哪些)"), "subject", 0.75),
    (
        re.compile(
            r"哪里|哪儿|何处|何地|位于|坐落|什么时候|何时|哪一?年|哪天|哪月|几年|几月|多少|多长|多高|多大|多远|多重|多久|几个|什么地方"
        ),
        "object",
        0.93,
    ),
    (re.compile(r"(?:由|被|为|在|于|从|到|向|给|以)(?:哪|谁|什么|何)"), "object", 0.9),
    (re.compile(rf"{_ASK}[^?？]{{0,8}}[?？]?$"), "object", 0.82),
    (re.compile(_ASK), "subject", 0.6),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfQuestion:
    """The kind and how sure the rules are, 0 to 1 (1: given by the caller)."""

    kind: FactTarget
    confidence: float


def _en(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# in order: the first pattern that fits decides; the number is how often it was right on questions written for it
_ENGLISH: tuple[tuple[re.Pattern[str], FactTarget, float], ...] = (
    (
        _en(r"\b(?:relationship|relation|connection|link|association)\b.*\b(?:between|with|of)\b.*\b(?:and|to|with)\b"),
        "relationship",
        0.97,
    ),
    (
        _en(r"\b(?:relationship|relation|connection|link) (?:between|of|with|does|do|is|has|have|to)\b"),
        "relationship",
        0.95,
    ),
    (
        _en(
            r"\bhow (?:is|are|was|were|do|does|did)\b.*\b(?:related|connected|linked|relate|connect|associated|tied)\b"
        ),
        "relationship",
        0.95,
    ),
    (_en(r"\bwhat (?:connects|links|relates|joins|ties)\b"), "relationship", 0.95),
    (_en(r"\bhave to do with\b|\bhave in common\b"), "relationship", 0.9),
    (_en(rf"\b(?:what|which) {_NOUN} of (?:[\w-]+ ){{1,2}}{_BE} (?!{_PARTICIPLE}\b|the\s\w+\sof\b)"), "type", 0.95),
    (_en(rf"\b(?:what|which) (?:entity )?(?:{_NOUN}) (?:{_BE}|does|do)\b.*(?:belong|fall|\?|$)"), "type", 0.85),
    (_en(rf"\b(?:what|which) {_BE} the (?:entity )?{_NOUN} of\b"), "type", 0.85),
    (_en(rf"\bof (?:what|which) {_NOUN}\b|\b(?:what|which) {_NOUN} of (?:entity|thing|object|item)\b"), "type", 0.95),
    (_en(rf"^(?:{_BE}) .*\b(?:an?) [\w-]+,? or (?:an?) [\w-]+\?*$"), "type", 0.8),
    (_en(r"\bhow (?:would|can|do) (?:you|we|one) (?:classify|categori[sz]e)\b|\bwhat sort of entity\b"), "type", 0.9),
    (_en(rf"^(?:{_STRANDED}) (?:what|which|whom|whose|where|how)\b"), "object", 0.95),
    (_en(r"^(?:where|when|why|how)\b"), "object", 0.95),
    (_en(r"^whom\b"), "object", 0.95),
    (_en(rf"^{_WH}\b.*\b{_STRANDED}\?*$"), "object", 0.9),
    (_en(rf"^{_WH}(?: [\w'’-]+){{0,4}}? (?:does|do|did)\b"), "object", 0.92),
    (
        _en(rf"^(?:what|which)(?: [\w-]+){{1,3}} {_AUX} (?!{_PARTICIPLE}\b)(?:(?:the|a|an) )?[^?]+? {_PARTICIPLE}\?*$"),
        "object",
        0.85,
    ),
    (_en(rf"^(?:who|what) {_BE} (?!{_PARTICIPLE}\b)(?!the\b|an?\b)[^?]+? {_PARTICIPLE}\?*$"), "object", 0.8),
    (_en(rf"^what {_BE} (?!the\b|an?\b|in\b|on\b|at\b)[^?]*['’]s? [^?]+\?*$"), "subject", 0.6),
    (
        re.compile(
            r"^[Ww]hat (?:is|are|was|were) (?:the |an? )?"
            r"(?:[A-Z0-9][\w.'’&-]*(?: (?:of|the|de|and) (?=[A-Z])| |,)?)+\??$"
        ),
        "type",
        0.7,
    ),
    (_en(r"^(?:who|what|which|whose)\b"), "subject", 0.92),
    (_en(r"^(?:name|list|give|tell me) (?:the|all|an?|me|every)\b"), "subject", 0.7),
    (_en(r"\b(?:whom|what|which|who|where|when|how (?:many|much|long|old|far|tall|high))\b"), "object", 0.85),
)


def kind_of_question(question: str, prompt_type: str | None = None) -> KindOfQuestion:
    """What the question asks for. `prompt_type` decides where it is one of the four kinds; else it is ignored."""
    if prompt_type in KINDS:
        return KindOfQuestion(kind=prompt_type, confidence=1.0)
    text = normalise_query(question)
    rules = _CHINESE if language_of(text) == "zh" else _ENGLISH
    for pattern, kind, confidence in rules:
        if pattern.search(text):
            return KindOfQuestion(kind=kind, confidence=confidence)
    return KindOfQuestion(kind="subject", confidence=0.3)
