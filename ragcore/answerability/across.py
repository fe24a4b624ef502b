"""Signs that sources in the other language answer a question, Chinese or English.

Words cannot match there, so the meaning of sentences says it, and beside it what both languages write alike: numbers,
names in Latin letters, and whether a figure or time stands there when one is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragcore.extractive.answer_patterns import PATTERNS
from ragcore.extractive.own_language import LIKELIEST, WORDS_WEIGHT, text_with_names
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.across_words import across_words, covered_across, is_untranslated
from ragcore.text.glossary import glossary_of
from ragcore.text.question_type import wanted
from ragcore.text.scripts import language_of
from ragcore.types import Source

FEATURES = (
    "best",  # the highest cosine of question and sentence
    "second",  # the next one
    "lead",  # the highest one before the middle one
    "first",  # the highest one in the first of these sources
    "numbers",  # share of the question's numbers that the sources have, 1 without any
    "names",  # share of its names in Latin letters that they have, 1 without any
    "covered",  # share of its words that one of the likeliest sentences says, by the dictionary
    "lacks_kind",  # a number or time is asked for, and none stands in the three nearest sentences
)
SOURCES = 3  # in the other language, best first, that are looked at
NEAREST = 3
LONG = 3  # characters of a Chinese word that names one thing: 示波器
_ASKING = re.compile("什么|怎|哪|多少|几|谁|吗")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LATIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_KINDS = ("number", "time")  # whose patterns are of both languages


def across_features(
    question: str, sources: Sequence[Source], *, tokenizer: Tokenizer, embedder: Embedder
) -> dict[str, float] | None:
    """Every sign by its name, of sources in the other language, best first; None without a usable sentence."""
    statements = read_statements(sources[:SOURCES], tokenizer)
    every = sentence_cosines(question, statements, embedder)
    compared = [statement for statement, cosine in zip(statements, every, strict=True) if not np.isnan(cosine)]
    cosines = every[~np.isnan(every)].astype(np.float64)
    if not compared:
        return None
    order = np.argsort(-cosines, kind="stable")
    first = compared[0].source.number
    text = " ".join(source.text for source in sources[:SOURCES])
    near = " ".join(compared[int(at)].text for at in order[:NEAREST])
    return {
        "best": float(cosines[order[0]]),
        "second": float(cosines[order[min(1, len(order) - 1)]]),
        "lead": float(cosines[order[0]] - np.median(cosines)),
        "first": float(
            max(c for c, statement in zip(cosines, compared, strict=True) if statement.source.number == first)
        ),
        "numbers": _share(_NUMBER.findall(question), text),
        "names": _share(_names(question), text),
        "covered": _covered(question, [compared[int(at)] for at in order[:LIKELIEST]], cosines[order], tokenizer),
        "lacks_kind": float(_lacks_kind(question, near)),
    }


def lacks_thing(question: str, sources: Sequence[Source], *, tokenizer: Tokenizer) -> bool:
    """Whether a Chinese question is mostly the name of a thing of which no source in English speaks: 示波器放在哪里.

    Of things that the dictionary knows; a name that is less than half of the question may be left out.
    """
    glossary = glossary_of(tokenizer)
    if glossary is None or language_of(question) != "zh":
        return False
    words = across_words(question, tokenizer, glossary)
    half = sum(word.weight for word in words) / 2
    things = [word for word in words if word.meanings and len(word.text) >= LONG and word.weight >= half]
    things = [word for word in things if not _ASKING.search(word.text)]
    if not things:
        return False
    texts = [f"{source.passage.title} {source.text}" for source in sources]
    stems = [frozenset(tokenizer.words(text)) for text in texts]
    return any(
        not any(word.share_in(text.lower(), words_of) for text, words_of in zip(texts, stems, strict=True))
        for word in things
    )


def _covered(
    question: str, nearest: Sequence[Statement], cosines: npt.NDArray[np.float64], tokenizer: Tokenizer
) -> float:
    """Of the likeliest sentence, by its cosine and its words; with its heading and the document's title."""
    shares = covered_across(question, list(map(text_with_names, nearest)), tokenizer)
    return float(shares[int(np.argmax(cosines[: len(nearest)] + WORDS_WEIGHT * shares))])


def _names(question: str) -> list[str]:
    """What nobody translates: words in Latin letters of a Chinese question, otherwise AMF, TeleQuAD, N2."""
    words: list[str] = _LATIN_NAME.findall(question)
    if language_of(question) == "zh":
        return words
    return [word for word in words if is_untranslated(word)]


def _share(parts: Sequence[str], text: str) -> float:
    lower = text.casefold()
    return sum(part.casefold() in lower for part in parts) / len(parts) if parts else 1.0


def _lacks_kind(question: str, near: str) -> bool:
    kind = wanted(question)
    return kind in _KINDS and PATTERNS[kind].search(near) is None
