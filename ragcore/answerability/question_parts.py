"""What a question asks about, and where its words may stand: from the best sentence to everything that was found.

Content words with weights, names, numbers, the word for what is wanted; cue words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.lexical_features import idf_in, pairs_within, share_of_selected
from ragcore.text.request_cache import cached
from ragcore.text.scripts import CJK
from ragcore.text.word_lists import read_section

PACKAGE = "ragcore.answerability"

NAME = re.compile(
    r"(?<!^)\b[A-Z][\w-]*|\b\w*\d\w*[A-Za-z]\w*|\b[A-Za-z]\w*\d\w*|\b[A-Z]{2,}\w*|[《「“]([^》」”]+)[》」”]"
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WANTED_COUNT = re.compile(  # how many are wanted, which no text has to say: "2 facts about", 列出三个原因
    r"\b(?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten) (?=(?:[a-z]+ )?"
    r"(?:facts|reasons|examples|ways|things|points|differences|advantages|disadvantages|benefits|causes|features)\b)"
    r"|(?<=[出举舉])(?:\d{1,2}|[两兩三四五六七八九十])[个個种種条條点點项項类類]",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?<!\d)(?:1[0-9]|20)\d\d(?!\d)")
_VERBS = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must"
_AFTER_QUESTION_WORD = re.compile(  # 哪座城市, 多少公里
    rf"(?:哪[个個种種位些家所条條座一]?|什么|什麼|多少|几|幾)([{CJK}]{{1,4}})"
)
# Tried in this order; the group holds the word that says what is asked for.
_HEADS = (
    re.compile(  # what is the favourite COLOUR of
        r"\bwhat(?:'s| is| are| was| were)\s+(?:the |an? |all )?"
        r"(?:(?:type|kind|name|number|amount|brand)s? of (?:the )?)?"
        r"((?:[\w-]+\s+){0,3}?[\w-]+)\s+(?:of|in|for|to|from|between|during|with|on|by|at)\b",
        re.IGNORECASE,
    ),
    re.compile(  # what was the defendant's HEIGHT
        r"\bwhat(?:'s| is| are| was| were)\b.*?(?:'s|s')\s+((?:[\w-]+\s+){0,2}[\w-]+)\s*\??$", re.IGNORECASE
    ),
    re.compile(  # which CITY, how many POINTS
        rf"\b(?:what|which|whose|how many|how much)\s+(?!(?:{_VERBS})\b)((?:[a-z-]+\s+){{0,2}}?[a-z-]+)"
        rf"\s+(?:{_VERBS}|to|of|in|on|for|that|which|who|by|from)\b",
        re.IGNORECASE,
    ),
    re.compile(  # 被告人的血型是什么
        rf"([{CJK}]{{1,6}}?)(?:是|为|為|有|在|叫)(?:什么|什麼|甚麼|多少|谁|誰|哪|几|幾|怎|何|否)"
    ),
    re.compile(rf"\b(?:what|which|whose|how many|how much)\s+(?!(?:{_VERBS})\b)([a-z-]{{3,}})", re.IGNORECASE),
    _AFTER_QUESTION_WORD,
)
_AUXILIARY = frozenset([*_VERBS.split("|"), "the", "a"])
NEXT = 2  # words apart in a sentence that still count as neighbours


@cache
def cue(section: str) -> re.Pattern[str]:
    """A pattern of the words of a section of cues.txt, in any case. Raises KeyError for an unknown section."""
    words = map(re.escape, read_section(PACKAGE, "cues.txt", section))
    return re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words), re.IGNORECASE)


def is_negated(text: str) -> bool:
    """Whether a text denies something; words that only look negated (未来, not only) do not count."""
    return bool(cue("negation").search(cue("not negation").sub(" ", text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionParts:
    """A question in parts. All parts hold terms of `weights`."""

    text: str
    terms: tuple[str, ...]  # content words in their order, each once
    pairs: tuple[tuple[str, str], ...]  # neighbours among them
    weights: Mapping[str, float]  # idf of each term; a term that the corpus does not know has the highest one
    unknown: float  # share of the weight in terms that nothing has
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    head: tuple[str, ...]  # the words that say what is wanted; () where nothing does
    relation: tuple[str, ...]  # all other terms
    is_broad: bool  # about several things or for a summary: the answer may stand in many places
    is_negated: bool
    degrees: frozenset[str]  # only, most, all ..., lower case
    is_here: bool  # it speaks of "this document"
    _in_sentences: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)  # by text

    def in_sentence(self, statement: Statement) -> frozenset[str]:
        """The terms that a sentence has; a Chinese one is also there where the text is cut into other words."""
        if (terms := self._in_sentences.get(statement.text)) is None:
            terms = self._in_sentences[statement.text] = _terms_in(self, statement.text, statement.terms)
        return terms

    def share(self, terms: Sequence[str], place: frozenset[str], power: int = 1) -> float:
        """Weighted share of the terms that are in a place, 0 to 1; 1 without terms."""
        return share_of_selected(self.weights, terms, place, power=power)

    def total(self) -> float:
        """Weight of all terms: how much the question says, in nats."""
        return sum(self.weights.values())


def split_question(
    question: str, statements: Sequence[Statement], *, tokenizer: Tokenizer, idf: Mapping[str, float] | None
) -> QuestionParts:
    """Take a question apart. `idf`: of the terms that the corpus knows; else the sentences at hand are the corpus."""
    if idf is None:
        return _split(question, statements, tokenizer, None)
    key = ("question parts", tokenizer, question, id(idf))  # by identity: `idf` is kept with them
    return cached(key, lambda: (idf, _split(question, (), tokenizer, idf)))[1]


def _split(
    question: str, statements: Sequence[Statement], tokenizer: Tokenizer, idf: Mapping[str, float] | None
) -> QuestionParts:
    plain, lower = WANTED_COUNT.sub(" ", cue("task").sub(" ", question)), question.lower()
    order = _content(plain, tokenizer) or _content(question, tokenizer)
    terms = tuple(dict.fromkeys(order))
    weights, unknown = _weights(terms, statements, idf)

    def of(text: str) -> tuple[str, ...]:
        return tuple(t for t in dict.fromkeys(_content(text, tokenizer)) if t in weights) if text else ()

    names = of(" ".join(m.group() for m in NAME.finditer(plain)))
    numbers = of(" ".join(NUMBER.findall(plain)))
    places = heads(plain, tokenizer)
    head = next((words for start, end in places if (words := of(_plain_head(plain[start:end])))), ())
    special = {*names, *numbers, *head}
    return QuestionParts(
        text=question,
        terms=terms,
        pairs=tuple(dict.fromkeys((a, b) for a, b in zip(order, order[1:], strict=False) if a != b)),
        weights=weights,
        unknown=unknown,
        names=names,
        numbers=numbers,
        head=head,
        relation=tuple(t for t in terms if t not in special),
        is_broad=any(cue(name).search(question) for name in ("several", "overview"))
        or len(set(YEAR.findall(question))) > 1,
        is_negated=is_negated(lower),
        degrees=frozenset(match.group() for match in cue("degree").finditer(lower)),
        is_here=bool(cue("here").search(lower)),
    )


def _content(text: str, tokenizer: Tokenizer) -> list[str]:
    """Terms that are words: the bigrams across words that help a search would only look missing here."""
    words, terms = set(tokenizer.words(text)), tokenizer.terms(text)
    return [t for t in terms if t in words] or terms


def heads(question: str, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    """Where the words stand that say what is asked for, the likeliest place first: begin and end in the question.

    Of Chinese, which has no spaces, it is the word beside the question word.
    """
    for pattern in _HEADS:
        match = pattern.search(question)
        if not match:
            continue
        (start, end), words = match.span(1), tokenizer.words(match.group(1))
        if match.group(1).isascii():
            yield start, end
        elif words and pattern is _AFTER_QUESTION_WORD:
            yield start, start + len(words[0])
        elif words:
            yield end - len(words[-1]), end


def _plain_head(text: str) -> str:
    return " ".join(word for word in text.split() if word.lower() not in _AUXILIARY)


def _weights(
    terms: Sequence[str], statements: Sequence[Statement], idf: Mapping[str, float] | None
) -> tuple[dict[str, float], float]:
    """Weights of the terms, and the share of those that nothing has."""
    if idf is None:
        weights = idf_in(terms, [set(s.terms) for s in statements])
        source_terms = {t for s in statements for t in s.terms}
        lacking = [t for t in terms if t not in source_terms]
    else:
        most = max(idf.values(), default=1.0)
        weights = {t: idf.get(t, most) for t in terms}
        lacking = [t for t in terms if t not in idf]
    total = sum(weights.values())
    return weights, sum(weights[t] for t in lacking) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchScopes:
    """Terms of the question in growing surroundings of the best sentence."""

    sentence: frozenset[str]
    window: frozenset[str]
    passage: frozenset[str]
    everything: frozenset[str]
    window_text: str  # in lower case
    near: tuple[Statement, ...]  # the sentences of the window
    around: tuple[Statement, ...]  # of the passage


def find_match_scopes(
    parts: QuestionParts, statements: Sequence[Statement], order: Sequence[int], tokenizer: Tokenizer
) -> MatchScopes:
    """Of a question whose best sentences come first in `order`.

    For a broad question all sources are one place, and the best sentences of all sources count together.
    """
    best = _best(parts, statements, order)
    first = best[0]
    around = tuple(s for s in statements if parts.is_broad or s.source is first.source)
    near = tuple(s for s in around if parts.is_broad or abs(s.position - first.position) <= 1)
    headings = [text for b in best for text in (b.source.passage.title, *b.source.passage.heading_path, b.heading)]
    head = _terms_in(parts, " ".join(headings), tokenizer.terms(" ".join(headings)))
    passage = _held(parts, around) | head
    return MatchScopes(
        sentence=_held(parts, best),
        window=_held(parts, near),
        passage=passage,
        everything=_held(parts, statements) | passage,
        window_text=" ".join(s.text for s in near).lower(),
        near=near,
        around=around,
    )


def window_shares(parts: QuestionParts, statements: Sequence[Statement]) -> list[float]:
    """For every sentence the weighted share of the terms in it and its neighbours."""
    sentence_terms = [parts.in_sentence(s) for s in statements]
    shares = []
    for at, statement in enumerate(statements):
        union = set(sentence_terms[at])
        for beside in (at - 1, at + 1):
            if 0 <= beside < len(statements) and statements[beside].source is statement.source:
                union |= sentence_terms[beside]
        shares.append(parts.share(parts.terms, frozenset(union)))
    return shares


def source_shares(parts: QuestionParts, statements: Sequence[Statement]) -> Mapping[int, float]:
    """Number of a source -> the best sentence's weighted share of the terms."""
    best: dict[int, float] = {}
    for statement in statements:
        share = parts.share(parts.terms, parts.in_sentence(statement))
        best[statement.source.number] = max(best.get(statement.source.number, 0.0), share)
    return best


def pairs_beside(parts: QuestionParts, statements: Iterable[Statement]) -> frozenset[tuple[str, str]]:
    """The pairs of the question that stand beside each other in a sentence."""
    pairs: set[tuple[str, str]] = set()
    for statement in statements:
        pairs |= pairs_within(parts.pairs, statement.terms, words=NEXT)
        lower = "" if statement.text.isascii() else statement.text.lower()
        pairs.update((a, b) for a, b in parts.pairs if lower and not a.isascii() and a + b in lower)
    return frozenset(pairs)


def _best(parts: QuestionParts, statements: Sequence[Statement], order: Sequence[int]) -> list[Statement]:
    """The best sentence; of a broad question, of each source."""
    if not parts.is_broad:
        return [statements[order[0]]]
    best: dict[int, Statement] = {}
    for at in order:
        best.setdefault(statements[at].source.number, statements[at])
    return list(best.values())


def _held(parts: QuestionParts, statements: Iterable[Statement]) -> frozenset[str]:
    return frozenset().union(*map(parts.in_sentence, statements))


def _terms_in(parts: QuestionParts, text: str, terms: Iterable[str]) -> frozenset[str]:
    """A Chinese term is also there where the text is cut into other words."""
    literal = frozenset(parts.terms).intersection(terms)
    if text.isascii():
        return literal
    lower = text.lower()
    return literal.union(t for t in parts.terms if not t.isascii() and t in lower)
