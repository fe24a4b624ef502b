"""A linear model over the signs that sources answer a question, and where to draw the line.

weights.json holds the weights of words, the thresholds and the record of the training; `python -m ragcore.training
refusals` makes it. Logistic regression on questions that a corpus answers and questions that it does not. Each script
(English, simplified and traditional Chinese) has its own weights; all scores are on one scale, so one table of
thresholds serves.

Weights with the cosine of question and sentence belong to an embedding model, in one file each (`python -m
ragcore.training meaning`): of the scripts that it reads, and of sources in the other language. With a model that has
none, words alone decide, and sources in the other language hardly ever answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from ragcore.answerability.across import FEATURES as ACROSS
from ragcore.answerability.across import across_features, lacks_thing
from ragcore.answerability.features import FEATURES, compute_features
from ragcore.answerability.nearness import Nearness, across_nearness, compute_nearness
from ragcore.answerability.own_line import log_odds, lowered_line
from ragcore.extractive.own_language import handicap_across, sources_across
from ragcore.extractive.sentence_meaning import best_pair_score
from ragcore.extractive.sentences import read_statements
from ragcore.fitted_weights import file_of, fitted_weights
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.question_core import question_core
from ragcore.text.scripts import ZH_SHARE, cjk_share, is_traditional, language_of
from ragcore.types import Language, Source

WEIGHTS_FILE = "weights.json"
MEANING_FILE = "meaning_weights.json"
PAIRS_FILE = "pair_weights.json"
SMALL = 100  # passages of a set
OWN_WORDS = 0.5  # share of the question by idf that stands in the best sentence and its neighbours
_ASKING = re.compile("多少|多久|多长|多大|多高|几|什么|哪|谁|怎")
ABOUT = 0.5  # share of a question's keywords that sources of its conversation must have
Script = Literal["zh", "zht", "en"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerability:
    """How likely it is that the sources answer the question."""

    score: float  # 0 to 1, higher is likelier; compare with threshold_for
    is_across: bool = False  # judged by sources in the other language
    nearness: Nearness = field(default_factory=Nearness)
    features: Mapping[str, float] = field(default_factory=dict)  # by name; {} without usable sentences
    unread: float | None = None  # the score without what was read; None: nothing was
    read: float | None = None  # log-odds that the sentence answers which reads best; None: nothing was read
    lowered: float = 0.0  # log-odds by which the line lies lower, since a sentence reads well

    @property
    def reads_well(self) -> bool:
        """Whether a sentence that is read together with the question seems to answer it."""
        return self.lowered > 0

    def without_reading(self) -> Answerability:
        """The same by words and vectors alone."""
        return self if self.unread is None else replace(self, score=self.unread)

    def is_answerable(self, least: float, passages: int) -> bool:
        """Whether the score reaches `least`, or a small set says it in the words of the question; far ones never do.

        Lines are drawn on larger sets. In a small one a passage that has most of the question's words is hardly about
        something else: there is nothing similar beside it. `passages`: how many the asker may search.
        """
        if not (self.nearness.is_near or self.reads_well):
            return False
        least = lowered_line(least, max(self.nearness.lowered, self.lowered))
        in_own_words = self.features.get("window", 0.0) >= OWN_WORDS and self.features.get("passage", 0.0) >= OWN_WORDS
        return self.score >= least or (passages <= SMALL and in_own_words)


@dataclass(frozen=True, slots=True)
class _Model:
    weights: Mapping[str, FloatArray]  # script -> float32[f + 1]: one of each sign, and the constant
    thresholds: Mapping[str, Mapping[str, Sequence[float]]]  # script -> passages -> score at each of `rates`
    rates: Sequence[float]  # false refusals, ascending


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What was fitted to the cosines of one embedding model; all on the scale of the words."""

    weights: Mapping[str, FloatArray] = field(default_factory=dict)  # as _Model.weights, of scripts that it reads
    across: Mapping[str, FloatArray] | None = None  # language of the question -> float32[signs of `across` + 1]


def score_answerability(
    question: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None = None,
    idf: Mapping[str, float] | None = None,
) -> Answerability:
    """Judge the sources of a question; no usable sentence scores 0.

    `idf`: of the question's terms that the corpus knows (Query.weights). `embedder`: adds the cosines of question and
    sentences, and judges sources in the other language; it is only asked if weights were fitted to it, and takes
    milliseconds for each sentence that its passage has no vector of. Of the sources in both languages those that answer
    best decide. Who asks in a language that documents are written in mostly finds the answer there: others must answer
    with more certainty (`extractive.own_language`). Of a question within a story the question alone is judged, too, and
    the better verdict counts.
    """
    core = question_core(question)
    forms = [question] if core == question else [question, core]
    verdicts = [_judge(form, sources, tokenizer=tokenizer, embedder=embedder, idf=idf) for form in forms]
    best = max(verdicts, key=lambda verdict: verdict.score)
    if embedder is None:
        return best
    best = _read(best, forms, sources, tokenizer=tokenizer, embedder=embedder)
    if best.is_across:
        return replace(best, nearness=across_nearness(best.features, embedder))
    near = [compute_nearness(form, sources, tokenizer=tokenizer, embedder=embedder) for form in forms]
    return replace(best, nearness=max(near, key=lambda nearness: (nearness.is_near, nearness.lowered)))


def is_about(question: str, sources: Sequence[Source], *, tokenizer: Tokenizer) -> bool:
    """Whether at least half of what a question says itself stands in the sources."""
    text = " ".join(f"{source.passage.title} {source.text}" for source in sources).lower()
    words = set(tokenizer.words(text))
    words_of_question = said_besides_asking(question, tokenizer=tokenizer)
    covered = sum(
        word in words or (not word.isascii() and word in text) for word in words_of_question
    )  # 批 stands in 批准
    return covered >= ABOUT * len(words_of_question)


def said_besides_asking(question: str, *, tokenizer: Tokenizer) -> list[str]:
    """Keywords of a question that do not only ask for something."""
    return [word for word in keywords(question, tokenizer) if not _ASKING.search(word)]


def in_conversation(alone: Answerability, in_context: Answerability) -> Answerability:
    """The better verdict on a question by itself and on it within its conversation.

    `in_context`: of the question behind the one before it, which alone would answer everything that is asked after a
    good answer. So the question in its conversation scores the mean log-odds of both.
    """
    mean = (log_odds(alone.score) + log_odds(in_context.score)) / 2
    score = 1 / (1 + math.exp(-mean))
    if score <= alone.score:
        return alone
    near = max(alone.nearness, in_context.nearness, key=lambda nearness: nearness.is_near)
    return replace(alone, score=score, nearness=near)


def judges_across(embedder: Embedder | None) -> bool:
    """Whether weights for sources in the other language were fitted to an embedding model."""
    return embedder is not None and _meaning(embedder.model).across is not None


def _read(
    judged: Answerability, forms: Sequence[str], sources: Sequence[Source], *, tokenizer: Tokenizer, embedder: Embedder
) -> Answerability:
    """The verdict, less likely where no sentence seems to answer that is read together with one of the questions.

    It is never likelier for that: a neighbour of what is asked reads well, too.
    """
    weights = fitted_weights("ragcore.answerability", PAIRS_FILE, embedder.model)
    statements = read_statements(sources, tokenizer)
    if weights is None or not statements:
        return judged
    every = [best_pair_score(question, statements, embedder, tokenizer) for question in forms]
    if not (pair_logits := [score for score in every if score is not None]):
        return judged
    read = max(pair_logits)
    odds = log_odds(judged.score) + weights["weight"] * min(read - weights["doubtful"], 0.0)
    score, lowered = 1 / (1 + math.exp(-odds)), weights["lowers"] if read >= weights["near"] else 0.0
    return replace(judged, score=score, unread=judged.score, read=read, lowered=lowered)


def _judge(
    question: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None,
    idf: Mapping[str, float] | None,
) -> Answerability:
    meaning = _meaning(embedder.model) if embedder is not None else _Meaning()
    if embedder is None or meaning.across is None or not (foreign := sources_across(question, sources)):
        return _in_one_language(question, sources, meaning, tokenizer=tokenizer, embedder=embedder, idf=idf)
    numbers = {source.number for source in foreign}
    in_language = [source for source in sources if source.number not in numbers]
    judged = _in_one_language(question, in_language, meaning, tokenizer=tokenizer, embedder=embedder, idf=idf)
    features = across_features(question, foreign, tokenizer=tokenizer, embedder=embedder)
    if features is None or lacks_thing(question, foreign, tokenizer=tokenizer):
        return judged
    weights = meaning.across["zh" if language_of(question) == "zh" else "en"].copy()
    weights[-1] -= handicap_across(
        question, read_statements(sources, tokenizer), embedder=embedder, tokenizer=tokenizer
    )
    return max(judged, replace(_scored(features, ACROSS, weights), is_across=True), key=lambda verdict: verdict.score)


def _in_one_language(
    question: str,
    sources: Sequence[Source],
    meaning: _Meaning,
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None,
    idf: Mapping[str, float] | None,
) -> Answerability:
    script = script_of(question)
    weights = meaning.weights.get(script)
    feature_embedder = embedder if weights is not None else None
    features = compute_features(question, sources, tokenizer=tokenizer, embedder=feature_embedder, idf=idf)
    if features is None:
        return Answerability(score=0.0)
    return _scored(features, FEATURES, _model().weights[script] if weights is None else weights)


def _scored(features: Mapping[str, float], names: Sequence[str], weights: FloatArray) -> Answerability:
    row = design(np.array([[features[name] for name in names]]))[0]
    return Answerability(score=1 / (1 + math.exp(-float(row @ weights))), features=features)


def threshold_for(language: Language, passages: int, false_refusals: float = 0.05) -> float:
    """The score below which to refuse, so that this share of answerable questions is refused.

    `passages`: how many the asker may search. `false_refusals`: from the smallest to the largest rate that was
    measured (0.01 to 0.1); 0 refuses nothing. Raises ValueError beyond.
    """
    model = _model()
    if false_refusals == 0:
        return 0.0
    if not model.rates[0] <= false_refusals <= model.rates[-1]:
        raise ValueError(f"false_refusals must be 0 or from {model.rates[0]} to {model.rates[-1]}")
    table = model.thresholds["zh" if language == "zh" else "en"]
    sizes = sorted(table, key=int)
    curve = [float(np.interp(false_refusals, model.rates, table[size])) for size in sizes]
    return float(np.interp(math.log(max(passages, 1)), [math.log(int(size)) for size in sizes], curve))


def script_of(question: str) -> Script:
    """Which weights judge a question: those for simplified or traditional Chinese, or for anything else."""
    if cjk_share(question) < ZH_SHARE:
        return "en"
    return "zht" if is_traditional(question) else "zh"


def design(matrix: FloatArray) -> FloatArray:
    """float[n, f + 1] of signs [n, f]: with the constant."""
    return np.hstack([matrix, np.ones((len(matrix), 1))])


@cache
def _model() -> _Model:
    record = json.loads(files("ragcore.answerability").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
    if record["signs"] != list(FEATURES):
        raise ValueError(f"{WEIGHTS_FILE} was trained on other signs; run ragcore.training refusals")
    return _Model(_arrays(record["weights"]), record["thresholds"], record["rates"])


@cache
def _meaning(embedder: str) -> _Meaning:
    record = fitted_weights("ragcore.answerability", MEANING_FILE, embedder)
    if record is None:
        return _Meaning()
    across = record["across"]
    if record["signs"] != list(FEATURES) or (across and across["signs"] != list(ACROSS)):
        raise ValueError(f"{file_of(MEANING_FILE, embedder)} was trained on other signs; run ragcore.training meaning")
    return _Meaning(_arrays(record["weights"]), _arrays(across["weights"]) if across else None)


def _arrays(table: Mapping[str, Sequence[float]]) -> dict[str, FloatArray]:
    return {script: np.asarray(values, np.float32) for script, values in table.items()}
