"""Signs that the sources answer a question, or do not: numbers of about 0 to 1.

A question that nothing answers still shares most of its words with some passage. What it lacks is one of them: the
name that was asked about, the word for what is asked for, the figure, the defining sentence. Or it says so little that
no passage stands out. So the features say which of the question's words are missing around the best sentence, how much
there is to go by, and whether what it asks for stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ragcore.answerability.question_parts import (
    YEAR,
    find_match_scopes,
    is_negated,
    pairs_beside,
    source_shares,
    split_question,
    window_shares,
)
from ragcore.extractive.answer_patterns import PATTERNS, definition_subject
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentence_model import SentenceFeatures, SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.lexical_features import heaviest_missing, pair_share
from ragcore.text.opposites import count_opposites
from ragcore.text.question_type import question_type
from ragcore.types import Source

FEATURES = (
    "sentence",  # idf-weighted share of the question's terms in the best sentence
    "window",  # in it and its neighbours
    "passage",  # in its source with title and headings
    "all",  # in all sources
    "any_window",  # in the best window of all sources
    "sentence_rare",  # the same shares with squared idf
    "window_rare",
    "passage_rare",
    "rarest_in_window",  # 1 if the question's rarest term is there
    "rarest_in_passage",
    "two_rarest_in_window",  # share of the two rarest
    "missing_window",  # idf of the rarest term that is not there, by the largest idf
    "missing_passage",
    "missing_all",
    "absent_window",  # share of the question's words of which not even the beginning is there
    "absent_passage",
    "absent_all",
    "absent_words",  # how many of them are absent from the passage, up to four
    "unknown",  # share of the question's weight in terms that no passage of the corpus has
    "said_matched",  # how much the question says: weight of its terms in the window
    "said_missing",  # weight of those that are not in the passage
    "names_passage",  # share of the question's names and identifiers in the passage, 1 without any
    "names_all",
    "lacks_name",  # a word of a name of which not even the beginning is in any source
    "numbers_window",  # share of its numbers, 1 without any
    "numbers_passage",
    "numbers_all",
    "other_year",  # the window has a year, but not the question's
    "relation_window",  # share of its other content words
    "relation_passage",
    "head_window",  # the word that says what is asked for: which CITY, what COLOUR of; 1 without any
    "head_passage",
    "head_all",
    "lacks_head",  # there is such a word, and the passage has nothing of it
    "lacks_head_widely",  # nor have all sources
    "asks_kind",  # a number, time or name is asked for
    "lacks_kind",  # and none that the question does not name stands in the best sentence
    "lacks_kind_widely",  # nor in the best three
    "near",  # coverage around it
    "lacks_definition",  # the meaning of a short term is asked for, and no sentence defines it
    "pairs_window",  # share of neighbouring words of the question that are neighbours there, 1 without any
    "pairs_passage",
    "pairs_all",
    "pairs_broken",  # pairs that the passage has only apart, up to four
    "swapped",  # words of the question that are there only as their opposites
    "negated",  # the question is negated
    "negation_differs",  # and the best sentence is not, or the other way round
    "degree_missing",  # the question says only, most, all ..., and the window does not
    "here",  # it speaks of "this document": what it asks is not in the sources, or is everywhere
    "broad",  # it asks about several things, or for a summary
    "adjacency",  # neighbouring terms that are neighbours in the best sentence
    "run",  # longest literal piece of the question in it
    "run_rest",  # the same in the best other sentence
    "soft",  # words of which it has only the beginning
    "score",  # of the best sentence by the sentence model
    "lead",  # of it before the second one
    "certainty",  # its probability among all sentences
    "spread",  # of the first source before the second one in the ranking
    "best_first",  # the best sentence stands in the first source
    "share_others",  # mean coverage by the best sentence of each other source: is the question about anything special?
    "stands_out",  # coverage by the best sentence before that of all other sources
    "process",  # a process is asked for
    "similarity",  # cosine of question and best sentence; 0 without an embedder
    "nearest",  # the highest cosine of a sentence; this and the following 0 where passages have no vectors of them
    "nearest_lead",  # of it before the middle one of all sentences
    "nearest_first",  # the highest one in the first source
    "nearest_by_words",  # the best sentence by words before the nearest one, 0 at most
)
MEANING = ("similarity", "nearest", "nearest_lead", "nearest_first", "nearest_by_words")
_MORE = ("sentence", "window", "passage", "rarest", "two_", "names_", "numbers", "relation", "head_", "pairs_")
RISING = frozenset(name for name in FEATURES if name.startswith(_MORE)) - {"pairs_broken"} | {
    "all", "any_window", "said_matched", "near", "adjacency", "run", "soft", "lead", "certainty", "spread",
    "best_first", "stands_out", "similarity", "nearest",
}  # the more, the likelier an answer  # fmt: skip
FALLING = frozenset(name for name in FEATURES if name.startswith(("missing", "absent", "lacks", "negat"))) | {
    "unknown", "said_missing", "pairs_broken", "other_year", "swapped", "degree_missing", "here",
}  # the more, the less likely  # fmt: skip
SCORE_SCALE = 10.0
SAID_SCALE = 30.0  # nats: about six rare words
SHORT_SUBJECT = 3  # words of a term whose meaning is asked for
PREFIX = 4  # letters that two forms of a word share


def compute_features(
    question: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None = None,
    idf: Mapping[str, float] | None = None,
) -> dict[str, float] | None:
    """Every sign by its name, in the order of SIGNS; None without a usable sentence.

    `idf`: of the terms that the corpus knows (Query.weights); without it terms are weighed by the sources alone.
    """
    statements = read_statements(sources, tokenizer)
    if not statements:
        return None
    reader = _Reader(question, tokenizer, statements, idf)
    values = reader.shares() | reader.absences() | reader.parts() | reader.kinds() | reader.pairs() | reader.wording()
    values |= reader.standing(sources) | reader.meaning(embedder)
    return {name: float(values[name]) for name in FEATURES}


def _cosine(question: str, sentence: str, embedder: Embedder | None) -> float:
    if embedder is None:
        return 0.0
    return float(embedder.embed_documents([sentence])[0] @ embedder.embed_queries([question])[0])


class _Reader:
    """A question beside its best sentence."""

    def __init__(
        self, question: str, tokenizer: Tokenizer, statements: Sequence[Statement], idf: Mapping[str, float] | None
    ) -> None:
        self.question, self.statements = question, statements
        self.features: SentenceFeatures = compute_sentence_features(question, statements, tokenizer)
        self.scores: FloatArray = SentenceScorer.shipped().scores(self.features)
        self.order: npt.NDArray[np.intp] = np.argsort(-self.scores, kind="stable")
        self.question_parts = split_question(question, statements, tokenizer=tokenizer, idf=idf)
        self.places = find_match_scopes(self.question_parts, statements, [int(at) for at in self.order], tokenizer)
        self.best = statements[int(self.order[0])]

    def shares(self) -> dict[str, float]:
        """How much of the question is there, from the best sentence outwards."""
        parts, p = self.question_parts, self.places
        heaviest = sorted(parts.weights, key=lambda t: -parts.weights[t])[:2]
        rarest = heaviest[0] if heaviest else ""
        return {
            "sentence": parts.share(parts.terms, p.sentence),
            "window": parts.share(parts.terms, p.window),
            "passage": parts.share(parts.terms, p.passage),
            "all": parts.share(parts.terms, p.everything),
            "any_window": max(window_shares(parts, self.statements)),
            "sentence_rare": parts.share(parts.terms, p.sentence, power=2),
            "window_rare": parts.share(parts.terms, p.window, power=2),
            "passage_rare": parts.share(parts.terms, p.passage, power=2),
            "rarest_in_window": rarest in p.window,
            "rarest_in_passage": rarest in p.passage,
            "two_rarest_in_window": sum(t in p.window for t in heaviest) / 2,
        }

    def absences(self) -> dict[str, float]:
        """How much of it is nowhere, and how much there is at all."""
        weights, p = self.question_parts.weights, self.places
        total = self.question_parts.total() or 1.0
        window, passage, everywhere = (self._absent(place) for place in (p.window, p.passage, p.everything))
        return {
            "missing_window": heaviest_missing(weights, p.window),
            "missing_passage": heaviest_missing(weights, p.passage),
            "missing_all": heaviest_missing(weights, p.everything),
            "absent_window": sum(weights[t] for t in window) / total,
            "absent_passage": sum(weights[t] for t in passage) / total,
            "absent_all": sum(weights[t] for t in everywhere) / total,
            "absent_words": min(len(passage), 4) / 4,
            "unknown": self.question_parts.unknown,
            "said_matched": sum(w for t, w in weights.items() if t in p.window) / SAID_SCALE,
            "said_missing": sum(w for t, w in weights.items() if t not in p.passage) / SAID_SCALE,
        }

    def parts(self) -> dict[str, float]:
        """Names, numbers, the word that says what is asked for, and the other words."""
        parts, p = self.question_parts, self.places
        years, there = set(YEAR.findall(self.question)), set(YEAR.findall(p.window_text))
        return {
            "names_passage": parts.share(parts.names, p.passage),
            "names_all": parts.share(parts.names, p.everything),
            "lacks_name": not self._absent(p.everything).isdisjoint(parts.names),
            "numbers_window": parts.share(parts.numbers, p.window),
            "numbers_passage": parts.share(parts.numbers, p.passage),
            "numbers_all": parts.share(parts.numbers, p.everything),
            "other_year": bool(there) and not years <= there,
            "relation_window": parts.share(parts.relation, p.window),
            "relation_passage": parts.share(parts.relation, p.passage),
            "head_window": parts.share(parts.head, p.window),
            "head_passage": parts.share(parts.head, p.passage),
            "head_all": parts.share(parts.head, p.everything),
            "lacks_head": bool(parts.head) and self._absent(p.passage).issuperset(parts.head),
            "lacks_head_widely": bool(parts.head) and self._absent(p.everything).issuperset(parts.head),
        }

    def kinds(self) -> dict[str, float]:
        """Whether what is asked for stands there."""
        top = [int(at) for at in self.order[:3]]
        here = [self._has_kind(self.statements[at].text) for at in top]
        asks = self.features.kind in PATTERNS
        subject = 0 < len(definition_subject(self.question).split()) <= SHORT_SUBJECT
        return {
            "asks_kind": asks,
            "lacks_kind": asks and not here[0],
            "lacks_kind_widely": asks and not any(here),
            "near": float(self.features.column("near")[top].max()),
            "lacks_definition": subject and not self.features.column("definition").any(),
        }

    def pairs(self) -> dict[str, float]:
        """Neighbouring words: a modifier beside its noun."""
        p, weights = self.places, self.question_parts.weights
        pairs_of = {
            "window": pairs_beside(self.question_parts, p.near),
            "passage": pairs_beside(self.question_parts, p.around),
            "all": pairs_beside(self.question_parts, self.statements),
        }
        apart = [ab for ab in self.question_parts.pairs if p.passage.issuperset(ab) and ab not in pairs_of["passage"]]
        shares = {
            f"pairs_{place}": pair_share(weights, self.question_parts.pairs, pairs) for place, pairs in pairs_of.items()
        }
        return shares | {"pairs_broken": min(len(apart), 4) / 4}

    def wording(self) -> dict[str, float]:
        """Opposites, negation and the like."""
        parts, window = self.question_parts, self.places.window_text
        return {
            "swapped": min(count_opposites(self.question.lower(), window), 2) / 2,
            "negated": parts.is_negated,
            "negation_differs": parts.is_negated != is_negated(self.best.text.lower()),
            "degree_missing": bool(parts.degrees) and not any(word in window for word in parts.degrees),
            "here": parts.is_here,
            "broad": parts.is_broad,
        }

    def standing(self, sources: Sequence[Source]) -> dict[str, float]:
        """How the best sentence stands to the others, and its source to other sources."""
        first, column = int(self.order[0]), self.features.column
        powers = np.exp(self.scores - self.scores.max())
        ranked = sorted((s.score for s in sources), reverse=True)
        second = self.scores[self.order[1]] if len(self.order) > 1 else self.scores[first] - SCORE_SCALE
        shares = source_shares(self.question_parts, self.statements)
        other_shares = [share for number, share in shares.items() if number != self.best.source.number]
        return {
            "adjacency": float(column("adjacency")[first]),
            "run": float(column("run")[first]),
            "run_rest": float(np.delete(column("run"), first).max(initial=0.0)),
            "soft": float(column("soft_coverage")[first]),
            "score": float(self.scores[first]) / SCORE_SCALE,
            "lead": float(self.scores[first] - second) / SCORE_SCALE,
            "certainty": float(1.0 / powers.sum()),
            "spread": 1 - ranked[1] / ranked[0] if len(ranked) > 1 and ranked[0] > 0 else 1.0,
            "best_first": self.best.source.number == 1,
            "share_others": sum(other_shares) / len(other_shares) if other_shares else 0.0,
            "stands_out": shares[self.best.source.number] - max(other_shares, default=0.0),
            "process": question_type(self.question) == "process",
        }

    def meaning(self, embedder: Embedder | None) -> dict[str, float]:
        """Cosines of question and sentences."""
        if embedder is None:
            return dict.fromkeys(MEANING, 0.0)
        cosines = sentence_cosines(self.question, self.statements, embedder)
        best = float(cosines[int(self.order[0])])
        if np.isnan(cosines).all():
            return dict.fromkeys(MEANING, 0.0) | {"similarity": _cosine(self.question, self.best.text, embedder)}
        first = cosines[
            [
                at
                for at, statement in enumerate(self.statements)
                if statement.source.number == self.statements[0].source.number
            ]
        ]
        nearest = float(np.nanmax(cosines))
        similarity = float(np.nanmedian(cosines)) if np.isnan(best) else best
        return {
            "similarity": similarity,
            "nearest": nearest,
            "nearest_lead": nearest - float(np.nanmedian(cosines)),
            "nearest_first": nearest if np.isnan(first).all() else float(np.nanmax(first)),
            "nearest_by_words": similarity - nearest,
        }

    def _absent(self, place: frozenset[str]) -> set[str]:
        """Terms of which not even the beginning is there; of a Chinese one, not more than half of the characters."""
        p = self.places
        near = p.near if place is p.window else p.around if place is p.passage else self.statements
        absent = {term for term in self.question_parts.terms if term not in place}
        if any(term.isascii() for term in absent):
            beginnings = {term[:PREFIX] for s in near for term in s.terms if term.isascii()}
            absent -= {term for term in absent if term.isascii() and term[:PREFIX] in beginnings}
        if any(not term.isascii() for term in absent):
            characters = set().union(*(s.text for s in near))
            absent -= {t for t in absent if not t.isascii() and 2 * sum(c in characters for c in t) > len(t)}
        return absent

    def _has_kind(self, text: str) -> bool:
        pattern = PATTERNS.get(self.features.kind)
        lower = self.question.lower()
        return bool(pattern and any(m.group().lower().strip() not in lower for m in pattern.finditer(text)))
