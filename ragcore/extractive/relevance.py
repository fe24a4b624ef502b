"""How likely each sentence of the sources belongs into the answer: a logistic model beside the sentence model.

The sentence model says which sentence answers best; its probabilities of one question sum to 1. An explanation takes
several sentences, so here every sentence has a probability of its own. The features say how a sentence stands to the
best one of all sources and of its own source, where it stands, and what is asked for. The weights ship in
relevance_weights.json with the record of their training; `python -m ragcore.training relevance` makes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ragcore.extractive.answer_patterns import PATTERNS, asks_several, cue_kind
from ragcore.extractive.sentence_model import SentenceFeatures, refers_back
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import TermWeights, idf_in
from ragcore.text.scripts import columns
from ragcore.text.tokenise import stop_words

RELEVANCE_FEATURES = (
    "score",  # log-odds of the sentence model below the best sentence, by 5
    "chance",  # probability of the sentence model
    "local_score",  # the same within its source
    "local_chance",
    "local_best",  # 1 for the best of its source
    "source_score",  # the best of its source below the best of all, by 5
    "source_rank",  # 1 by the place of its source
    "first_source",
    "best_source",  # the source that has the best sentence
    "opening",  # first sentence of its source
    "second",
    "place",  # in its source, 0 for the first and 1 for the last sentence
    "last",
    "few",  # 1 by the sentences of its source
    "length",  # logarithm of its columns
    "share",  # of the columns of its source
    "before_score",  # of the sentence before it in its source, like "local_score"
    "behind_score",
    "after_best",  # it follows the best sentence of its source
    "beside_best",  # it stands next to it
    "distance",  # sentences to it, by 5
    "like_best",  # share of its terms that the best sentence has
    "pronoun",
    "coverage",  # features of the sentence model, as they are there
    "rare_coverage",
    "soft_coverage",
    "passage",
    "title",
    "only_here",
    "log_prior",
    "adjacency",
    "run",
    "near",
    "definition",
    "sign",
    "question",
    "novelty",
    "unfinished",
    "row",
    "item",
    "aspect",  # share of what is asked about the subject that the sentence has
)
GROUPS = ("fact", "several", "why_how")  # what is asked for; some features count differently there
BY_GROUP = ("score", "chance", "local_chance", "local_best", "after_best", "source_score", "best_source", "opening")
_PLAIN = (
    "coverage", "rare_coverage", "soft_coverage", "passage", "title", "only_here", "log_prior", "adjacency", "run",
    "near", "definition", "sign", "question", "novelty", "unfinished", "row", "item",
)  # fmt: skip
ASPECT_WEIGHT = 8.0  # of the aspect's coverage beside the sentence model's log-odds
TASK = re.compile(
    r"\b(?:summari[sz]e|sum up|outline|describe|explain|compare|list|name|give|tell me|please|according to|based on"
    r"|in terms of|briefly|respectively)\b"
    r"|根据|根據|结合|結合|依据|依據|总结|總結|概括|归纳|歸納|简述|簡述|描述|说明|說明|解释|解釋|列举|列舉|列出|比较|比較|对比|對比|分析"
    r"|请问|請問|分别|分別",
    re.IGNORECASE,
)
FAR = 12.0  # log-odds beyond which sentences are equally unlikely
WEIGHTS_FILE = "relevance_weights.json"


def relevance_table(features: SentenceFeatures, scores: FloatArray, aspects: FloatArray, question: str) -> FloatArray:
    """float32[n, features]: the features, those of BY_GROUP again for each group of questions, and a constant.

    `scores`: log-odds of the sentence model; `aspects`: of `aspect_coverage`.
    """
    count = len(features.statements)
    if not count:
        return np.zeros((0, len(feature_names())), np.float32)
    by_name = _standing(features, scores) | {name: features.column(name) for name in _PLAIN} | {"aspect": aspects}
    groups = question_groups(question, features)
    columns_ = [by_name[name] for name in RELEVANCE_FEATURES]
    columns_ += [by_name[name] * groups[group] for group in GROUPS for name in BY_GROUP]
    columns_ += [np.full(count, groups[group]) for group in GROUPS] + [np.ones(count)]
    return np.stack(columns_, axis=1).astype(np.float32)


def aspect_coverage(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> FloatArray:
    """float32[n]: idf-weighted share of the question's words in each sentence, of those that its title does not have.

    In "summarise the evidence in the case of X" every sentence of the document X is about X; what tells them apart is
    the evidence. Words that say what to do with the answer, such as "summarise", do not count.
    """
    question_terms = tuple(dict.fromkeys(tokenizer.terms(TASK.sub(" ", question))))
    sets = [frozenset(s.terms) for s in statements]
    weights = {term: weight for term, weight in idf_in(question_terms, sets).items() if term not in stop_words()}
    of_source: dict[int, TermWeights] = {}
    for statement in statements:
        number = statement.source.number
        if number not in of_source:
            title = frozenset(tokenizer.terms(statement.source.passage.title))
            of_source[number] = TermWeights.of({t: w for t, w in weights.items() if t not in title})
    shares = [of_source[s.source.number].coverage(present) for s, present in zip(statements, sets, strict=True)]
    return np.asarray(shares, dtype=np.float32)


def feature_names() -> tuple[str, ...]:
    """The names of the columns of `relevance_table`."""
    crossed = tuple(f"{group}:{name}" for group in GROUPS for name in BY_GROUP)
    return (*RELEVANCE_FEATURES, *crossed, *GROUPS, "constant")


def question_groups(question: str, features: SentenceFeatures) -> dict[str, float]:
    """What is asked for: one fact, several things, a reason or a way."""
    several = asks_several(question)
    fact = features.kind in PATTERNS and not several
    return {
        "fact": float(fact),
        "several": float(several),
        "why_how": float(cue_kind(question) in ("reason", "manner")),
    }


def _standing(features: SentenceFeatures, scores: FloatArray) -> dict[str, FloatArray]:
    """How each sentence stands to the best one, of all and of its source, and where it stands."""
    statements, count = features.statements, len(features.statements)
    numbers = np.array([s.source.number for s in statements])
    top = float(scores.max())
    powers = np.exp(scores - top)
    widths = np.array([columns(s.text) for s in statements], np.float32)
    by_name = {name: np.zeros(count, np.float32) for name in RELEVANCE_FEATURES if name not in (*_PLAIN, "aspect")}
    by_name["score"] = np.maximum(scores - top, -FAR) / 5
    by_name["chance"] = powers / powers.sum()
    by_name["length"] = np.log1p(widths) - 4
    by_name["pronoun"] = np.array([refers_back(s.text) for s in statements], np.float32)
    starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
    for start, end in zip(starts, np.r_[starts[1:], count], strict=True):
        part = slice(int(start), int(end))
        _within(part, by_name, features, np.asarray(scores[part]), top, widths[part])
    return by_name


def _within(
    part: slice,
    by_name: dict[str, FloatArray],
    features: SentenceFeatures,
    source_scores: FloatArray,
    top: float,
    widths: FloatArray,
) -> None:
    """Fill the features of the sentences of one source."""
    size, best = len(source_scores), int(source_scores.argmax())
    places = np.arange(size)
    local = np.maximum(source_scores - source_scores[best], -FAR) / 5
    powers = np.exp(source_scores - source_scores[best])
    lead = set(features.statements[part.start + best].terms)
    by_name["local_score"][part] = local
    by_name["local_chance"][part] = powers / powers.sum()
    by_name["local_best"][part.start + best] = 1.0
    by_name["source_score"][part] = max(source_scores[best] - top, -FAR) / 5
    number = features.statements[part.start].source.number
    by_name["source_rank"][part] = 1 / max(number, 1)
    by_name["first_source"][part] = number == 1
    by_name["best_source"][part] = source_scores[best] >= top
    by_name["opening"][part.start] = 1.0
    by_name["second"][part] = places == 1
    by_name["place"][part] = places / max(size - 1, 1)
    by_name["last"][part.start + size - 1] = 1.0
    by_name["few"][part] = 1 / size
    by_name["share"][part] = widths / max(float(widths.sum()), 1.0)
    by_name["before_score"][part] = np.r_[-1.0, local[:-1]]
    by_name["behind_score"][part] = np.r_[local[1:], -1.0]
    by_name["after_best"][part] = places == best + 1
    by_name["beside_best"][part] = abs(places - best) == 1
    by_name["distance"][part] = np.minimum(abs(places - best), 10) / 5
    by_name["like_best"][part] = [
        len(lead & set(s.terms)) / max(len(set(s.terms)), 1) for s in features.statements[part.start : part.stop]
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceScorer:
    """Weights of the columns of `relevance_table`."""

    weights: tuple[float, ...]

    @classmethod
    def shipped(cls) -> RelevanceScorer:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        return _shipped()

    def probabilities(
        self, features: SentenceFeatures, scores: FloatArray, aspects: FloatArray, question: str
    ) -> FloatArray:
        """float32[n]: how likely each sentence belongs into the answer."""
        odds = relevance_table(features, scores, aspects, question) @ np.asarray(self.weights, np.float32)
        return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


@cache
def _shipped() -> RelevanceScorer:
    record = json.loads(files("ragcore.extractive").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
    if record["features"] != list(feature_names()):
        raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run ragcore.training relevance")
    return RelevanceScorer(weights=tuple(record["weights"]))
