"""How well a sentence of the sources answers a question: a linear model over features of its words.

Features are about 0 to 1. The weights ship in extractive_weights.json with the record of their training;
`python -m ragcore.training sentences` makes them. Listwise: the softmax of the scores of one question is the
probability that a sentence holds the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice

import numpy as np

from ragcore.extractive.answer_patterns import PATTERNS, answer_cues, definition_test
from ragcore.extractive.definitions_across import definition_test_across, either_test
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.lexical_features import (
    TermWeights,
    adjacent_share,
    bm25_saturation,
    idf_in,
    log_length,
    longest_literal_run,
    share_by_beginning,
)
from ragcore.text.question_type import Wanted, wanted
from ragcore.text.request_cache import cached
from ragcore.text.scripts import CJK, cjk_share

FEATURES = (
    "coverage",  # idf-weighted share of the question's terms in the sentence
    "dense_coverage",  # the same, discounted by the sentence's length as in BM25
    "rare_coverage",  # the share with squared idf: are the telling terms there?
    "soft_coverage",  # share of the terms of which only the beginning is there: invade, invasion
    "before",  # what the sentence before it adds to the coverage
    "behind",  # what the sentence behind it adds
    "leader",  # coverage of the sentence before it: what it says of the subject often goes on here
    "passage",  # coverage of its whole source with title and headings
    "share_of_passage",  # its coverage by that of its source
    "title",  # coverage of the title and headings alone
    "only_here",  # share of the terms that no other sentence of the source has
    "prior",  # the ranking's score of the source
    "log_prior",  # logarithm of that score by the best one's: the log-odds of a ranking model
    "rank",  # 1 by the place of the source
    "adjacency",  # share of the question's neighbouring terms that are neighbours here
    "run",  # longest literal piece of the question, by the question's length
    "number",  # a number was asked for, and here is one that the question does not name
    "time",  # the same for times
    "name",  # the same for names of persons, places and things
    "near",  # coverage around what was asked for
    "definition",  # it says what the asked-for term is or stands for
    "sign",  # words that such answers have: because, by means of, such as
    "question",  # it is a question itself
    "novelty",  # logarithm of the terms that the question does not have
    "length",  # logarithm of its terms
    "opening",  # first sentence of its source
    "pronoun",  # it begins with a word for what the sentence before it named
    "unfinished",  # no full stop: a title, a row, a fragment
    "row",  # cells of a table
    "item",  # point of a list
)
NEAR_CHARACTERS = {"cjk": 24, "latin": 70}
MATCHES = 8  # of what was asked for, looked at in one sentence
MOST_DISCOUNT = 1.2  # of short sentences
LENGTH_B = 0.5  # of BM25
PREFIX = 5  # letters that two forms of a word share
LEAST_PRIOR = 1e-3

_PRONOUN = re.compile(
    r"(?:it|its|they|their|he|his|she|her|this|these|that|those|such|both)\b|[该該此这這其他她它]|[他她它]们|同年|[当當]时",
    re.IGNORECASE,
)
_FINISHED = re.compile(r"[。！？.!?;；…」』”\")）]\s*\Z")

WEIGHTS_FILE = "extractive_weights.json"


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """The features of every sentence of a question's sources; the rows stand in the order of the sentences."""

    statements: tuple[Statement, ...]
    matrix: FloatArray  # float32[n, len(FEATURES)]
    cjk_share: float  # of the question
    kind: Wanted

    def column(self, name: str) -> FloatArray:
        """float32[n]: one feature of all sentences."""
        return np.asarray(self.matrix[:, FEATURES.index(name)], dtype=np.float32)


def refers_back(text: str) -> bool:
    """Whether a sentence begins with a word for what the sentence before it named."""
    return _PRONOUN.match(text) is not None


def compute_sentence_features(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> SentenceFeatures:
    """Every feature of every sentence."""
    statements = tuple(statements)
    key = (
        "sentence features",
        tokenizer,
        question,
        tuple(map(id, statements)),
    )  # by identity: `statements` stay with them
    table = cached(key, lambda: (statements, _table(question, statements, tokenizer)))[1].copy()
    return SentenceFeatures(statements, table, cjk_share(question), wanted(question))


def _table(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> FloatArray:
    """float32[n, len(FEATURES)]."""
    table = np.zeros((len(statements), len(FEATURES)), dtype=np.float32)
    if statements:
        prepared = _Question.of(question, statements, tokenizer)
        for at in range(len(statements)):
            by_name = prepared.features(at)
            table[at] = [by_name[name] for name in FEATURES]
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traits:
    """What follows from a sentence and the question alone, whatever stands beside it."""

    run: float
    around: tuple[str, ...]  # texts around what was asked for, lower case; () where it is not there
    definition: float
    sign: float
    question: float
    pronoun: float
    unfinished: float


@dataclass(slots=True)
class _Question:
    """A question and its sentences, prepared."""

    question: str  # lower case
    question_terms: tuple[str, ...]  # in order
    statements: Sequence[Statement]
    terms: TermWeights  # those that some sentence has: others cannot tell sentences apart
    sets: list[frozenset[str]]  # terms of each sentence
    coverages: list[float]  # of each sentence
    passages: dict[int, tuple[float, float]]  # number of a source -> coverage of all of it, of its title and headings
    holders: dict[int, Counter[str]]  # number of a source -> term -> sentences of it
    mean_terms: float
    best_prior: float
    pairs: frozenset[tuple[str, str]]
    pieces: list[str]
    joiner: str
    kind: Wanted
    signs: re.Pattern[str] | None
    defines: Callable[[str], float]
    traits_by_text: dict[str, _Traits]  # by text; kept for the question: its sources are looked at again one by one

    @classmethod
    def of(cls, question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> _Question:
        question_terms = tuple(tokenizer.terms(question))
        sets = [frozenset(statement.terms) for statement in statements]
        sentence_terms = set[str]().union(*sets)
        terms = TermWeights.of(idf_in((term for term in question_terms if term in sentence_terms), sets))
        is_cjk = cjk_share(question) >= 0.3
        lower = question.lower()
        holders: dict[int, Counter[str]] = {}
        for statement, present in zip(statements, sets, strict=True):
            holders.setdefault(statement.source.number, Counter()).update(present & terms.weights.keys())
        return cls(
            question=lower,
            question_terms=question_terms,
            statements=statements,
            terms=terms,
            sets=sets,
            coverages=[terms.coverage(present) for present in sets],
            passages=_passage_coverage(terms, statements, holders, tokenizer),
            holders=holders,
            mean_terms=sum(len(s.terms) for s in statements) / len(statements) or 1.0,
            best_prior=max(s.source.score for s in statements),
            pairs=frozenset(zip(question_terms, question_terms[1:], strict=False)),
            pieces=re.findall(rf"[{CJK}]|[^\W{CJK}]+", lower) if is_cjk else re.findall(r"\w+", lower),
            joiner="" if is_cjk else " ",
            kind=wanted(question),
            signs=answer_cues(question),
            defines=either_test(definition_test(question), definition_test_across(question, tokenizer)),
            traits_by_text=cached(("traits of sentences", question), dict),
        )

    def features(self, at: int) -> dict[str, float]:
        """Every feature of one sentence by name."""
        return self._coverage(at) | self._source(at) | self._answer_form(at) | self._wording(at)

    def _coverage(self, at: int) -> dict[str, float]:
        """How much of the question the sentence has, and what its neighbours add."""
        statement, present, coverage, cover = self.statements[at], self.sets[at], self.coverages[at], self.terms
        has_before = at > 0 and self.statements[at - 1].source is statement.source
        has_behind = at + 1 < len(self.statements) and self.statements[at + 1].source is statement.source
        before: frozenset[str] = self.sets[at - 1] if has_before else frozenset()
        behind: frozenset[str] = self.sets[at + 1] if has_behind else frozenset()
        discount = 2.2 * bm25_saturation(1, len(statement.terms) / self.mean_terms, b=LENGTH_B)
        return {
            "coverage": coverage,
            "dense_coverage": coverage * min(MOST_DISCOUNT, discount),
            "rare_coverage": cover.rare_coverage(present),
            "soft_coverage": share_by_beginning(set(self.question_terms), present, letters=PREFIX),
            "before": cover.coverage(present | before) - coverage,
            "behind": cover.coverage(present | behind) - coverage,
            "leader": self.coverages[at - 1] if before else 0.0,
            "adjacency": adjacent_share(self.pairs, statement.terms),
            "run": self._traits(statement.text).run,
        }

    def _source(self, at: int) -> dict[str, float]:
        """How its source covers the question, and how it was ranked."""
        statement, present = self.statements[at], self.sets[at]
        number, prior = statement.source.number, statement.source.score
        whole, head = self.passages[number]
        holders = self.holders[number]
        relative = prior / self.best_prior if self.best_prior > 0 else 1.0
        return {
            "passage": whole,
            "share_of_passage": self.coverages[at] / whole if whole else 0.0,
            "title": head,
            "only_here": self.terms.coverage({term for term in present if holders[term] == 1}),
            "prior": prior,
            "log_prior": math.log(max(relative, LEAST_PRIOR)) / 7,
            "rank": 1 / max(number, 1),
        }

    def _answer_form(self, at: int) -> dict[str, float]:
        """Whether it holds what was asked for, or says it as answers do."""
        traits = self._traits(self.statements[at].text)
        is_there = float(bool(traits.around))
        weights = self.terms.weights
        terms_around = ({term for term in weights if term.removesuffix("i") in around} for around in traits.around)
        return {
            "number": is_there * (self.kind == "number"),
            "time": is_there * (self.kind == "time"),
            "name": is_there * (self.kind in ("person", "place", "name")),
            "near": max(map(self.terms.coverage, terms_around), default=0.0),
            "definition": traits.definition,
            "sign": traits.sign,
            "question": traits.question,
        }

    def _wording(self, at: int) -> dict[str, float]:
        """Its length and form, whatever the question."""
        statement = self.statements[at]
        traits = self._traits(statement.text)
        return {
            "novelty": log_length(len(self.sets[at].difference(self.question_terms)), 4),
            "length": log_length(len(statement.terms), 4),
            "opening": float(statement.position == 0),
            "pronoun": traits.pronoun,
            "unfinished": traits.unfinished,
            "row": float(statement.is_row),
            "item": float(statement.is_item),
        }

    def _traits(self, text: str) -> _Traits:
        """What follows from the words of the question and of one sentence."""
        if (traits := self.traits_by_text.get(text)) is None:
            lower = text.lower()
            body = lower if not self.joiner else " ".join(re.findall(r"\w+", lower))
            traits = self.traits_by_text[text] = _Traits(
                run=longest_literal_run(self.pieces, body, joiner=self.joiner),
                around=tuple(self._around_wanted(text, lower)),
                definition=self.defines(text),
                sign=float(bool(self.signs and self.signs.search(lower))),
                question=float(text.endswith(("?", "？"))),
                pronoun=float(refers_back(text)),
                unfinished=float(not _FINISHED.search(text)),
            )
        return traits

    def _around_wanted(self, text: str, lower: str) -> Iterator[str]:
        """Around each place where what was asked for stands here and not in the question, the text in lower case."""
        pattern = PATTERNS.get(self.kind)
        width = NEAR_CHARACTERS["latin" if self.joiner else "cjk"]
        for match in islice(pattern.finditer(text), MATCHES) if pattern is not None else ():
            if match.group().lower().strip() not in self.question:
                yield lower[max(0, match.start() - width) : match.end() + width]


def _passage_coverage(
    terms: TermWeights, statements: Sequence[Statement], holders: dict[int, Counter[str]], tokenizer: Tokenizer
) -> dict[int, tuple[float, float]]:
    """Coverage of each source with its title and headings, and of these alone."""
    shares: dict[int, tuple[float, float]] = {}
    for statement in statements:
        passage, number = statement.source.passage, statement.source.number
        if number not in shares:
            head = set(tokenizer.terms(" ".join((passage.title, *passage.heading_path))))
            shares[number] = terms.coverage(head | set(holders[number])), terms.coverage(head)
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceScorer:
    """Weights of the features and, after them, of their interactions with the share of CJK in the question."""

    weights: tuple[float, ...]

    @classmethod
    def shipped(cls) -> SentenceScorer:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        return _shipped()

    def scores(self, features: SentenceFeatures) -> FloatArray:
        """float32[n]: log-odds within one question; only their differences mean anything."""
        return np.asarray(design(features) @ np.asarray(self.weights, np.float32), dtype=np.float32)

    def probabilities(self, features: SentenceFeatures) -> FloatArray:
        """float32[n]: how likely each sentence is the one that answers, given that one of them does; sum 1."""
        return chances_of(self.scores(features))


def chances_of(scores: FloatArray) -> FloatArray:
    """float32[n]: probabilities of log-odds within one question, sum 1."""
    powers = np.exp(scores - scores.max(initial=0.0))
    return np.asarray(powers / powers.sum(), dtype=np.float32) if len(powers) else powers


def design(features: SentenceFeatures) -> FloatArray:
    """float32[n, 2f]: the features and their interactions with the script of the question."""
    return np.hstack([features.matrix, features.matrix * np.float32(features.cjk_share)]).astype(np.float32)


@cache
def _shipped() -> SentenceScorer:
    record = json.loads(files("ragcore.extractive").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
    if record["features"] != list(FEATURES):
        raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run ragcore.training sentences")
    return SentenceScorer(weights=tuple(record["weights"]))
