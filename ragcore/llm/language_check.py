"""Whether an answer is written in another language than its question."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.scripts import cjk_share, language_of
from ragcore.text.word_lists import read_section

LETTERS = 40  # of the answer's own words; with fewer of them nothing can be said
_CODE = re.compile(r"(?ms)^(`{3,}|~{3,}).*?^\1[^\n]*$|`[^`\n]+`")
_QUOTED = re.compile(r"“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|\"[^\"\n]*\"|(?m:^\s*>.*$)")
_LINK = re.compile(r"https?://\S+|\[\d{1,3}\]")
_LETTER = re.compile(r"[^\W\d_]")


def is_other_language(question: str, answer: str) -> bool:
    """Whether a Chinese question got an answer without Chinese, or another question one in Chinese.

    Code, quotations, links and markers do not count; an answer of at most 40 letters is never meant, nor is one to a
    question that names the language it wants.
    """
    own = _LINK.sub(" ", _QUOTED.sub(" ", _CODE.sub(" ", answer)))
    if len(_LETTER.findall(own)) <= LETTERS or _names_a_language().search(question):
        return False
    asked = language_of(question)
    if asked == "zh":
        return cjk_share(own) == 0
    return asked == "en" and language_of(own) == "zh"


@cache
def _names_a_language() -> re.Pattern[str]:
    cues = read_section("ragcore.llm", "language_wishes.txt")
    return re.compile("|".join(map(re.escape, cues)), re.IGNORECASE)
