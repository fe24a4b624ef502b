"""Things that a question names and no document knows: "MTBF", "the capital of Australia", 探亲假.

What is told of another thing of the kind shares every other word with the question, and is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ragcore.ports import Tokenizer
from ragcore.text.asked_property import speaks_of
from ragcore.text.named_places import is_known_name
from ragcore.text.normalise import nfkc
from ragcore.text.question_core import question_core
from ragcore.text.spelling import likeness
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_section

LONG = 3  # characters of a Chinese word that names one thing
MOSTLY = 0.5  # share of a Chinese question that such a name is
LIKE_ACRONYM = 0.7  # NEFT is a slip for NEF, VRL for VLR
_ACRONYM = re.compile(r"(?<![A-Za-z0-9_.@/-])[A-Z]{3,6}(?![A-Za-z0-9_@/-]|\.\w)")
_LAST = re.compile(
    r"\A\W*(?:what|whats|which|who|whos|where|wheres)\b.*\b(?:of|in|for|from|about) ([a-z]{4,}|[A-Z][a-z]{3,})\W*\Z",
    re.IGNORECASE,
)
_CJK_RUN = re.compile(r"[\u4e00-\u9fff]+")
_ASKING = re.compile(
    "什么|什麼|怎|哪|多少|[几幾]|[谁誰]|[吗嗎何]|多[久长長大高远遠]|[一二两兩三四五六七八九十能会會要被最]|顶多|頂多"
)


def unknown_things(
    question: str, texts: Sequence[str], known_terms: Collection[str], tokenizer: Tokenizer
) -> list[str]:
    """The names in a question, as it writes them, of which neither the texts nor any passage has a word.

    `known_terms`: as of `unknown_places`. A name counts as known where a text has its long form, its words in the other
    language, words that mean the same, or a name from which it is a slip.
    """
    plain = nfkc(question)
    names = list(_names(plain, tokenizer)) if known_terms else []
    if not names:
        return []
    whole = "\n".join(texts)
    words = frozenset(tokenizer.words(whole)) | frozenset(known_terms)
    return [name for name in names if not _is_spoken_of(name, whole, words, tokenizer)]


def _names(plain: str, tokenizer: Tokenizer) -> Iterator[str]:
    if plain != plain.upper() or _CJK_RUN.search(plain):  # else nothing tells an acronym
        yield from dict.fromkeys(_ACRONYM.findall(plain))
    if match := _LAST.match(plain):
        yield match[1]
    yield from _chinese_thing(plain, tokenizer)


def _chinese_thing(plain: str, tokenizer: Tokenizer) -> Iterator[str]:
    """The long word that is at least half of what a Chinese question says."""
    fillers = read_section("ragcore.answerability", "subject_fillers.txt")
    words = [word for word in tokenizer.words(question_core(plain)) if word not in stop_words()]
    words = [word for word in dict.fromkeys(words) if word not in fillers and not _ASKING.search(word)]
    total = sum(map(len, words))
    for word in words:
        if _CJK_RUN.fullmatch(word) and len(word) >= LONG and len(word) >= MOSTLY * total:
            yield word


def _is_spoken_of(name: str, whole: str, words: frozenset[str], tokenizer: Tokenizer) -> bool:
    if is_known_name(name, whole.lower(), words, tokenizer):
        return True
    if name.isupper():
        return _has_long_form(name, whole) or any(likeness(name.lower(), word) >= LIKE_ACRONYM for word in words)
    if name.isascii():
        return speaks_of(whole, name.lower(), tokenizer)
    return any(name[at : at + 2] in whole for at in range(len(name) - 1))


def _has_long_form(acronym: str, whole: str) -> bool:
    """Whether words with these initials stand beside each other: "mean time between failures"."""
    initials = r"[\W_]+".join(rf"{letter}[a-z]+" for letter in acronym)
    return re.search(rf"\b{initials}\b", whole, re.IGNORECASE) is not None
