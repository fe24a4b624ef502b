"""Frequent specialist phrases: n-grams of words with the figures that tell a term from a chance neighbourhood.

Figures of a phrase: pointwise mutual information of its best split (how much its parts belong together), entropy of
what stands left and right (how freely it is used), inverse document frequency, completeness (how seldom it is only
part of a longer phrase), and parts of speech. Church & Hanks 1990; Bu et al., Measuring the degree of coupling, 2010;
Shang et al., Automated phrase mining from massive text corpora, 2018.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ragcore.ports import Tokenizer
from ragcore.text.mining.parts_of_speech import is_compound, nominal, tags_of
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem, stop_words

MOST_WORDS = 5
LEAST_COUNT = 3
MOST_CHARACTERS = 80
MOST_PHRASES = 200_000  # counted at once; the rare ones go first
_RUN = re.compile(rf"[{CJK}]+|[0-9]*[A-Za-z][A-Za-z0-9]*(?:[-/][A-Za-z0-9]+)*|\d+|\n|[^\s]")
_EDGE = frozenset("的了在是和与及或一不这那有为对从到以也就都而被把等其各该每所")
FEATURES = (
    "pmi",
    "left",
    "right",
    "idf",
    "completeness",
    "count",
    "words",
    "letters",
    "capitals",
    "cjk",
    "marked",
    "alone",
    "linked",
    "nominal",
)

LEAST_VERBS = 2  # places in which a word is used as a verb, at least
_BEFORE_VERBS = frozenset(
    ("to", "will", "would", "can", "could", "may", "might", "shall", "should", "must", "cannot", "not")
    + ("we", "they", "you", "i", "he", "she", "who", "let")
)
_BEFORE_NOUNS = ("the", "a", "an", "of", "this", "these", "those", "its", "their", "our", "your", "each", "every", "no")

SEPARATOR = "\x1f"  # between Chinese words, which are written without a space


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A phrase with its figures. `text` as it is written most often."""

    text: str
    key: str
    count: int
    documents: int
    pmi: float  # nats; of the split into two parts that belong together least
    left_entropy: float  # entropy in nats
    right_entropy: float
    idf: float
    completeness: float  # 0 to 1: 1 where it never stands in a longer phrase
    capitals: float  # share of its places where it has a capital inside a sentence
    marked: float  # share of the documents in which it is a heading, bold or in quotes
    level: int = 0  # clearance of the lowest document that has it
    alone: float  # share of its places with a function word or a border on both sides
    nominal: float  # built like a term, 0 to 1, see ragcore.text.mining.parts_of_speech
    is_compound: bool = True  # of nouns, and of adjectives before them: no verb in it

    def figures(self) -> tuple[float, ...]:
        """float[len(FEATURES)], of the same order of magnitude."""
        words = len(self.key.split()) if self.text.isascii() else len(self.text) / 2
        return (
            min(self.pmi, 12) / 12,
            min(self.left_entropy, 4) / 4,
            min(self.right_entropy, 4) / 4,
            min(self.idf, 8) / 8,
            self.completeness,
            min(math.log(self.count), 6) / 6,
            min(words, 5) / 5,
            min(len(self.text), 40) / 40,
            self.capitals,
            float(not self.text.isascii()),
            self.marked,
            self.alone,
            float(any(word in stop_words() for word in _parts(self.key)[1:-1])),  # 'of', 'and' inside
            self.nominal,
        )


@dataclass(slots=True)
class PhraseCounter:
    """Counts n-grams of many texts. `add` each document, then `phrases`."""

    tokenizer: Tokenizer
    counts: Counter[str] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)
    spellings: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    before: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    after: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    alone: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    levels: dict[str, int] = field(default_factory=dict)
    words: int = 0
    texts: int = 0

    def add(self, text: str, *, level: int = 0) -> None:
        """Count the phrases of one document; `level`: its clearance."""
        self.texts += 1
        keys_of_text: set[str] = set()
        for piece in sentences_of(text):
            surfaces = list(surface_words(piece, self.tokenizer))
            self.words += len(surfaces)
            keys = [normal_word(surface) for surface in surfaces]
            for at in range(len(keys)):
                for end in range(at + 1, min(at + MOST_WORDS, len(keys)) + 1):
                    if keys[end - 1] == "":
                        break
                    key = _joined(keys[at:end])
                    self.counts[key] += 1
                    if end - at > 1 or len(surfaces[at]) > 2:
                        keys_of_text.add(key)
                        self.spellings[key][_joined(surfaces[at:end])] += 1
                        before = keys[at - 1] if at else "^"
                        right = keys[end] if end < len(keys) else "$"
                        self.before[key][before] += 1
                        self.after[key][right] += 1
                        self.alone[key] += _is_border(before) and _is_border(right)
        self.documents.update(keys_of_text)
        for key in keys_of_text:
            self.levels[key] = min(level, self.levels.get(key, level))
        for mark in set(_marked(text)):
            key = _joined([normal_word(surface) for surface in surface_words(mark, self.tokenizer)])
            if key in keys_of_text:
                self.marks[key] += 1
        if len(self.counts) > 2 * MOST_PHRASES:
            self._forget()

    def _forget(self) -> None:
        """In large collections keep the MOST_PHRASES that came most often, and all that came as often as these."""
        count_of_last = sorted(self.counts.values(), reverse=True)[MOST_PHRASES - 1]
        least = (
            count_of_last
            if sum(count >= count_of_last for count in self.counts.values()) <= MOST_PHRASES * 1.5
            else count_of_last + 1
        )
        rare = [key for key, count in self.counts.items() if count < least]
        tables = (self.counts, self.documents, self.spellings, self.before, self.after)
        for key in rare:
            for table in (*tables, self.alone, self.marks, self.levels):
                table.pop(key, None)  # type: ignore[attr-defined]

    def phrases(self, *, least: int = LEAST_COUNT) -> list[Phrase]:
        """Phrases of two and more words, or of three and more Chinese characters, that may be terms."""
        inside = self._inside()
        keys = [key for key, count in self.counts.items() if self._is_frequent(key, count, least)]
        spellings = {key: self.spellings[key].most_common(1)[0][0] for key in keys}
        tags = tags_of({word for text in spellings.values() for word in _parts(text)})
        phrases = []
        for key in keys:
            count, parts = self.counts[key], _parts(key)
            text = written_form(spellings[key])
            if len(text) > MOST_CHARACTERS:
                continue
            phrases.append(
                Phrase(
                    text=text,
                    key=key,
                    count=count,
                    documents=self.documents[key],
                    pmi=self._pmi(parts, count),
                    left_entropy=_entropy(self.before[key]),
                    right_entropy=_entropy(self.after[key]),
                    idf=math.log((self.texts + 1) / (self.documents[key] + 0.5)),
                    completeness=1 - inside.get(key, 0) / count,
                    capitals=_capitals(self.spellings[key]),
                    level=self.levels.get(key, 0),
                    alone=self.alone[key] / count,
                    marked=self.marks[key] / max(self.documents[key], 1),
                    nominal=nominal(_parts(spellings[key]), tags),
                    is_compound=self._is_compound(key, _parts(spellings[key]), tags),
                )
            )
        return phrases

    def _is_frequent(self, key: str, count: int, least: int) -> bool:
        """Whether a phrase of several words comes often enough, and may be a term by its ends."""
        return count >= least and key in self.spellings and len(_parts(key)) > 1 and _may_be_term(key)

    def _is_compound(self, key: str, words: Sequence[str], tags: Mapping[str, str]) -> bool:
        verbs = {word for word in words if word.isascii() and self._is_verb(normal_word(word))}
        is_named = any(self.before[key][cue] for cue in _before_nouns())
        return is_compound(words, tags, verbs=verbs, is_named=is_named)

    def _is_verb(self, key: str) -> bool:
        """Whether an English word is used as a verb more often than as a noun, by the words before it."""
        before = self.before.get(key, Counter())
        as_verb = sum(before[cue] for cue in _BEFORE_VERBS)
        return as_verb >= LEAST_VERBS and as_verb > sum(before[cue] for cue in _before_nouns())

    def _pmi(self, parts: Sequence[str], count: int) -> float:
        total = max(self.words, 1)
        return min(
            math.log(count * total / max(self.counts[_joined(parts[:at])] * self.counts[_joined(parts[at:])], 1))
            for at in range(1, len(parts))
        )

    def _inside(self) -> dict[str, int]:
        """How often a phrase stands inside its most frequent longer phrase."""
        most: dict[str, int] = {}
        for key, count in self.counts.items():
            parts = _parts(key)
            if len(parts) < 3 or count < LEAST_COUNT:
                continue
            for shorter in (_joined(parts[1:]), _joined(parts[:-1])):
                if count > most.get(shorter, 0):
                    most[shorter] = count
        return most


def surface_words(text: str, tokenizer: Tokenizer) -> Iterator[str]:
    """Words as written, Chinese ones by the tokenizer; "" for what no phrase spans."""
    for match in _RUN.finditer(text):
        run = match.group()
        if re.match(f"[{CJK}]", run):
            yield from tokenizer.words(run)
        elif any(map(str.isalpha, run)):
            yield run
        else:
            yield ""


def phrase_words(key: str) -> list[str]:
    """The words of a phrase by its key."""
    return _parts(key)


@cache
def _before_nouns() -> frozenset[str]:
    return frozenset(map(normal_word, _BEFORE_NOUNS))


def _joined(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        apart = SEPARATOR if text and re.match(f"[{CJK}]", word) and re.search(rf"[{CJK}]\Z", text) else " "
        text = word if not text else text + apart + word
    return text


def _parts(key: str) -> list[str]:
    return re.split(rf"[ {SEPARATOR}]", key)


def written_form(text: str) -> str:
    """A phrase as people write it."""
    return text.replace(SEPARATOR, "")


def normal_word(word: str) -> str:
    """A word without case and English endings."""
    return stem(word.lower()) if word.isascii() else word


def sentences_of(text: str) -> Iterator[str]:
    """Pieces of a text that no phrase goes beyond."""
    for line in text.splitlines():
        if line.strip().startswith("|"):
            yield from (cell for cell in line.split("|") if cell.strip())
        else:
            yield from (
                piece for piece in re.split(r"[.。!！?？;；:：,，、()（）\[\]【】\"“”<>《》\t]", line) if piece.strip()
            )


def _marked(text: str) -> Iterator[str]:
    """Headings, bold and quoted texts, names before a colon at the beginning of a line."""
    for match in re.finditer(
        r"^#+\s*(?:[\d.]+\s*)?(.{2,60})$|\*\*([^*\n]{2,60})\*\*|[\"“《]([^\"”》\n]{2,60})[\"”》]", text, re.M
    ):
        yield next(group for group in match.groups() if group)
    for match in re.finditer(r"^([^\n:：.]{3,60})[:：]\s+\S", text, re.M):
        yield match.group(1)


def _may_be_term(key: str) -> bool:
    """By its first and last word: no function word at either end, no single letter, no number alone."""
    parts = _parts(key)
    stop = stop_words()
    first, last = parts[0], parts[-1]
    if any(part == "" for part in parts) or {first, last} & stop or first[0] in _EDGE or last[-1] in _EDGE:
        return False
    if any(len(part) == 1 and part.isascii() for part in (first, last)):
        return False
    return len(set(parts)) > 1


def _is_border(word: str) -> bool:
    """Whether a term ends beside this word."""
    return word in ("", "^", "$") or word in stop_words() or word in _EDGE


def _entropy(counts: Counter[str]) -> float:
    """In nats; a border of the sentence counts as a word of its own each time."""
    edge = counts["^"] + counts["$"]
    total = sum(counts.values())
    if total == 0:
        return 0.0
    plain = -sum(n / total * math.log(n / total) for word, n in counts.items() if word not in "^$")
    return plain + edge / total * math.log(total)


def _capitals(spellings: Counter[str]) -> float:
    total = sum(spellings.values())
    return sum(n for text, n in spellings.items() if any(word[:1].isupper() for word in text.split()[1:])) / total


def phrases_of(texts: Iterable[str], tokenizer: Tokenizer, *, least: int = LEAST_COUNT) -> list[Phrase]:
    """The phrases of some documents."""
    counter = PhraseCounter(tokenizer)
    for text in texts:
        counter.add(text)
    return counter.phrases(least=least)
