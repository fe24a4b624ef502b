"""Sentences as summaries have them: several sentences condensed into one, faithfully or with something invented.

The errors are those that people find in summaries: facts of two sentences put on one subject, a cause that nobody gave,
a dropped "may", a detail from elsewhere, an interpretation, subject and object exchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from ragcore.text.tokenise import stop_words
from ragcore.training.support_edits import Corpus, faithful, unfaithful

PHRASES = "summary_phrases.txt"
_BRACKETS = re.compile(r" ?[(（\[][^()（）\[\]]{0,80}[)）\]]")
_CLAUSE = re.compile(r"(?<=[,，;；]) *")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|did|does|became|[a-z]{3,}ed)\b")
_HAN_VERB = re.compile(r"是|为|為|有|在|被|由|可以|能够|能夠|于|於")
_PART = re.compile(r"\b(?:in|at|for|from|by|with|of|as|to)(?: (?:the|a|an|his|her|its))?(?: [\w'-]+){1,3}")
_HAN_PART = re.compile(r"(?:在|从|從|由|为|為|对|對|与|與|和)[\u4e00-\u9fff]{2,6}")
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_ADVERB = re.compile(r"\b[a-z]{3,}ly ")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,6}")
_LONG = re.compile(r"\b[A-Za-z][a-z]{4,}\b")

Change = Callable[[list[str], Sequence[str], Corpus], str | None]


def condensed(passage: Sequence[str], corpus: Corpus) -> str:
    """One to three sentences of a text in one, shorter and partly in other words; it says nothing else."""
    return _retold(_joined(_parts(passage, corpus), corpus), corpus)


def invented(passage: Sequence[str], corpus: Corpus) -> tuple[str, str]:
    """A condensed sentence that says something the text does not, and the kind of error."""
    changes = list(_CHANGES)
    corpus.chance.shuffle(changes)
    for kind, change in changes:
        parts = _parts(passage, corpus)
        changed = change(parts, passage, corpus)
        if changed is not None and changed != _joined(parts, corpus):
            return _retold(changed, corpus), kind
    return unfaithful(corpus.chance.choice(list(passage)), passage, corpus)


def _parts(passage: Sequence[str], corpus: Corpus) -> list[str]:
    """Sentences that mostly stand together, without brackets, some adverbs and some clauses, and without full stops."""
    chance = corpus.chance
    count = min(len(passage), chance.choice([1, 1, 2, 2, 3]))
    start = chance.randrange(len(passage) - count + 1)
    chosen = list(passage[start : start + count])
    if chance.random() < 0.25:  # summaries also put together what stands apart
        chosen = [passage[at] for at in sorted(chance.sample(range(len(passage)), count))]
    return [shorter(sentence, corpus) for sentence in chosen]


def shorter(sentence: str, corpus: Corpus) -> str:
    """Without brackets and adverbs and perhaps one clause."""
    text = _BRACKETS.sub("", sentence).strip().rstrip(".。!！ ")
    if corpus.chance.random() < 0.5:
        text = _ADVERB.sub("", text)
    clauses = _CLAUSE.split(text)
    if len(clauses) > 1 and corpus.chance.random() < 0.6:
        places = sorted(
            corpus.chance.sample(range(len(clauses)), max(1, len(clauses) - corpus.chance.choice([1, 1, 2])))
        )
        text = ("" if _chinese(text) else " ").join(clauses[at] for at in places).rstrip(",，;； ")
    return text or sentence


def _joined(parts: Sequence[str], corpus: Corpus) -> str:
    """In order, with one of the neutral connectives between two parts."""
    text = parts[0]
    for part in parts[1:]:
        text = _with(text, corpus.chance.choice(_phrases("joined", _chinese(text))), part)
    return text


def _retold(text: str, corpus: Corpus) -> str:
    """With other words for some, and perhaps with the words by which an answer speaks of its source."""
    retold = faithful(text, [], corpus).strip(" ,，;；、.。")
    if corpus.chance.random() < 0.15:
        intro = corpus.chance.choice(_phrases("said", _chinese(text)))
        retold = f"{intro}{retold}" if _chinese(text) else f"{intro} {retold}"
    return f"{retold}{'。' if _chinese(text) else '.'}"


def _caused(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """Two statements of the text, one as the cause of the other."""
    if len(parts) < 2:
        return None
    return _with(parts[0], corpus.chance.choice(_phrases("caused", _chinese(parts[0]))), parts[1])


def _merged(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """The subject of one sentence with what another one says of its own."""
    pattern = _HAN_VERB if _chinese(parts[0]) else _VERB
    other = shorter(corpus.chance.choice(list(passage)), corpus)
    head, tail = pattern.search(parts[0], 2), pattern.search(other, 2)
    if head is None or tail is None or other[: tail.start()] in parts[0]:
        return None
    return _joined([parts[0][: head.start()] + other[tail.start() :], *parts[1:]], corpus)


def _swapped(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """Two names in each other's place."""
    text = _joined(parts, corpus)
    names = list(dict.fromkeys(n for n in _NAME.findall(text) if n.lower() not in stop_words()))
    if len(names) < 2:
        return None
    first, second = corpus.chance.sample(names, 2)
    return text.replace(first, "\0").replace(second, first).replace("\0", second)


def _moved(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """A phrase of this sentence gives way to one of the rest of the text."""
    return _other_phrase(parts, passage, corpus)


def _detailed(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """A phrase from another text more."""
    foreign = _phrases_in(corpus.chance.sample(corpus.sentences, min(5, len(corpus.sentences))))
    text = _joined(parts, corpus)
    if not foreign:
        return None
    return f"{text}，{foreign[0]}" if _chinese(text) else f"{text} {corpus.chance.choice(foreign)}"


def _certain(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """What the text says with a "may" or "some", without it."""
    text = _joined(parts, corpus)
    plain = _hedges(_chinese(text)).sub("", text)
    return plain if plain != text else None


def _coloured(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """An interpretation behind it that the text does not give."""
    text = _joined(parts, corpus)
    of = (_HAN_RUN if _chinese(text) else _LONG).findall(" ".join(passage))
    if not of:
        return None
    return text + corpus.chance.choice(_phrases("coloured", _chinese(text))).format(corpus.chance.choice(of).lower())


def _stranger(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    """One of the edits of single sentences: a figure, a name, a denial, something added."""
    text, _ = unfaithful(_joined(parts, corpus), passage, corpus)
    return text


def _other_phrase(parts: list[str], passage: Sequence[str], corpus: Corpus) -> str | None:
    text = _joined(parts, corpus)
    phrases = list((_HAN_PART if _chinese(text) else _PART).finditer(text))
    other_phrases = [phrase for phrase in _phrases_in(passage) if phrase not in text]
    if not phrases or not other_phrases:
        return None
    place = corpus.chance.choice(phrases)
    return text[: place.start()] + corpus.chance.choice(other_phrases) + text[place.end() :]


def _phrases_in(sentences: Sequence[str]) -> list[str]:
    return [p for s in sentences for p in (_HAN_PART if _chinese(s) else _PART).findall(s)]


def _with(text: str, connective: str, part: str) -> str:
    if _chinese(text):
        return f"{text}{connective}{part}"
    comma = "" if connective[:1] in ",;." else " "
    return f"{text}{comma}{connective} {part}"


def _chinese(text: str) -> bool:
    return not re.search("[a-z]{4}", text)


@cache
def _phrases(section: str, chinese: bool) -> list[str]:
    """One section of the data file. Raises KeyError for one that it does not have."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in (files("ragcore.training") / PHRASES).read_text(encoding="utf-8").splitlines():
        if line.startswith("="):
            name = line[1:].strip()
        elif not line.startswith("#"):
            sections.setdefault(name, []).extend(phrase.strip() for phrase in line.split("|"))
    return sections[f"{section} zh" if chinese else section]


@cache
def _hedges(chinese: bool) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in _phrases("hedges", chinese))
    return re.compile(words if chinese else rf"\b(?:{words}) ")


_CHANGES: tuple[tuple[str, Change], ...] = (
    ("caused", _caused),
    ("merged", _merged),
    ("merged", _merged),  # the most frequent error of summaries
    ("swapped", _swapped),
    ("moved", _moved),
    ("detailed", _detailed),
    ("certain", _certain),
    ("coloured", _coloured),
    ("stranger", _stranger),
)
