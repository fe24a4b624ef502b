"""How well a sentence of the sources answers a question, by signs in its words (A2, A4)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragcore.ports import Embedder, Tokenizer
from ragcore.providers.extractive_sentences import Statement
from ragcore.text.question_type import Wanted, question_type, wanted

SHORT_BONUS = 1.2  # the most that a short sentence gains by the length normalisation

_NUMBER_WORDS = "one two three four five six seven eight nine ten half hundred thousand million billion".replace(
    " ", "|"
)
_TIME_WORDS = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday century year day"
).replace(" ", "|")
_NUMBER = re.compile(rf"\d|[一二三四五六七八九十百千万萬亿億两兩]|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)
_TIME = re.compile(rf"\d{{3,4}}|\d+\s*[年月日号號]|世[纪紀]|[年月]|\b(?:{_TIME_WORDS})\b", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w-]+|[《「『“·]|[\u4e00-\u9fff]{2,4}[市省县縣区區国國人山河]")
_PATTERNS: dict[Wanted, re.Pattern[str]] = {
    "number": _NUMBER,
    "time": _TIME,
    "person": _NAME,
    "place": _NAME,
    "name": _NAME,
}
_SUBJECT = re.compile(
    r"(?:what (?:is|are|does)|define|meaning of|definition of)\s+(?:an?\s+|the\s+|meant by\s+)?(.+?)"
    r"(?:\s+(?:stand|mean|refer)\b.*)?[?？.]*$"
    r"|^(?:请问|請問)?(.+?)(?:是什么|是什麼|的定义|的定義|的全称|的含义|是甚麼)"
    r"|(?:什么是|什麼是|何谓|何謂|什么叫|什麼叫)(.+?)[?？。]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveWeights:
    """How much each sign counts beside the coverage of the question's terms (1); tuned on four development sets."""

    adjacency: float = 0.25  # pairs of the question that stand side by side in the sentence
    neighbours: float = 0.2  # coverage of the sentence before and behind
    passage: float = 0.35  # coverage of the whole source with its title
    prior: float = 0.25  # the ranking's score
    wanted: float = 0.15  # a number where one is asked for, and so on
    similarity: float = 0.3  # cosine to the question, with an embedder
    definition: float = 0.5  # it says what the asked-for term is or stands for
    question: float = 0.4  # taken off: it is a question itself
    length: float = 0.5  # BM25's b: how far long sentences are discounted


@dataclass(frozen=True, slots=True)
class SentenceScorer:
    """Scores sentences against a question; the embedder is optional."""

    tokenizer: Tokenizer
    embedder: Embedder | None
    weights: ExtractiveWeights

    def scores(self, question: str, found: Sequence[Statement]) -> list[float]:
        """How well each sentence answers, about 0 to 2."""
        w, asked = self.weights, tuple(self.tokenizer.terms(question))
        cover = Coverage.of(asked, found)
        own = [cover.share(statement.terms) for statement in found]
        discount = _length_discounts(found, w.length)
        passages = self._passage_coverage(cover, found)
        kind, defines = wanted(question), _definer(question)
        meaning = self._similarities(question, found)
        scores = []
        for at, statement in enumerate(found):
            near = [own[i] for i in (at - 1, at + 1) if 0 <= i < len(found) and found[i].source is statement.source]
            scores.append(
                own[at] * discount[at]
                + w.neighbours * max(near, default=0.0)
                + w.adjacency * _adjacent(asked, statement.terms)
                + w.passage * passages[statement.source.number]
                + w.prior * statement.source.score
                + w.wanted * _has_wanted(kind, statement, question)
                + w.similarity * meaning[at]
                + w.definition * defines(statement.text)
                - w.question * statement.text.endswith(("?", "？"))
            )
        return scores

    def _passage_coverage(self, cover: Coverage, found: Sequence[Statement]) -> dict[int, float]:
        """Coverage of each source, with its title and headings, by number."""
        terms: dict[int, list[str]] = {}
        for statement in found:
            passage = statement.source.passage
            if statement.source.number not in terms:
                head = " ".join((passage.title, *passage.heading_path))
                terms[statement.source.number] = self.tokenizer.terms(head)
            terms[statement.source.number].extend(statement.terms)
        return {number: cover.share(tuple(words)) for number, words in terms.items()}

    def _similarities(self, question: str, found: Sequence[Statement]) -> list[float]:
        """Cosine of each sentence to the question; zeros without an embedder."""
        if self.embedder is None:
            return [0.0] * len(found)
        vectors = self.embedder.embed_documents([statement.text for statement in found])
        return [float(x) for x in vectors @ self.embedder.embed_queries([question])[0]]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The question's terms with their idf over the sentences at hand (BM25's idf)."""

    weights: dict[str, float]

    @classmethod
    def of(cls, asked: Sequence[str], found: Sequence[Statement]) -> Coverage:
        """Terms that no sentence has are left out: they cannot tell sentences apart."""
        frequency = Counter(term for statement in found for term in set(statement.terms))
        total = len(found)
        return cls({t: math.log(1 + (total - n + 0.5) / (n + 0.5)) for t in set(asked) if (n := frequency[t])})

    def share(self, terms: Sequence[str]) -> float:
        """Weighted share of the question's terms among these, 0 to 1."""
        everything = sum(self.weights.values())
        return sum(self.weights.get(term, 0.0) for term in set(terms)) / everything if everything else 0.0


def _length_discounts(found: Sequence[Statement], b: float) -> list[float]:
    """BM25's length normalisation at one occurrence, 1 for a sentence of average length, less for long ones."""
    average = sum(len(s.terms) for s in found) / len(found) or 1.0
    return [min(SHORT_BONUS, 2.2 / (1 + 1.2 * (1 - b + b * len(s.terms) / average))) for s in found]


def _adjacent(asked: Sequence[str], terms: Sequence[str]) -> float:
    """Share of the question's neighbouring pairs that are neighbours in the sentence too, 0 to 1."""
    pairs = set(zip(asked, asked[1:], strict=False))
    return len(pairs & set(zip(terms, terms[1:], strict=False))) / len(pairs) if pairs else 0.0


def _has_wanted(kind: Wanted, statement: Statement, question: str) -> float:
    """1 if the sentence holds what the question word asks for and the question itself does not."""
    pattern = _PATTERNS.get(kind)
    if pattern is None:
        return 0.0
    return float(any(match.group() not in question for match in pattern.finditer(statement.text)))


def _definer(question: str) -> Callable[[str], float]:
    """A test whether a sentence says what the subject of a definition question is; always 0 for other questions."""
    subject = _SUBJECT.search(question) if question_type(question) == "definition" else None
    name = next((group for group in subject.groups() if group), "") if subject else ""
    if not name:
        return lambda sentence: 0.0
    term = re.escape(name.strip())
    says = re.compile(
        rf"[(（]{term}[)）,，;；]|{term}\s*[(（]|(?:^|[，,。.]\s*|\b(?:the|an?)\s+)[「“\"《]?{term}[」”\"》]?\s*"
        r"(?:是|指|为|為|[（(]|,? (?:is|are|was|were|means|refers|stands)\b)",
        re.IGNORECASE,
    )
    return lambda sentence: float(bool(says.search(sentence)))
