"""Several questions in one message, to be answered one by one."""

from __future__ import annotations

import re

from ragcore.extractive.answer_patterns import definition_subject
from ragcore.text.codes import capital_names, codes_in

MOST = 4  # questions that are answered one by one
LEAST_CHARACTERS = {"cjk": 5, "latin": 12}
_MARK = re.compile(r"(?<=[?？])\s*(?=\S)")
_SENTENCE_END = re.compile(r"[。！]|[a-z]{2}\.\s")  # it says something before it asks
_ASKS = re.compile(r"[?？][\s”」』)）]*\Z")
_QUESTION_WORDS = "what|which|who|when|where|why|how"
_ASKING = re.compile(rf"(?:{_QUESTION_WORDS})\b", re.IGNORECASE)
_AND = re.compile(rf",? and (?=(?:{_QUESTION_WORDS})\b)", re.IGNORECASE)
_LIST_SIGNS = re.compile(r"[、，,和与與及]|以及|\band\b")
_EACH_CHINESE = re.compile(r"(?:请问|請問)?(.{3,60}?)(分别|分別|各自)?(是什么|是什麼|指什么|是啥|是什么意思)[?？]?")
_EACH_ENGLISH = re.compile(r"what (?:are|do) (.{3,80}?)(?: (?:mean|stand for))?\??", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|they)\b", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:it|its|they|their|them|he|his|she|her|this|these|that|those|if so|why not|and why|how so)\b"
    r"|[它他她]们?|[该該此这這那]|为什么[?？]|為什麼[?？]",
    re.IGNORECASE,
)


def split_questions(text: str) -> list[str]:
    """The questions of a text in order; the text alone where it is one question, or where one leans on another.

    Text before or between questions that does not ask is told with the question behind it, so such a text is not split.
    """
    whole = " ".join(text.split())
    parts = [part.strip() for part in _MARK.split(whole) if part.strip()]
    if len(parts) == 1 and (several := _joined(whole) or _meanings(whole)):
        return several
    if not 2 <= len(parts) <= MOST or not all(map(_stands_alone, parts)):
        return [whole]
    return parts


def _joined(question: str) -> list[str]:
    """The two questions of "what is T300 and how many trials must TC-7 pass?"; [] where it is one question.

    The second one names what it is about, or "it" is what the first one asks the meaning of.
    """
    match = _AND.search(question)
    if match is None or not _ASKING.match(question):
        return []
    first, second = question[: match.start()].rstrip(" ,") + "?", question[match.end() :]
    if (subject := definition_subject(first)) and (pronoun := _IT.search(second)):
        second = f"{second[: pronoun.start()]}{subject}{second[pronoun.end() :]}"
    elif _IT.search(second) or not (codes_in(first) and codes_in(second)):
        return []
    return [first, second[:1].upper() + second[1:]]


def _meanings(question: str) -> list[str]:
    """One question for each thing of "what are PDCP and RLC?", 切片和载波聚合分别是什么; [] where it is one question.

    Without a word for "each" the things must be abbreviations: "research and development" is one thing.
    """
    is_chinese = match = _EACH_CHINESE.fullmatch(question)
    match = match or _EACH_ENGLISH.fullmatch(question)
    if match is None:
        return []
    things = [thing for part in _LIST_SIGNS.split(match[1]) if (thing := part.strip())]
    is_each = bool(is_chinese and match[2])
    if not 2 <= len(things) <= MOST or not all(is_each or capital_names(thing) == [thing] for thing in things):
        return []
    return [f"{thing}是什么？" if is_chinese else f"What is {thing}?" for thing in things]


def _stands_alone(part: str) -> bool:
    least = LEAST_CHARACTERS["latin" if part.isascii() else "cjk"]
    return len(part) >= least and bool(_ASKS.search(part)) and not _leans(part) and not _SENTENCE_END.search(part)


def _leans(part: str) -> bool:
    words = part.split() if part.isascii() else [part]
    return _LEANS.match(part) is not None or any(_LEANS.fullmatch(word.strip("?,.")) for word in words[:4])
