"""Which scripts a text is written in; the language of questions and answers follows from it."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.word_lists import read_section, read_spaced_words
from ragcore.types import Language

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7af"
CJK = HAN + KANA_HANGUL  # for use inside a character class

ZH_SHARE = 0.2  # a Chinese sentence full of English product names still reads as Chinese
SEEN = 400  # characters of a passage that tell its language
FOREIGN_SHARE = 0.2  # kana or hangul among CJK from which the text is Japanese or Korean

_HAN = re.compile(f"[{HAN}]")
_KANA_HANGUL = re.compile(f"[{KANA_HANGUL}]")
_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]")
_LETTER = re.compile(r"[^\W\d_]")
_ENGLISH = re.compile(
    r"(?<![^\W_])(?:the|of|and|is|are|to|for|with|by|from|that|this|not|must|be)(?![^\W_])", re.IGNORECASE
)
_WIDE = re.compile("[^\x00-\u2e7f]+")

LETTERS = 40  # of the answer's own words; with fewer of them nothing can be said
_CODE = re.compile(r"(?ms)^(`{3,}+|~{3,}+).*?^\1[^\n]*$|`[^`\n]+`")
_QUOTED = re.compile(r"“[^“”]*”|「[^「」]*」|『[^『』]*』|《[^《》]*》|\"[^\"\n]*\"|(?m:^[^\S\n]*>.*$)")
_LINK = re.compile(r"https?://\S+|\[\d{1,3}\]")


def cjk_share(text: str) -> float:
    """Share of Han, kana and hangul among the letters of a text, 0 to 1; 0 without letters."""
    letters = len(_LETTER.findall(text))
    if not letters:
        return 0.0
    return min(1.0, (len(_HAN.findall(text)) + len(_KANA_HANGUL.findall(text))) / letters)


def language_of(text: str) -> Language:
    """ "zh" from a fifth of Han on, "en" for other Latin text, else "other" (also Japanese and Korean)."""
    han, foreign = len(_HAN.findall(text)), len(_KANA_HANGUL.findall(text))
    if han + foreign and cjk_share(text) >= ZH_SHARE:
        return "other" if foreign / (han + foreign) > FOREIGN_SHARE else "zh"
    return "en" if _LATIN.search(text) else "other"


def is_across(question: Language, passage: Language) -> bool:
    """Whether a question and a passage are in languages whose words cannot match, one of them Chinese."""
    return {question, passage} == {"zh", "en"}


def beginning_language(passage: str) -> Language:
    """The language of a long text by its beginning."""
    return language_of(passage[:SEEN])


def language_tag(text: str) -> str:
    """The BCP 47 tag of a text that is surely Chinese or English, for readers that speak it aloud; otherwise "".

    English needs one of its commonest words: other languages in Latin letters are not told apart.
    """
    language = language_of(text)
    if language == "zh":
        return "zh-Hant" if is_traditional(text) else "zh-Hans"
    return "en" if language == "en" and _ENGLISH.search(text) else ""


def columns(text: str) -> int:
    """Width of a text; a CJK character takes two."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _WIDE.findall(text)))


def is_traditional(text: str) -> bool:
    """Whether a text holds a character of traditional_han.txt: common characters that only traditional Chinese has."""
    return not _traditional_han().isdisjoint(text)


@cache
def _traditional_han() -> frozenset[str]:
    return frozenset("".join(read_spaced_words("ragcore.text", "traditional_han.txt")))


def is_other_language(question: str, answer: str) -> bool:
    """Whether a Chinese question got an answer without Chinese, or another question one in Chinese.

    Code, quotations, links and markers do not count; an answer of at most 40 letters is never meant, nor is one to a
    question that names the language it wants.
    """
    prose = _LINK.sub(" ", _QUOTED.sub(" ", _CODE.sub(" ", answer)))
    if len(_LETTER.findall(prose)) <= LETTERS or _names_a_language().search(question):
        return False
    language = language_of(question)
    if language == "zh":
        return cjk_share(prose) == 0
    return language == "en" and language_of(prose) == "zh"


@cache
def _names_a_language() -> re.Pattern[str]:
    cues = read_section("ragcore.text", "language_wishes.txt")
    return re.compile("|".join(map(re.escape, cues)), re.IGNORECASE)
