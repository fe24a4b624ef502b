"""Questions made of a corpus' own sentences, by rules: what is known to be answered there.

A sentence loses one thing, which is asked for, and four of ten other content words, as people do not repeat a passage.
How well the passages answer these is compared between corpora only: people ask in other ways.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from ragcore.ports import Tokenizer
from ragcore.text.scripts import language_of
from ragcore.text.sentences import split_sentences
from ragcore.text.tokenise import stop_words

KEPT_SHARE = 0.6  # of the content words beside the one that is asked for
LEAST_WORDS = 5  # content words of a sentence
MOST_WORDS = {"zh": 12, "other": 10}  # of a question
LENGTHS = {"zh": (10, 200), "other": (20, 400)}  # characters of a sentence
CHANCE = 0.5  # that a figure is asked for where there is one, and else a name
_WORDS = re.compile(r"\w[\w.'\-/]*\w|\w")
_FIGURE = re.compile(r"\d")


def question_of_passage(text: str, tokenizer: Tokenizer, chance: random.Random) -> str | None:
    """A question that one of the sentences of a passage answers; None where none is fit for it."""
    script = "zh" if language_of(text) == "zh" else "other"
    least, most = LENGTHS[script]
    fit = [s.strip() for s in split_sentences(text) if least <= len(s.strip()) <= most]
    return _question(chance.choice(fit), script, tokenizer, chance) if fit else None


def _question(sentence: str, script: str, tokenizer: Tokenizer, chance: random.Random) -> str | None:
    words = list(tokenizer.words(sentence)) if script == "zh" else _WORDS.findall(sentence)
    content = [at for at, word in enumerate(words) if _is_content(word)]
    if len(content) < LEAST_WORDS:
        return None
    asked_place, question_word = _asked(words, content, script, chance)
    rest = [at for at in content if at != asked_place]
    repeated = set(chance.sample(rest, min(max(2, round(KEPT_SHARE * len(rest))), MOST_WORDS[script])))
    if script == "zh":
        question_words = (
            question_word if at == asked_place else word
            for at, word in enumerate(words)
            if at == asked_place or at in repeated
        )
        return f"{''.join(question_words)}？"
    return f"{question_word} {' '.join(word for at, word in enumerate(words) if at in repeated)}?"


def _is_content(word: str) -> bool:
    return word.lower() not in stop_words() and (len(word) > 1 or word.isdigit())


def _asked(words: Sequence[str], content: Sequence[int], script: str, chance: random.Random) -> tuple[int, str]:
    """The place of the word that is asked for, and the word that asks for it."""
    figures = [at for at in content if _FIGURE.search(words[at])]
    names = [at for at in content if at and words[at][:1].isupper()] if script == "other" else []
    if figures and chance.random() < CHANCE:
        return chance.choice(figures), "多少" if script == "zh" else "how many"
    if names and chance.random() < CHANCE:
        return chance.choice(names), "who"
    return chance.choice(content[len(content) // 2 :]), "什么" if script == "zh" else "what"
