"""Evidence that sources support a sentence, as features of a linear model (B4, V8).

All are shares in [0, 1] or small counts, so that weights can be read. A window is one to three sentences of a source.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ragcore.grounding.facts import (
    clauses,
    figures,
    figures_offered,
    names,
    negations,
    plain_figure,
    quotations,
    reporting_words,
)
from ragcore.grounding.source_texts import SourceText, SourceTexts
from ragcore.ports import Embedder
from ragcore.text.keywords import keywords
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import cjk_share
from ragcore.text.similarity import cosine_matrix

FEATURES = (
    "sentence",  # weighted share of keywords that one sentence has
    "window",  # the same for three sentences in a row
    "source",  # the same for one source
    "all_sources",  # the same for all sources, also those that are not cited
    "missing_words",  # log of how many keywords the best source lacks
    "weakest_clause",  # share of keywords that one sentence has, of the clause for which that is lowest
    "tokens",  # share of all words, also function words, that one sentence has
    "order",  # longest common subsequence with one sentence, as a share of the words
    "spread",  # share of keywords that the source has, but not its best sentence
    "longest_gap",  # longest run of keywords that the best window lacks, as a share
    "pairs",  # share of neighbouring keywords that stand together in one sentence
    "triples",  # share of three words in a row that stand so in a source
    "missing_figures",  # how many figures no source has, at most 3
    "distant_figures",  # how many the best window lacks although a source has them
    "missing_names",
    "distant_names",
    "missing_quotations",
    "denied",  # the sentence denies something and its best window does not
    "affirmed",  # the other way round
    "letters",  # share of letter n-grams of the words that the best source has
    "length",  # log of the number of keywords
    "reporting",  # share of words with which an answer speaks about its sources
)
MEANING = (*FEATURES, "cosine")
MOST = 3
WINDOW = 3
COMPARED = 2  # sentences whose vectors are compared, those that share most words, besides the best window
READ = 2  # sentences whose wording is compared
Vector = npt.NDArray[np.float64]
_MARKER = re.compile(r"\s*\[\d{1,3}\]")


@dataclass
class Evidence:
    """Features of the sentences of one answer. Sources are tokenised once, at the first sentence."""

    texts: SourceTexts
    embedder: Embedder | None = None
    _frequency: dict[str, int] = field(default_factory=dict)
    _vectors: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    def features(self, sentence: str, cited: Sequence[int] = ()) -> Vector:
        """float64[len(FEATURES)] of a sentence and the sources that it cites; of all sources if it cites none."""
        return self._found(sentence, cited)[0]

    def with_meaning(self, sentence: str, cited: Sequence[int] = ()) -> Vector:
        """float64[len(MEANING)]: also the best cosine of a source's sentence, as far as the embedder can be trusted."""
        row, near = self._found(sentence, cited)
        best = self._cosine(_MARKER.sub("", sentence), near)
        return np.append(row, best)

    def _found(self, sentence: str, cited: Sequence[int]) -> tuple[Vector, list[str]]:
        text = _MARKER.sub("", sentence)
        pool = self.texts.of(cited)
        claim = _Claim.of(text, pool[0]) if pool else None
        if claim is None or not claim.words:
            return np.zeros(len(FEATURES)), []
        weights = np.array([self._rarity(word) for word in claim.words])
        weights /= weights.sum()
        match = max((_Match.of(source, claim, weights) for source in pool), key=lambda m: (m.window, m.source))
        everywhere = frozenset[str]().union(*(source.words for source in self.texts.all))
        row = [
            max(match.sentence, 0.0),
            match.window,
            match.source,
            float(sum(w for w, word in zip(weights, claim.words, strict=True) if word in everywhere)),
            math.log1p(sum(word not in match.text.words for word in claim.words)),
            match.weakest(claim, weights),
            *match.wording(claim),
            max(0.0, match.source - match.sentence),
            match.gap(claim),
            match.pairs(claim),
            _share(claim.triples, match.text.triples),
            *_figures(claim, pool, match),
            *_names(claim, pool, match),
            min(MOST, sum(squeeze(q) not in squeeze(match.text.lower) for q in claim.quotations)),
            float(claim.denied and not match.denied),
            float(match.denied and not claim.denied),
            _letters(claim, match.text),
            math.log(len(claim.words)),
            claim.reporting,
        ]
        return np.array(row, np.float64), match.nearest(COMPARED)

    def _rarity(self, word: str) -> float:
        """How much a keyword says: by the share of sentences that have it; most for one that none has."""
        if not self._frequency:
            self._frequency[""] = 0
            for source in self.texts.all:
                for words in source.sentence_words:
                    self._frequency[""] += 1
                    for known in words:
                        self._frequency[known] = self._frequency.get(known, 0) + 1
        return math.log(1 + (self._frequency[""] + 1) / (self._frequency.get(word, 0) + 1))

    def _cosine(self, text: str, near: Sequence[str]) -> float:
        if self.embedder is None or not near:
            return 0.0
        missing = [sentence for sentence in dict.fromkeys(near) if sentence not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self.embedder.embed_documents(missing), strict=True))
        rows = np.vstack([self._vectors[sentence] for sentence in near])
        best = float(cosine_matrix(self.embedder.embed_queries([text]), rows).max())
        return max(0.0, min(1.0, best * self.embedder.trust(cjk_share(text))))


@dataclass(frozen=True, slots=True)
class _Claim:
    """A sentence of the answer, analysed."""

    words: list[str]  # keywords in order, each once, without those that only report
    tokens: list[str]
    triples: set[tuple[str, str, str]]
    clauses: list[list[int]]  # places of the keywords of each clause in `words`
    figures: list[str]
    names: list[str]
    quotations: list[str]
    denied: bool
    reporting: float

    @classmethod
    def of(cls, text: str, source: SourceText) -> _Claim:
        tokens = source.tokenizer.words(text)
        found = keywords(text, source.tokenizer)
        telling = [word for word in found if word not in reporting_words()]
        words = telling or found
        place = {word: at for at, word in enumerate(words)}
        parts = [[place[w] for w in set(source.tokenizer.words(part)) if w in place] for part in clauses(text)]
        return cls(
            words=words,
            tokens=tokens,
            clauses=[part for part in parts if part],
            triples=set(zip(tokens, tokens[1:], tokens[2:], strict=False)),
            figures=[plain_figure(figure) for figure in figures(text)],
            names=names(text),
            quotations=quotations(text),
            denied=negations(text) > 0,
            reporting=1 - len(telling) / len(found) if found else 0.0,
        )


@dataclass(frozen=True, slots=True)
class _Match:
    """How one source covers a sentence."""

    text: SourceText
    present: npt.NDArray[np.bool_]  # [sentences, keywords]
    scores: Vector  # of each sentence
    start: int  # of the best window
    sentence: float
    window: float
    source: float

    @classmethod
    def of(cls, text: SourceText, claim: _Claim, weights: Vector) -> _Match:
        named = np.array([word in text.name_words for word in claim.words])
        present = np.array([[word in words for word in claim.words] for words in text.sentence_words]) | named
        windows = present.copy()
        for shift in range(1, min(WINDOW, len(present))):
            windows[:-shift] |= present[shift:]
        covered = windows @ weights
        scores = present @ weights
        start = int(covered.argmax())
        return cls(
            text=text,
            present=present,
            scores=scores,
            start=start,
            sentence=float(scores.max()),
            window=float(covered[start]),
            source=float(present.any(axis=0) @ weights),
        )

    @property
    def window_text(self) -> str:
        return " ".join((self.text.names, *self.text.sentences[self.start : self.start + WINDOW]))

    @property
    def denied(self) -> bool:
        return any(self.text.negated[self.start : self.start + WINDOW])

    def nearest(self, count: int) -> list[str]:
        """The sentences that share most, and the best window as one text."""
        order = np.argsort(-self.scores, kind="stable")[:count]
        return [self.text.sentences[i] for i in order] + [
            "".join(self.text.sentences[self.start : self.start + WINDOW])
        ]

    def weakest(self, claim: _Claim, weights: Vector) -> float:
        """Coverage of each clause by the sentence that covers it best; the lowest of them."""
        covered = (float((self.present[:, part] @ weights[part]).max() / weights[part].sum()) for part in claim.clauses)
        return min(covered, default=self.sentence)

    def wording(self, claim: _Claim) -> tuple[float, float]:
        """Share of all words, and of words in the same order, by the best of the sentences that share most keywords."""
        best = np.argsort(-self.scores, kind="stable")[:READ].tolist()
        have = max(sum(token in self.text.sentence_words[i] for token in claim.tokens) for i in best)
        ordered = max(_in_order(claim.tokens, self.text.tokens[i]) for i in best)
        return have / len(claim.tokens), ordered / len(claim.tokens)

    def gap(self, claim: _Claim) -> float:
        covered = np.asarray(self.present[self.start : self.start + WINDOW].any(axis=0))
        longest = run = 0
        for there in covered.tolist():
            run = 0 if there else run + 1
            longest = max(longest, run)
        return longest / len(claim.words)

    def pairs(self, claim: _Claim) -> float:
        if len(claim.words) < 2:
            return self.sentence
        together = (self.present[:, :-1] & self.present[:, 1:]).any(axis=0)
        return float(together.mean())


def _figures(claim: _Claim, pool: Sequence[SourceText], match: _Match) -> tuple[float, float]:
    if not claim.figures:
        return 0.0, 0.0
    known = set[str]().union(*(source.figures for source in pool))
    near = figures_offered(match.window_text)
    missing = sum(figure not in known for figure in claim.figures)
    distant = sum(figure in known and figure not in near for figure in claim.figures)
    return float(min(MOST, missing)), float(min(MOST, distant))


def _names(claim: _Claim, pool: Sequence[SourceText], match: _Match) -> tuple[float, float]:
    near = match.window_text.lower()
    missing = [name for name in claim.names if not any(name in source.lower for source in pool)]
    distant = [name for name in claim.names if name not in near and name not in missing]
    return float(min(MOST, len(missing))), float(min(MOST, len(distant)))


def _letters(claim: _Claim, text: SourceText) -> float:
    """Share of pairs of CJK characters and of fours of other letters in the keywords; it forgives endings."""
    found = [
        word[i : i + n] for word in claim.words for n in [2 if word[:1] > "\u2e7f" else 4] for i in _starts(word, n)
    ]
    return sum(gram in text.lower for gram in found) / len(found) if found else 1.0


def _starts(word: str, n: int) -> range:
    return range(max(1, len(word) - n + 1))


def _in_order(tokens: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    before = [0] * (len(other) + 1)
    for token in tokens:
        row = [0]
        for at, word in enumerate(other):
            row.append(before[at] + 1 if token == word else max(before[at + 1], row[at]))
        before = row
    return before[-1]


def _share(wanted: set[tuple[str, str, str]], have: set[tuple[str, str, str]]) -> float:
    return len(wanted & have) / len(wanted) if wanted else 1.0
