"""Evidence that a sentence of the sources answers a question, as numbers of about 0 to 1 (A2, A4)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.extractive.answer_patterns import PATTERNS, definer, signs_of
from ragcore.extractive.sentences import Statement
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.matching import idf
from ragcore.text.once import once
from ragcore.text.question_type import Wanted, wanted
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
    "similarity",  # cosine to the question, with an embedder
)
NEAR_CHARACTERS = {"cjk": 24, "latin": 70}
MATCHES = 8  # of what was asked for, looked at in one sentence
PREFIX = 5  # letters that two forms of a word share
LEAST_PRIOR = 1e-3

_PRONOUN = re.compile(
    r"(?:it|its|they|their|he|his|she|her|this|these|that|those|such|both)\b|[该該此这這其他她它]|[他她它]们|同年|[当當]时",
    re.IGNORECASE,
)
_FINISHED = re.compile(r"[。！？.!?;；…」』”\")）]\s*\Z")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of every sentence of a question's sources; the rows stand in their order."""

    found: tuple[Statement, ...]
    matrix: FloatArray  # float32[n, len(FEATURES)]
    cjk_share: float  # of the question
    kind: Wanted

    def column(self, name: str) -> FloatArray:
        """float32[n]: one feature of all sentences."""
        return np.asarray(self.matrix[:, FEATURES.index(name)], dtype=np.float32)


def refers_back(text: str) -> bool:
    """Whether a sentence begins with a word for what the sentence before it named."""
    return _PRONOUN.match(text) is not None


def evidence(
    question: str, found: Sequence[Statement], tokenizer: Tokenizer, embedder: Embedder | None = None
) -> Evidence:
    """Every feature of every sentence; similarity is 0 without an embedder."""
    found = tuple(found)
    key = ("evidence", tokenizer, question, tuple(map(id, found)))  # by identity: `found` is kept with them
    table = once(key, lambda: (found, _table(question, found, tokenizer)))[1].copy()
    if found and embedder is not None:
        vectors = embedder.embed_documents([statement.text for statement in found])
        table[:, -1] = vectors @ embedder.embed_queries([question])[0]
    return Evidence(found, table, cjk_share(question), wanted(question))


def _table(question: str, found: Sequence[Statement], tokenizer: Tokenizer) -> FloatArray:
    """float32[n, len(FEATURES)], the last column 0."""
    table = np.zeros((len(found), len(FEATURES)), dtype=np.float32)
    if found:
        reader = _Reader.of(question, found, tokenizer)
        for at in range(len(found)):
            table[at, :-1] = reader.row(at)
    return table


@dataclass(frozen=True, slots=True)
class Coverage:
    """The question's terms with their idf over the sentences at hand (BM25's idf)."""

    weights: dict[str, float]
    total: float
    squared: float

    @classmethod
    def of(cls, asked: Sequence[str], found: Sequence[Statement]) -> Coverage:
        """Terms that no sentence has are left out: they cannot tell sentences apart."""
        frequency = Counter(term for statement in found for term in set(statement.terms))
        number = len(found)
        weights = {t: idf(number, n) for t in set(asked) if (n := frequency[t])}
        return cls(weights, sum(weights.values()), sum(w * w for w in weights.values()))

    def share(self, terms: set[str] | frozenset[str]) -> float:
        """Weighted share of the question's terms among these, 0 to 1."""
        return sum(w for t, w in self.weights.items() if t in terms) / self.total if self.total else 0.0

    def rare(self, terms: set[str] | frozenset[str]) -> float:
        """The same with squared weights."""
        return sum(w * w for t, w in self.weights.items() if t in terms) / self.squared if self.squared else 0.0


@dataclass(slots=True)
class _Reader:
    """A question and its sentences, prepared."""

    question: str
    asked: tuple[str, ...]
    found: Sequence[Statement]
    cover: Coverage
    sets: list[frozenset[str]]
    own: list[float]
    passages: dict[int, tuple[float, float]]  # number of a source -> coverage of all of it, of its head
    holders: dict[int, Counter[str]]  # number of a source -> term -> sentences of it
    average: float
    best_prior: float
    pairs: frozenset[tuple[str, str]]
    pieces: list[str]
    joiner: str
    pattern: re.Pattern[str] | None
    kind: Wanted
    signs: re.Pattern[str] | None
    defines: Callable[[str], float]

    @classmethod
    def of(cls, question: str, found: Sequence[Statement], tokenizer: Tokenizer) -> _Reader:
        asked = tuple(tokenizer.terms(question))
        cover = Coverage.of(asked, found)
        sets = [frozenset(statement.terms) for statement in found]
        kind = wanted(question)
        is_cjk = cjk_share(question) >= 0.3
        lower = question.lower()
        holders: dict[int, Counter[str]] = {}
        for statement, terms in zip(found, sets, strict=True):
            holders.setdefault(statement.source.number, Counter()).update(terms & cover.weights.keys())
        return cls(
            question=lower,
            asked=asked,
            found=found,
            cover=cover,
            sets=sets,
            own=[cover.share(terms) for terms in sets],
            passages=_passages(cover, found, holders, tokenizer),
            holders=holders,
            average=sum(len(s.terms) for s in found) / len(found) or 1.0,
            best_prior=max(s.source.score for s in found),
            pairs=frozenset(zip(asked, asked[1:], strict=False)),
            pieces=re.findall(rf"[{CJK}]|[^\W{CJK}]+", lower) if is_cjk else re.findall(r"\w+", lower),
            joiner="" if is_cjk else " ",
            pattern=PATTERNS.get(kind),
            kind=kind,
            signs=signs_of(question),
            defines=definer(question),
        )

    def row(self, at: int) -> list[float]:
        """All features but the last, in their order."""
        statement, terms, own = self.found[at], self.sets[at], self.own[at]
        number = statement.source.number
        whole, head = self.passages[number]
        before = self.sets[at - 1] if at and self.found[at - 1].source is statement.source else frozenset()
        follows = at + 1 < len(self.found) and self.found[at + 1].source is statement.source
        behind = self.sets[at + 1] if follows else frozenset()
        prior = statement.source.score
        wanted_here, near = self._wanted(statement.text)
        return [
            own,
            own * self._discount(len(statement.terms)),
            self.cover.rare(terms),
            self._soft(terms),
            self.cover.share(terms | before) - own,
            self.cover.share(terms | behind) - own,
            self.own[at - 1] if before else 0.0,
            whole,
            own / whole if whole else 0.0,
            head,
            self._only_here(terms, number),
            prior,
            math.log(max(prior / self.best_prior if self.best_prior > 0 else 1.0, LEAST_PRIOR)) / 7,
            1 / max(number, 1),
            self._adjacency(statement.terms),
            self._run(statement.text),
            wanted_here * (self.kind == "number"),
            wanted_here * (self.kind == "time"),
            wanted_here * (self.kind in ("person", "place", "name")),
            near,
            self.defines(statement.text),
            float(bool(self.signs and self.signs.search(statement.text.lower()))),
            float(statement.text.endswith(("?", "？"))),
            math.log1p(len(terms.difference(self.asked))) / 4,
            math.log1p(len(statement.terms)) / 4,
            float(statement.position == 0),
            float(refers_back(statement.text)),
            float(not _FINISHED.search(statement.text)),
            float(statement.is_row),
            float(statement.is_item),
        ]

    def _discount(self, length: int) -> float:
        """BM25's length normalisation at one occurrence, 1 at average length."""
        return min(1.2, 2.2 / (1 + 1.2 * (0.5 + 0.5 * length / self.average)))

    def _soft(self, terms: frozenset[str]) -> float:
        missing = [t for t in set(self.asked) if len(t) >= PREFIX and t.isascii() and t.isalpha() and t not in terms]
        if not missing:
            return 0.0
        beginnings = {t[:PREFIX] for t in terms}
        return sum(t[:PREFIX] in beginnings for t in missing) / len(set(self.asked))

    def _only_here(self, terms: frozenset[str], number: int) -> float:
        holders = self.holders[number]
        return self.cover.share({term for term in terms if holders[term] == 1})

    def _adjacency(self, terms: Sequence[str]) -> float:
        if not self.pairs:
            return 0.0
        return len(self.pairs.intersection(zip(terms, terms[1:], strict=False))) / len(self.pairs)

    def _run(self, text: str) -> float:
        """Longest literal piece of the question, whole words for Latin script, 0 to 1."""
        body = text.lower() if not self.joiner else " ".join(re.findall(r"\w+", text.lower()))
        best = start = 0
        for end in range(1, len(self.pieces) + 1):
            while end - start > best:
                if self.joiner.join(self.pieces[start:end]) in body:
                    best = end - start
                    break
                start += 1
        return best / max(len(self.pieces), 1)

    def _wanted(self, text: str) -> tuple[float, float]:
        """Whether what was asked for stands here and not in the question, and the best coverage around it."""
        if self.pattern is None:
            return 0.0, 0.0
        lower, found, best = text.lower(), 0.0, 0.0
        width = NEAR_CHARACTERS["latin" if self.joiner else "cjk"]
        for number, match in enumerate(self.pattern.finditer(text)):
            if number >= MATCHES:
                break
            if match.group().lower().strip() in self.question:
                continue
            found = 1.0
            around = lower[max(0, match.start() - width) : match.end() + width]
            held = sum(w for term, w in self.cover.weights.items() if term.removesuffix("i") in around)
            best = max(best, held / self.cover.total if self.cover.total else 0.0)
        return found, best


def _passages(
    cover: Coverage, found: Sequence[Statement], holders: dict[int, Counter[str]], tokenizer: Tokenizer
) -> dict[int, tuple[float, float]]:
    """Coverage of each source with its title and headings, and of these alone."""
    shares: dict[int, tuple[float, float]] = {}
    for statement in found:
        passage, number = statement.source.passage, statement.source.number
        if number not in shares:
            head = set(tokenizer.terms(" ".join((passage.title, *passage.heading_path))))
            shares[number] = cover.share(head | set(holders[number])), cover.share(head)
    return shares
