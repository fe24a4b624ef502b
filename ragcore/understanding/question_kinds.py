"""Kind, flags and target of a question by signs in its words (V9, C3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ragcore.text.normalise import normalise_query
from ragcore.text.question_type import question_type, wanted
from ragcore.types.answering import FactTarget, QuestionKind
from ragcore.understanding.words import cues

HOPS_FROM = 3  # weak signs of nesting that make a question one of several hops; one thing without a name suffices
_NAMES = re.compile(r"\b[A-Z][\w.&'’-]*(?:\s+(?:of|the|de|von|van|[A-Z0-9][\w.&'’-]*))*")
_POSSESSIVE = re.compile(r"\w['’]s\b")
_COMPARED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "both",
        re.compile(
            r"^(?:are|were|is|was|do|does|did|have|has)\b.+\band\b.+\b(?:both|same|also|too|either|similar|different)\b"
            r"|^(?:do|does|did|has|have)\b.+\bwhile\b"
            r"|(?:^|[.,;] )between\b.+\band\b.+, (?:which|who|what|is|are|was|were|do|does|did|has|have)\b",
            re.IGNORECASE,
        ),
    ),
    ("either", re.compile(r"(?i:\b(?:who|which|whose|what|where|when)\b).*[A-Z][\w'’.()-]*,? or (?:the )?[A-Z]")),
    ("degree", re.compile(r"\b(?:who|which|whose)\b.*\b(?:\w+er|first|last|more|less)\b.*\bor\b", re.IGNORECASE)),
    (
        "two",
        re.compile(
            r"(?:和|与|與|跟|同|比|还是|還是).{1,40}?(?:谁|誰|哪[一]?[个個家种種款部位方]?)[^？?]{0,14}(?:更|先|较|較)"
        ),
    ),
)
_OPEN_START = re.compile(
    r"^(?:please )?(?:describe|discuss|evaluate|introduce|请介绍|介绍|請介紹|介紹|评价|評價)\b", re.IGNORECASE
)
_CAUSE_ZH = re.compile(r"[为為]何(?![？?]|$)")  # at the end of a question it only asks "is what"
_LISTED = re.compile(
    r"\b[A-Z][\w.]* and (?:the )?[A-Z].*\bwhat (?:are|were)\b|\bwhat (?:are|were)\b.*\b[A-Z][\w.]* and [A-Z]"
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")

# C3: where the unknown part of "subject relation object" stands.
_OBJECT = (
    re.compile(
        r"\b(?:what|whom?|which [\w -]+?|where|when|how (?:many|much)[\w -]*?)\s+(?:do|does|did|can|will|would)\b"
    ),
    re.compile(r"\b(?:what|who|which|where)\s+(?:is|are|was|were)\s+(?:the\s+)?[\w -]+?\s+(?:of|for|in|used)\b"),
    re.compile(r"[^\s，,]{2,}的[^，,的]{1,12}(?:是|为|為|叫|有)(?:什么|什麼|谁|誰|哪|多少|几|幾)"),
    re.compile(r"[^\s，,是]{2,}(?<!是)(?:什么|什麼|谁|誰|哪些|哪里|哪裡|多少)[^，,]{0,6}[？?。]?$"),
)
_SUBJECT = re.compile(
    r"^(?:请问|請問)?(?:什么是|什麼是|何谓|何謂|谁|誰|哪)|^(?:who|which)\s+(?!(?:do|does|did|is|are|was)\b)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeatures:
    """What the words of a question say of it; `reasons` are codes such as "kind:comparison" and "flag:time"."""

    kind: QuestionKind
    target: FactTarget
    several_sources: bool
    time: bool
    calculation: bool
    reasons: tuple[str, ...]


def extract_features(text: str) -> QuestionFeatures:
    """All signs of a question."""
    text = normalise_query(text)
    kind, why = _kind(text)
    sources = kind in ("comparison", "multi_hop") or bool(cues("sources").matches(text))
    time = bool(cues("time").matches(text) or _YEAR.search(text)) or wanted(text) == "time"
    calculation = bool(cues("calculation").matches(text))
    flags = (("several_sources", sources), ("time", time), ("calculation", calculation))
    return QuestionFeatures(
        kind=kind,
        target=fact_target(text),
        several_sources=sources,
        time=time,
        calculation=calculation,
        reasons=(f"kind:{kind}", *(f"sign:{sign}" for sign in why), *(f"flag:{name}" for name, on in flags if on)),
    )


def fact_target(text: str) -> FactTarget:
    """Which part of a fact "subject relation object" is asked for (C3); the subject unless something else shows."""
    plain = normalise_query(text).lower()
    if cues("relationship").matches(plain):
        return "relationship"
    if cues("type").matches(plain):
        return "type"
    if _SUBJECT.search(plain):
        return "subject"
    return "object" if any(pattern.search(plain) for pattern in _OBJECT) else "subject"


def _kind(text: str) -> tuple[QuestionKind, list[str]]:
    """The kind, and the words that decided. A comparison may also ask why, so the kinds are tried in this order."""
    if why := _comparison(text):
        return "comparison", why
    if why := _named(cues("aggregation").matches(text), listed=_LISTED.search(text)):
        return "aggregation", why
    if why := _hops(text):
        return "multi_hop", why
    if why := _named(cues("causes").matches(text), cause=_CAUSE_ZH.search(text)):
        return "complex_reasoning", why
    if why := _named(cues("open").matches(text), start=_OPEN_START.search(text)):
        return "open_ended", why
    return "simple_fact", []


def _named(found: list[str], **matches: re.Match[str] | None) -> list[str]:
    return found + [name for name, match in matches.items() if match]


def _comparison(text: str) -> list[str]:
    found = cues("comparison").matches(text)
    if question_type(text) == "comparison":
        found.append("cue")
    return found + [name for name, pattern in _COMPARED if pattern.search(text)]


def _hops(text: str) -> list[str]:
    """Signs that something without a name must be found before what is asked for; none if they are too few."""
    links = [match.group() for match in _unnamed().finditer(text.lower())]
    found = links + cues("hops").matches(text) + ["possessive"] * len(_POSSESSIVE.findall(text))
    if found and len({match.group() for match in _NAMES.finditer(text[1:])}) >= 3:
        found.append("names")
    return found if links or len(found) >= HOPS_FROM else []


@cache
def _unnamed() -> re.Pattern[str]:
    """A person, place or work that is only described: "of the director of", "the city where", 的导演的."""
    entries = cues("links").entries
    latin, han = (
        "|".join(sorted((e for e in entries if e.isascii() == ascii_), key=len, reverse=True))
        for ascii_ in (True, False)
    )
    described, asked = "of|who|that|which|where|whose|in which|from which|for which", r"(?:where|when|what \w+|how \w+)"
    return re.compile(
        rf"\b(?:of|by|for|to|from|in|with|than) (?:the |an? )?(?:\w+ )?(?:{latin}) (?:{described})\b"
        rf"|\b{asked} (?:is|was|are|were|did|does|do|has) the (?:{latin}) (?:{described})\b"
        rf"|\b(?:the|an?) (?:\w+ ){{0,3}}(?:{latin}) (?:who|whose|where|in which|from which|for which)\b"
        rf"|\b{asked} .*\w['’]s (?:{latin})\b|\bthe same (?:{latin}) as\b"
        rf"|\b(?:is|was) (?:on|in|from|by) an? (?:{latin})\b"
        rf"|['’]s (?:{latin})(?:['’]s| of (?:birth|origin)\b)"
        rf"|的(?:{han})(?:的|出生|毕业|畢業|来自|來自|还|還|所)"
    )
