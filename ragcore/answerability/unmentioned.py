"""Words of a question that no source mentions, so that a reader sees what an answer leaves open."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.question_sides import question_sides
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem, stop_words

MOST = 5  # words that are named
LEAST_LATIN = 3  # letters of a word that is looked for
LEAST_HAN = 2
KEPT_LETTERS = 4  # of a beginning that counts as the same word: "price", "pricing"
ENDING_LETTERS = 3  # that may differ
_CJK = re.compile(rf"[{CJK}]")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*")


def unmentioned_words(question: str, texts: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Content words of the question, as written, that occur in none of the texts; at most `MOST`, in its order.

    A Latin word counts as mentioned where a text holds its beginning, a Chinese one where a text holds it or all of its
    characters in pairs; so a word that is named here is missing indeed.
    """
    plain_question = normalise_query(question)
    whole = "\n".join(texts).lower()
    words = [word for word in _LATIN.findall(plain_question) if len(word) >= LEAST_LATIN]
    words += [word for word in tokenizer.words(plain_question) if _CJK.search(word) and len(word) >= LEAST_HAN]
    passed = stop_words() | question_sides()
    missing = [
        word
        for word in dict.fromkeys(words)
        if word.lower() not in passed and stem(word.lower()) not in passed and not _is_mentioned(word.lower(), whole)
    ]
    return sorted(missing, key=plain_question.lower().find)[:MOST] if missing else []


def _is_mentioned(word: str, whole: str) -> bool:
    if _CJK.search(word) is None:
        return word[: max(KEPT_LETTERS, len(word) - ENDING_LETTERS)] in whole
    return word in whole or all(word[at : at + 2] in whole for at in range(len(word) - 1))
