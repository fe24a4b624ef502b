"""Edits of sentences that keep what they say, and edits that do not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragcore.grounding.facts import negations
from ragcore.text.tokenise import stop_words

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )(?:[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)*")
_TITLE = re.compile(r"[《「“]([^》」”]{2,20})[》」”]")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,4}")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_CLAUSE = re.compile(r"(?<=[,，;；、]) *")
_VERB = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|may|must)\b(?! not)")
_HAN_VERB = re.compile(r"(?<![不没沒无無])(?:是|为|為|有|在|被|由|可以|能够|能夠)")
FACTS = 0.6  # share of edits that change one fact, where there is one


@dataclass(frozen=True, slots=True)
class Corpus:
    """What edits are made of: sentences of other texts, their words and names."""

    sentences: list[str]
    words: list[str]
    names: list[str]
    chance: random.Random

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], chance: random.Random) -> Corpus:
        sentences = [sentence for text in texts for sentence in text]
        joined = "\n".join(sentences)
        words = [w for w in _WORD.findall(joined) if w not in stop_words() and not negations(w)]
        runs = [run for run in _HAN_RUN.findall(joined) if not negations(run)]
        names = _NAME.findall(joined) + _TITLE.findall(joined)
        return cls(sentences, words + chance.sample(runs, min(5000, len(runs))), names, chance)


Edit = Callable[[str, Sequence[str], Corpus], str | None]


def faithful(sentence: str, passage: Sequence[str], corpus: Corpus) -> str:
    """The same statement shorter, in another order, or with some words that stand for synonyms."""
    chance = corpus.chance
    text = sentence
    if chance.random() < 0.4:
        text = _shortened(text, chance)
    if chance.random() < 0.3:
        text = _turned(text, chance)
    if chance.random() < 0.5:
        text = _reworded(text, corpus, share=chance.uniform(0.05, 0.25))
    if len(passage) > 1 and chance.random() < 0.2:
        text = f"{text.rstrip('.。')}，{chance.choice(list(passage))}" if text > "\u2e7f" else f"{text} {passage[0]}"
    return text


def unfaithful(sentence: str, passage: Sequence[str], corpus: Corpus) -> tuple[str, str]:
    """A statement that the text does not make, and the kind of change; the rest is as in `faithful`."""
    facts: list[tuple[str, Edit]] = [("number", _number), ("name", _name), ("denied", _denied)]
    rest: list[tuple[str, Edit]] = [("mixed", _mixed), ("added", _added), ("foreign", _foreign)]
    corpus.chance.shuffle(facts)
    corpus.chance.shuffle(rest)
    edits = [*facts, *rest] if corpus.chance.random() < FACTS else [*rest, *facts]
    base = faithful(sentence, [], corpus)
    for kind, edit in edits:
        changed = edit(base, passage, corpus)
        if changed is not None and changed not in (base, sentence):
            return changed, kind
    return corpus.chance.choice([s for s in corpus.sentences if s != sentence]), "foreign"


def _shortened(text: str, chance: random.Random) -> str:
    clauses = _CLAUSE.split(text)
    if len(clauses) < 3:
        return text
    dropped = chance.randrange(len(clauses))
    return " ".join(c for i, c in enumerate(clauses) if i != dropped) if text.isascii() else "".join(
        c for i, c in enumerate(clauses) if i != dropped
    )  # fmt: skip


def _turned(text: str, chance: random.Random) -> str:
    clauses = _CLAUSE.split(text)
    if len(clauses) < 2:
        return text
    at = chance.randrange(1, len(clauses))
    head, tail = clauses[:at], clauses[at:]
    return (" " if text.isascii() else "").join([*tail, *head])


def _reworded(text: str, corpus: Corpus, *, share: float) -> str:
    """Plain words give way to others, as in a paraphrase; names and figures stay."""
    pattern = _WORD if re.search("[a-z]{4}", text) else _HAN_RUN

    def other(match: re.Match[str]) -> str:
        word = match.group()
        keep = word in stop_words() or corpus.chance.random() >= share
        return word if keep or not corpus.words else corpus.chance.choice(corpus.words)

    return pattern.sub(other, text)


def _number(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None
    place = corpus.chance.choice(numbers)
    other_numbers = [n for s in passage for n in _NUMBER.findall(s) if n != place.group()]
    if other_numbers and corpus.chance.random() < 0.5:
        return _put(text, place, corpus.chance.choice(other_numbers))
    digits = list(place.group())
    at = corpus.chance.choice([i for i, c in enumerate(digits) if c.isdigit()])
    digits[at] = str((int(digits[at]) + corpus.chance.randint(1, 8)) % 10)
    return _put(text, place, "".join(digits))


def _name(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    names = [*_NAME.finditer(text), *_TITLE.finditer(text)]
    if not names:
        return None
    place = corpus.chance.choice(names)
    near = [n for s in passage for n in [*_NAME.findall(s), *_TITLE.findall(s)] if n not in text]
    pool = near if near and corpus.chance.random() < 0.6 else corpus.names
    return _put(text, place, corpus.chance.choice(pool)) if pool else None


def _denied(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    if re.search(r"[a-z]{4}", text):
        place = _VERB.search(text)
        return _put(text, place, f"{place.group()} not") if place else None
    match = _HAN_VERB.search(text)
    return _put(text, match, f"{'没' if match.group() == '有' else '不'}{match.group()}") if match else None


def _mixed(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    """The beginning of this sentence with the end of another one of the same text."""
    other_sentences = [s for s in passage if s[:20] not in text and text[:20] not in s]
    if not other_sentences:
        return None
    other = corpus.chance.choice(other_sentences)
    return text[: _middle(text)] + other[_middle(other) :]


def _added(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    """Something from elsewhere behind it."""
    other = corpus.chance.choice(corpus.sentences)
    tail = other[_middle(other) :].strip(" ,，")
    return f"{text.rstrip(' .。')}, {tail}" if text.isascii() else f"{text.rstrip(' .。')}，{tail}"


def _foreign(text: str, passage: Sequence[str], corpus: Corpus) -> str | None:
    return corpus.chance.choice(corpus.sentences)


def _middle(text: str) -> int:
    """Where the second half begins, at a space if there are spaces."""
    half = len(text) // 2
    space = text.find(" ", half)
    return space if 0 <= space < half + 15 else half


def _put(text: str, place: re.Match[str], word: str) -> str:
    return text[: place.start()] + word + text[place.end() :]
