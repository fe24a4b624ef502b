"""Signs that the sources answer a question, or do not: numbers of about 0 to 1 (D21, D23).

A question that nothing answers still shares most of its words with some passage. What it lacks is one of them: the
name that was asked about, the word for the relation, the figure, the defining sentence. So the signs say which of the
question's words are missing around the best sentence, and whether what it asks for stands there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.answerability.words import cue, swapped
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.providers.extractive_features import Evidence, evidence
from ragcore.providers.extractive_patterns import PATTERNS, subject_of
from ragcore.providers.extractive_scores import SentenceScorer
from ragcore.providers.extractive_sentences import Statement, statements
from ragcore.text.question_type import question_type
from ragcore.text.scripts import CJK
from ragcore.types import Source

SIGNS = (
    "sentence",  # idf-weighted share of the question's terms in the best sentence
    "window",  # in it and its neighbours
    "passage",  # in its source with title and headings
    "all",  # in all sources
    "sentence_rare",  # the same shares with squared idf
    "window_rare",
    "passage_rare",
    "rarest_in_window",  # 1 if the question's rarest term is there
    "rarest_in_passage",
    "missing_window",  # idf of the rarest term that is not there, by the largest idf
    "missing_passage",
    "missing_all",
    "absent_window",  # share of the question's words of which not even the beginning is there
    "absent_passage",
    "absent_all",
    "absent_words",  # how many of them are absent from the passage, up to four
    "unknown",  # share of the question's weight in terms that no passage of the corpus has
    "names_window",  # share of the question's names and identifiers that are there, 1 without any
    "names_passage",
    "names_all",
    "lacks_name",  # there is a name in the question, and one of its words is not in the window
    "numbers_window",  # share of its numbers, 1 without any
    "numbers_passage",
    "relation_window",  # share of its other content words
    "relation_passage",
    "focus_window",  # the word that says what is asked for: which CITY, how many POINTS; 1 without any
    "focus_passage",
    "asks_kind",  # a number, time or name is asked for
    "lacks_kind",  # and none that the question does not name stands in the best sentence
    "lacks_kind_widely",  # nor in the best three
    "near",  # coverage around it
    "asks_definition",
    "lacks_definition",  # the meaning of a short term is asked for, and no sentence defines it
    "swapped",  # words of the question that are there only as their opposites
    "negated",  # the question is negated
    "negation_differs",  # and the best sentence is not, or the other way round
    "degree_missing",  # the question says only, most, all ..., and the window does not
    "here",  # it speaks of "this document": what it asks is not in the sources, or is everywhere
    "adjacency",  # neighbouring terms that are neighbours in the best sentence
    "run",  # longest literal piece of the question in it
    "run_rest",  # the same in the best other sentence
    "soft",  # words of which it has only the beginning
    "score",  # of the best sentence by the sentence model
    "lead",  # of it before the second one
    "certainty",  # its probability among all sentences
    "spread",  # of the first source before the second one in the ranking
    "length",  # logarithm of the question's terms
    "process",  # a process is asked for
    "similarity",  # cosine of question and best sentence; 0 without an embedder
)
RISING = frozenset(  # the more, the likelier an answer
    name
    for name in SIGNS
    if name.startswith(("sentence", "window", "passage", "rarest", "names", "numbers", "relation", "focus"))
) | {"all", "near", "adjacency", "run", "soft", "lead", "certainty", "spread", "similarity"}
FALLING = frozenset(  # the more, the less likely
    name for name in SIGNS if name.startswith(("missing", "absent", "lacks", "negat"))
) | {"unknown", "swapped", "degree_missing", "here"}
SCORE_SCALE = 10.0
SHORT_SUBJECT = 3  # words of a term whose meaning is asked for
PREFIX = 4  # letters that two forms of a word share
_NAME = re.compile(
    r"(?<!^)\b[A-Z][\w-]*|\b\w*\d\w*[A-Za-z]\w*|\b[A-Za-z]\w*\d\w*|\b[A-Z]{2,}\w*|[《「“]([^》」”]+)[》」”]"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FOCUS = re.compile(
    r"\b(?:what|which|whose|how many|how much)\s+(?:(?:type|types|kind|kinds|sort|name|number|amount)\s+of\s+)?"
    r"((?:[a-z-]+\s+){0,2}?[a-z-]+)"
    r"\s+(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|to|of|in|on|for|that|which|who|by|from)\b"
    rf"|(?:哪[个個种種位些家所条條座一]?|什么|什麼|多少|几|幾)([{CJK}]{{1,3}})",
    re.IGNORECASE,
)
_AUXILIARY = frozenset(
    ["is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "will", "the", "a"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the question's terms may stand: from the best sentence to everything."""

    sentence: frozenset[str]
    window: frozenset[str]
    passage: frozenset[str]
    everything: frozenset[str]


def signs(
    question: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None = None,
    idf: Mapping[str, float] | None = None,
) -> dict[str, float] | None:
    """Every sign by its name; None without a usable sentence.

    `idf`: of the terms that the corpus knows (Query.weights); without it terms are weighed by the sources alone.
    """
    found = statements(sources, tokenizer)
    if not found:
        return None
    known = evidence(question, found, tokenizer)
    scorer = SentenceScorer.shipped()
    scores = scorer.scores(known)
    order = np.argsort(-scores, kind="stable")
    reader = _Reader(question, tokenizer, found, known, scores, order, idf)
    values = [*reader.shares(), *reader.kinds(), *reader.wording(), *reader.standing(sources)]
    best = found[order[0]].text
    values.append(_cosine(question, best, embedder))
    return dict(zip(SIGNS, map(float, values), strict=True))


def _cosine(question: str, sentence: str, embedder: Embedder | None) -> float:
    if embedder is None:
        return 0.0
    return float(embedder.embed_documents([sentence])[0] @ embedder.embed_queries([question])[0])


class _Reader:
    """A question beside its best sentence."""

    def __init__(
        self,
        question: str,
        tokenizer: Tokenizer,
        found: Sequence[Statement],
        known: Evidence,
        scores: FloatArray,
        order: npt.NDArray[np.intp],
        idf: Mapping[str, float] | None,
    ) -> None:
        self.question, self.lower = question, question.lower()
        self.tokenizer, self.found, self.known, self.scores, self.order = tokenizer, found, known, scores, order
        self.terms = tuple(dict.fromkeys(tokenizer.terms(question)))
        self.best = found[int(order[0])]
        self.near = [s for s in found if s.source is self.best.source and abs(s.position - self.best.position) <= 1]
        self.window_text = " ".join(s.text for s in self.near).lower()
        self.places = self._places()
        self.idf, self.unknown = self._weights(idf)

    def shares(self) -> list[float]:
        """How much of the question is there, from the best sentence outwards."""
        p, heaviest = self.places, max(self.idf.values(), default=1.0)
        rarest = max(self.idf, key=lambda t: self.idf[t], default="")
        return [
            *(self._share(self.terms, place) for place in (p.sentence, p.window, p.passage, p.everything)),
            *(self._share(self.terms, place, power=2) for place in (p.sentence, p.window, p.passage)),
            float(rarest in p.window),
            float(rarest in p.passage),
            *(self._missing(place) / heaviest for place in (p.window, p.passage, p.everything)),
            *self._absent(),
            self.unknown,
            *self._by_sort(),
        ]

    def kinds(self) -> list[float]:
        """Whether what is asked for stands there."""
        kind, top = self.known.kind, [int(at) for at in self.order[:3]]
        here = [bool(self._of_kind(self.found[at].text)) for at in top]
        defines = bool(self.known.column("definition").any())
        subject = 0 < len(subject_of(self.question).split()) <= SHORT_SUBJECT
        asks = kind in PATTERNS
        return [
            float(asks),
            float(asks and not here[0]),
            float(asks and not any(here)),
            float(self.known.column("near")[top].max()),
            float(subject),
            float(subject and not defines),
        ]

    def wording(self) -> list[float]:
        """Opposites, negation and the like."""
        negated, degree = (bool(cue(name).search(self.lower)) for name in ("negation", "degree"))
        degrees = {m.group() for m in cue("degree").finditer(self.lower)}
        return [
            float(min(swapped(self.lower, self.window_text), 2)) / 2,
            float(negated),
            float(negated != bool(cue("negation").search(self.best.text.lower()))),
            float(degree and not any(word in self.window_text for word in degrees)),
            float(bool(cue("here").search(self.lower))),
        ]

    def standing(self, sources: Sequence[Source]) -> list[float]:
        """How the best sentence stands to the others."""
        first, column = int(self.order[0]), self.known.column
        runs = np.delete(column("run"), first)
        powers = np.exp(self.scores - self.scores.max())
        ranked = sorted((s.score for s in sources), reverse=True)
        second = self.scores[self.order[1]] if len(self.order) > 1 else self.scores[first] - SCORE_SCALE
        return [
            float(column("adjacency")[first]),
            float(column("run")[first]),
            float(runs.max(initial=0.0)),
            float(column("soft_coverage")[first]),
            float(self.scores[first]) / SCORE_SCALE,
            float(self.scores[first] - second) / SCORE_SCALE,
            float(1.0 / powers.sum()),
            1 - ranked[1] / ranked[0] if len(ranked) > 1 and ranked[0] > 0 else 1.0,
            math.log1p(len(self.terms)) / 4,
            float(question_type(self.question) == "process"),
        ]

    def _places(self) -> Places:
        passage = self.best.source.passage
        head = self.tokenizer.terms(" ".join((passage.title, *passage.heading_path, self.best.heading)))
        same = {term for s in self.found if s.source is self.best.source for term in s.terms}
        return Places(
            sentence=frozenset(self.best.terms),
            window=frozenset(term for s in self.near for term in s.terms),
            passage=frozenset(same.union(head)),
            everything=frozenset(term for s in self.found for term in s.terms).union(head),
        )

    def _weights(self, idf: Mapping[str, float] | None) -> tuple[dict[str, float], float]:
        """Weights of the question's terms, and the share of those that nothing has."""
        if idf is None:
            sets = [set(s.terms) for s in self.found]
            counts = {t: sum(t in s for s in sets) for t in self.terms}
            weights = {t: math.log(1 + (len(sets) - n + 0.5) / (n + 0.5)) for t, n in counts.items()}
            lacking = [t for t, n in counts.items() if not n]
        else:
            most = max(idf.values(), default=1.0)
            weights = {t: idf.get(t, most) for t in self.terms}
            lacking = [t for t in self.terms if t not in idf]
        total = sum(weights.values())
        return weights, sum(weights[t] for t in lacking) / total if total else 0.0

    def _share(self, terms: Sequence[str], place: frozenset[str], power: int = 1) -> float:
        total = sum(self.idf.get(t, 0.0) ** power for t in terms)
        return sum(self.idf.get(t, 0.0) ** power for t in terms if t in place) / total if total else 1.0

    def _missing(self, place: frozenset[str]) -> float:
        return max((w for t, w in self.idf.items() if t not in place), default=0.0)

    def _absent(self) -> list[float]:
        """Shares of the words that are absent even by their beginnings, and how many the passage lacks."""
        words = [t for t in self.terms if t in self.idf]
        total = sum(self.idf[t] for t in words) or 1.0
        shares, lacking = [], 0
        for place in (self.places.window, self.places.passage, self.places.everything):
            beginnings = {t[:PREFIX] for t in place}
            absent = [t for t in words if t not in place and t[:PREFIX] not in beginnings]
            shares.append(sum(self.idf[t] for t in absent) / total)
            lacking = len(absent) if place is self.places.passage else lacking
        return [*shares, min(lacking, 4) / 4]

    def _by_sort(self) -> list[float]:
        """Shares of names, numbers, other words and the focus, in the window and in the passage."""
        names = self._terms_of(" ".join(m.group() for m in _NAME.finditer(self.question)))
        numbers = self._terms_of(" ".join(_NUMBER.findall(self.question)))
        match = _FOCUS.search(self.question)
        words = [w for w in next((g for g in match.groups() if g), "").split() if w not in _AUXILIARY] if match else []
        focus = self._terms_of(words[-1] if words else "")
        relation = [t for t in self.terms if t not in set(names) and t not in set(numbers) and t not in set(focus)]
        places = self.places
        shares = [self._share(names, places.window), self._share(names, places.passage)]
        shares += [self._share(names, places.everything), float(any(t not in places.window for t in names))]
        for group in (numbers, relation, focus):
            shares += [self._share(group, places.window), self._share(group, places.passage)]
        return shares

    def _terms_of(self, text: str) -> list[str]:
        return [t for t in self.tokenizer.terms(text) if t in self.idf] if text else []

    def _of_kind(self, text: str) -> bool:
        pattern = PATTERNS.get(self.known.kind)
        return bool(pattern and any(m.group().lower().strip() not in self.lower for m in pattern.finditer(text)))
