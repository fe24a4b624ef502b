"""Several questions in one message, to be answered one by one."""

from __future__ import annotations

import re

from ragcore.extractive.answer_patterns import definition_subject
from ragcore.text.codes import codes_in

MOST = 4  # questions that are answered one by one
LEAST_CHARACTERS = {"cjk": 5, "latin": 12}
_MARK = re.compile(r"(?<=[?？])\s*(?=\S)")
_SENTENCE_END = re.compile(r"[。！]|[a-z]{2}\.\s")  # it says something before it asks
_ASKS = re.compile(r"[?？][\s”」』)）]*\Z")
_QUESTION_WORDS = "what|which|who|when|where|why|how"
_ASKING = re.compile(rf"(?:{_QUESTION_WORDS})\b", re.IGNORECASE)
_AND = re.compile(rf",? and (?=(?:{_QUESTION_WORDS})\b)", re.IGNORECASE)
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
    if len(parts) == 1 and (two := _joined(whole)):
        return two
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


def _stands_alone(part: str) -> bool:
    least = LEAST_CHARACTERS["latin" if part.isascii() else "cjk"]
    return len(part) >= least and bool(_ASKS.search(part)) and not _leans(part) and not _SENTENCE_END.search(part)


def _leans(part: str) -> bool:
    words = part.split() if part.isascii() else [part]
    return _LEANS.match(part) is not None or any(_LEANS.fullmatch(word.strip("?,.")) for word in words[:4])
