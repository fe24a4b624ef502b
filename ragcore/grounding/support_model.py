"""How likely sources support a sentence: features of both, and a logistic model over them.

Features are shares in [0, 1] or small counts, so that weights can be read. A window is one to three sentences of a
source.

Two sets of weights: one of words alone, which ships in support_model.json (`python -m ragcore.training support`), and
one that joins its log odds with the cosine of vectors. That one belongs to an embedding model, a file for each
(`support-meaning`). It has few weights on purpose: fitted to everything at once, the cosine of edited sentences
outweighed the words. A sentence in another language than its sources, Chinese or English, is judged by meaning and
figures alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ragcore.fitted_weights import fitted_weights, neutral_weights
from ragcore.grounding.facts import (
    clauses,
    figures,
    names,
    negations,
    plain_figure,
    quotations,
    reporting_words,
)
from ragcore.grounding.source_texts import SourceText, SourceTexts
from ragcore.ports import Embedder
from ragcore.text.lexical_features import (
    common_subsequence_length,
    cooccurrence_share,
    log_length,
    sentence_windows,
    smoothed_idf,
)
from ragcore.text.matching import cosine_matrix, keywords
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import beginning_language, cjk_share, is_across, language_of
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_sections

FEATURES = (
    "sentence",  # weighted share of keywords that one sentence has
    "weakest_clause",  # the same of the clause for which it is lowest
    "tokens",  # share of all words, also plain ones, that one sentence has
    "order",  # longest common subsequence with one sentence, as a share of the words
    "pairs",  # share of all pairs of keywords that stand together in one sentence
    "plain_words",  # share of stop words that the best sentence has
    "missing_words",  # log of how many keywords the best source lacks
    "missing_figures",  # how many figures no source has, at most 3
    "missing_names",
    "missing_quotations",
    "denied",  # the sentence denies something and its best window does not
    "new_cause",  # the sentence gives a cause and its best window gives none
    "unhedged",  # the best sentence of the source restricts what it says and this one does not
    "length",  # log of the number of keywords
    "reporting",  # share of words with which an answer speaks about its sources
)
MEANING = ("by_words", "cosine")  # log odds by the features above; best cosine of a source's sentence
ACROSS = ("cosine", "missing_figures")  # for sources in the other language: best cosine, figures that they lack
MOST = 3
WINDOW = 3
COMPARED = 3  # sentences whose vectors are compared, those that share most words
READ = 2  # sentences whose wording is compared
Vector = npt.NDArray[np.float64]
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_MARKER = re.compile(r"(?:(?<!\s)\s+)?\[\d{1,3}\]")
MODEL_FILE = "support_model.json"
MEANING_FILE = "support_meaning.json"
SURE_FROM = 0.7  # by words alone; vectors are asked only below


def gives_cause(text: str) -> bool:
    """Whether a text says that something is so because of something else, by evidence_causes.txt."""
    return _cues("evidence_causes.txt").search(text) is not None


def hedges(text: str) -> bool:
    """Whether a text restricts what it says ("may", "some", 可能), by evidence_hedges.txt."""
    return _cues("evidence_hedges.txt").search(text) is not None


@cache
def _cues(name: str) -> re.Pattern[str]:
    sections = read_sections("ragcore.grounding", name)
    words = [re.escape(word).replace(r"\*", r"[a-z]*") for word in sections[""]]
    return re.compile("|".join([rf"\b(?:{'|'.join(words)})\b", *sections["chinese"]]), re.IGNORECASE)


@dataclass
class SupportFeatures:
    """Features of the sentences of one answer. Sources are tokenised once, at the first sentence."""

    texts: SourceTexts
    embedder: Embedder | None = None
    _frequency: dict[str, int] = field(default_factory=dict)
    _vectors: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[int, ...]], tuple[Vector, list[str]]] = field(default_factory=dict)

    def features(self, sentence: str, cited: Sequence[int] = ()) -> Vector:
        """float64[len(FEATURES)] of a sentence and the sources that it cites; of all sources if it cites none."""
        return self._cached_features(sentence, cited)[0]

    def cosine(self, sentence: str, cited: Sequence[int] = ()) -> float:
        """Best cosine of the sentences that share most words, 0 to 1, as far as the embedder can be trusted."""
        return self._cosine(_MARKER.sub("", sentence), self._cached_features(sentence, cited)[1])

    def is_across(self, sentence: str, cited: Sequence[int] = ()) -> bool:
        """Whether all of the sources are in the other language, Chinese or English."""
        language = language_of(_MARKER.sub("", sentence))
        pool = self.texts.of(cited)
        return bool(pool) and all(is_across(language, beginning_language(source.lower)) for source in pool)

    def across(self, sentence: str, cited: Sequence[int] = ()) -> Vector:
        """float64[len(ACROSS)] of a sentence and sources in the other language."""
        text, pool = _MARKER.sub("", sentence), self.texts.of(cited)
        cosine = self._cosine(text, [sentence_text for source in pool for sentence_text in source.sentences])
        lower = " ".join(source.lower for source in pool)
        missing = sum(figure not in lower for figure in _FIGURE.findall(text))
        return np.array([cosine, min(MOST, missing)], np.float64)

    def _cached_features(self, sentence: str, cited: Sequence[int]) -> tuple[Vector, list[str]]:
        key = sentence, tuple(cited)
        if key not in self._known:
            self._known[key] = self._compared(sentence, cited)
        return self._known[key]

    def _compared(self, sentence: str, cited: Sequence[int]) -> tuple[Vector, list[str]]:
        text = _MARKER.sub("", sentence)
        pool = self.texts.of(cited)
        claim = _Claim.of(text, pool[0]) if pool else None
        if claim is None or not claim.words:
            return np.zeros(len(FEATURES)), []
        weights = np.array([self._rarity(word) for word in claim.words])
        weights /= weights.sum()
        match = max((_Match.of(source, claim, weights) for source in pool), key=lambda m: (m.window, m.source))
        tokens, order = match.wording(claim)
        figures_, names_, quotations_ = _missing(claim, pool, match)
        values = {
            "sentence": match.sentence,
            "weakest_clause": match.weakest(claim, weights),
            "tokens": tokens,
            "order": order,
            "pairs": match.pairs(claim),
            "plain_words": match.plain_words(claim),
            "missing_words": log_length(sum(word not in match.text.words for word in claim.words), 1),
            "missing_figures": figures_,
            "missing_names": names_,
            "missing_quotations": quotations_,
            "denied": float(claim.denied and not match.denied),
            "new_cause": float(claim.causal and not gives_cause(match.window_text)),
            "unhedged": float(not claim.hedged and hedges(match.best_text)),
            "length": math.log(len(claim.words)),
            "reporting": claim.reporting,
        }
        return np.array([values[name] for name in FEATURES], np.float64), match.nearest(COMPARED)

    def _rarity(self, word: str) -> float:
        """How much a keyword says: by the share of sentences that have it; most for one that none has."""
        if not self._frequency:
            self._frequency[""] = 0
            for source in self.texts.all:
                for words in source.sentence_words:
                    self._frequency[""] += 1
                    for keyword in words:
                        self._frequency[keyword] = self._frequency.get(keyword, 0) + 1
        return smoothed_idf(self._frequency[""], self._frequency.get(word, 0))

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
    plain: frozenset[str]  # stop words
    clauses: list[list[int]]  # places of the keywords of each clause in `words`
    figures: list[str]
    names: list[str]
    quotations: list[str]
    denied: bool
    causal: bool
    hedged: bool
    reporting: float

    @classmethod
    def of(cls, text: str, source: SourceText) -> _Claim:
        tokens = source.tokenizer.words(text)
        words_of_claim = keywords(text, source.tokenizer)
        telling = [word for word in words_of_claim if word not in reporting_words()]
        words = telling or words_of_claim
        place = {word: at for at, word in enumerate(words)}
        parts = [[place[w] for w in set(source.tokenizer.words(part)) if w in place] for part in clauses(text)]
        return cls(
            words=words,
            tokens=tokens,
            clauses=[part for part in parts if part],
            plain=stop_words().intersection(tokens),
            figures=[plain_figure(figure) for figure in figures(text)],
            names=names(text),
            quotations=quotations(text),
            denied=negations(text) > 0,
            causal=gives_cause(text),
            hedged=hedges(text),
            reporting=1 - len(telling) / len(words_of_claim) if words_of_claim else 0.0,
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
    source: float  # weighted share of keywords that any sentence has

    @classmethod
    def of(cls, text: SourceText, claim: _Claim, weights: Vector) -> _Match:
        in_names = np.array([word in text.name_words for word in claim.words])
        present = np.array([[word in words for word in claim.words] for words in text.sentence_words]) | in_names
        covered = sentence_windows(present, sentences=WINDOW) @ weights
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

    @property
    def best_text(self) -> str:
        return self.text.sentences[int(self.scores.argmax())]

    def nearest(self, count: int) -> list[str]:
        """The sentences that share most."""
        return [self.text.sentences[i] for i in np.argsort(-self.scores, kind="stable")[:count]]

    def weakest(self, claim: _Claim, weights: Vector) -> float:
        """Coverage of each clause by the sentence that covers it best; the lowest of them."""
        covered = (float((self.present[:, part] @ weights[part]).max() / weights[part].sum()) for part in claim.clauses)
        return min(covered, default=self.sentence)

    def wording(self, claim: _Claim) -> tuple[float, float]:
        """Share of all words, and of words in the same order, by the best of the sentences that share most keywords."""
        best = np.argsort(-self.scores, kind="stable")[:READ].tolist()
        have = max(sum(token in self.text.sentence_words[i] for token in claim.tokens) for i in best)
        ordered = max(common_subsequence_length(claim.tokens, self.text.tokens[i]) for i in best)
        return have / len(claim.tokens), ordered / len(claim.tokens)

    def pairs(self, claim: _Claim) -> float:
        if len(claim.words) < 2:
            return self.sentence
        return cooccurrence_share(self.present)

    def plain_words(self, claim: _Claim) -> float:
        best = self.text.sentence_words[int(self.scores.argmax())]
        return len(claim.plain & best) / len(claim.plain) if claim.plain else self.sentence


def _missing(claim: _Claim, pool: Sequence[SourceText], match: _Match) -> tuple[float, float, float]:
    """How many figures and names no source of the pool has, and quotations the best one lacks, each at most MOST."""
    figures_of_pool = set[str]().union(*(source.figures for source in pool)) if claim.figures else set[str]()
    figures_ = sum(figure not in figures_of_pool for figure in claim.figures)
    names_ = sum(not any(name in source.lower for source in pool) for name in claim.names)
    quoted = sum(squeeze(quotation) not in squeeze(match.text.lower) for quotation in claim.quotations)
    return float(min(MOST, figures_)), float(min(MOST, names_)), float(min(MOST, quoted))


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportModel:
    """Probabilities, 0 to 1, higher is better supported; 0.5 is where both kinds of error are equally frequent."""

    words: tuple[float, ...]  # see `design`
    meaning: tuple[float, ...]
    across: tuple[float, ...] = ()  # a constant, and weights of ACROSS; (): words decide there, too

    @classmethod
    def shipped(cls, embedding_model: str = "") -> SupportModel:
        """The weights that come with the product for this embedding model, or the neutral ones.

        Raises ValueError if they are of other features.
        """
        return _shipped(embedding_model)

    def probability(self, evidence: SupportFeatures, sentence: str, cited: Sequence[int] = ()) -> float:
        """Of one sentence and the sources that it cites (all sources if none)."""
        if self.across and evidence.embedder is not None and evidence.is_across(sentence, cited):
            row = np.r_[1.0, evidence.across(sentence, cited)]
            return float(logistic(np.array([row @ np.array(self.across)]))[0])
        share = np.array([cjk_share(sentence)])
        by_words = design(evidence.features(sentence, cited)[None], share) @ np.array(self.words)
        if evidence.embedder is None or logistic(by_words)[0] >= SURE_FROM:
            return float(logistic(by_words)[0])
        row = np.array([[by_words[0], evidence.cosine(sentence, cited)]])
        return float(logistic(design(row, share) @ np.array(self.meaning))[0])


def design(rows: npt.NDArray[np.float64], cjk_shares: Vector) -> npt.NDArray[np.float64]:
    """float64[n, 2f + 2]: a constant and the features, and both times the share of CJK in the sentence."""
    with_constant = np.hstack([np.ones((len(rows), 1)), rows])
    return np.hstack([with_constant, with_constant * cjk_shares[:, None]])


def logistic(scores: npt.NDArray[np.float64]) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -60, 60))), np.float64)


@cache
def _shipped(embedding_model: str) -> SupportModel:
    record = json.loads((files("ragcore.grounding") / MODEL_FILE).read_text(encoding="utf-8"))
    weights = fitted_weights("ragcore.grounding", MEANING_FILE, embedding_model)
    meaning = weights or neutral_weights("ragcore.grounding", MEANING_FILE)
    if record["features"] != list(FEATURES) or meaning["features"] != list(MEANING):
        raise ValueError(f"{MODEL_FILE} was trained on other features; run python -m ragcore.training support")
    across = tuple(meaning["across"]) if weights else ()
    return SupportModel(words=tuple(record["words"]), meaning=tuple(meaning["weights"]), across=across)
