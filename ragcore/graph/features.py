"""How a triple fits a question: four signals, and the finer measures that the learned weights use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np

from ragcore.graph.relation_groups import groups_of, object_kind, phrases_of
from ragcore.graph.triples import Triple, entity_name, relation_words, short_name
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.fact_question import KindOfQuestion
from ragcore.text.normalise import normalise_query
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_sections

FEATURES = (
    "subject_in_question",  # share of the subject's words, by rarity, that the question has
    "object_in_question",
    "better_end",  # the larger of the two
    "named_whole",  # an end stands in the question literally
    "question_explained",  # share of the question's words, by rarity, that the fact has
    "both_ends",  # product of the two shares: questions about a relationship
    "relation_words",  # share of the relation's words that the rest of the question has
    "relation_group",  # the rest of the question and the relation have a group of words in common
    "relation_exact",  # shared groups by all groups of either
    "relation_meaning",  # cosine of the rest of the question and the relation's words
    "asked_end",  # the end that is not in the question is the one that the kind of question asks for, -1 to 1
    "answer_kind",  # the other end is what the question word asks for: a number, a time, a name
    "type_words",  # a type of the triple stands in the question
    "meaning",  # cosine of question and fact
    "meaning_relative",  # by the best candidate's
    "words",  # score of the first stage by words, by the best candidate's
    "units",  # what stands in brackets behind a number, in the question too
)
RELATION_KEYWORD, TYPE_KEYWORD = 0.8, 0.5  # of the signals
NAMED = 0.5  # share of a name from which the question means it; few names are, so few texts are embedded
_NUMBER = re.compile(r"^[-+]?[\d.,]+(?:e[-+]?\d+)?\b|^\d")
_DATE = re.compile(r"^\d{4}-(?:\d\d|[A-Z][a-z]{2})|^\d{4}年|^\d{4}$|^\d{1,2} \w+ \d{4}$")
_TIME = re.compile(r"\bwhen\b|\bwhat (?:year|date|day)\b|\bwhich (?:year|date)\b|何时|什么时候|哪一?年|哪天|日期", re.I)
_COUNT = re.compile(
    r"\bhow (?:many|much|long|high|tall|far|deep|wide|heavy|fast|big|large|old)\b|多少|多长|多高|多大|几[个人年]", re.I
)
_PLACE = re.compile(r"\bwhere\b|哪里|哪儿|何处|什么地方|位于", re.I)
_PERSON = re.compile(r"\bwho(?:m|se)?\b|谁|哪位|何人", re.I)
_BRACKET = re.compile(r"[(（]([^()（）]+)[)）]")

_ASKING = frozenset(
    [
        "who",
        "whom",
        "whose",
        "what",
        "which",
        "where",
        "when",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "the",
        "a",
        "an",
        "of",
        "in",
        "by",
        "to",
    ]
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A triple's measures by name, and the four signals, each 0 to 1."""

    features: Mapping[str, float]
    entity: float
    relation: float
    type: float
    semantic: float
    detail: Mapping[str, float] = field(default_factory=dict)


@lru_cache(maxsize=65_536)
def _lower(name: str) -> str:
    return entity_name(name).lower()


class QuestionOfFacts:
    """A question prepared for many triples. `rarity`: weight of a term, larger for rarer ones."""

    def __init__(self, question: str, kind: KindOfQuestion, tokenizer: Tokenizer, rarity: Mapping[str, float]) -> None:
        self.text = normalise_query(question)
        self.lower = self.text.lower()
        self.kind = kind
        self.tokenizer = tokenizer
        self.rarity = rarity
        self.common = min(rarity.values(), default=1.0) if rarity else 1.0
        self.terms = set(tokenizer.terms(self.text))
        self.words = tokenizer.words(self.text)
        self.total = sum(map(self.weight, self.terms)) or 1.0

    def weight(self, term: str) -> float:
        return self.rarity.get(term, self._default)

    @property
    def _default(self) -> float:
        return max(self.rarity.values(), default=1.0) * 0.7

    def share(self, name: str) -> float:
        """Share of a name's terms, by rarity, that the question has, 0 to 1."""
        terms = set(self.tokenizer.terms(name))
        total = sum(map(self.weight, terms))
        return sum(self.weight(t) for t in terms if t in self.terms) / total if total else 0.0

    def rest_without(self, name: str) -> str:
        """The question without the words of a name and without stop words, for comparing it with a relation."""
        gone = set(self.tokenizer.terms(name))
        text = self.lower
        short = short_name(name).lower()
        for form in (_lower(name), short):
            if form and form in text:
                text = text.replace(form, " ")
        return " ".join(w for w in self.tokenizer.words(text) if w not in gone and w not in _ASKING)


def measure(
    question: QuestionOfFacts,
    triples: Sequence[Triple],
    *,
    embedder: Embedder,
    meanings: Sequence[float],
    words: Sequence[float],
) -> list[Measured]:
    """Measures of each triple, in the order given.

    `meanings`: cosine of question and fact; `words`: BM25 of the fact, 0 where words did not find it.
    """
    if not triples:
        return []
    best_meaning, best_words = max(max(meanings), 1e-6), max(max(words), 1e-6)
    ends = [(question.share(_lower(t.subject)), question.share(_lower(t.object))) for t in triples]
    rests = [
        question.rest_without((t.subject if s >= o else t.object) if max(s, o) >= NAMED else "")
        for t, (s, o) in zip(triples, ends, strict=True)
    ]
    relation_meaning = _relation_meanings(rests, [relation_words(t.relation) for t in triples], embedder)
    result = []
    for at, triple in enumerate(triples):
        subject, object_ = ends[at]
        relation = relation_words(triple.relation)
        result.append(
            _measured(
                question,
                triple,
                subject,
                object_,
                rests[at],
                relation,
                relation_meaning=relation_meaning[at],
                meaning=max(float(meanings[at]), 0.0),
                best_meaning=best_meaning,
                words=words[at] / best_words,
            )
        )
    return result


def _relation_meanings(rests: Sequence[str], relations: Sequence[str], embedder: Embedder) -> list[float]:
    # one by one: embedders keep single sentences, and the same relations come with every question
    vectors: dict[str, FloatArray] = {t: embedder.embed_documents([t])[0] for t in {*rests, *relations} if t}
    return [
        max(float(np.dot(vectors[a], vectors[b])), 0.0) if a and b else 0.0
        for a, b in zip(rests, relations, strict=True)
    ]


def _measured(
    question: QuestionOfFacts,
    triple: Triple,
    subject: float,
    object_: float,
    rest: str,
    relation: str,
    *,
    relation_meaning: float,
    meaning: float,
    best_meaning: float,
    words: float,
) -> Measured:
    terms = set(question.tokenizer.terms(relation)) - stop_words()
    rest_terms = set(rest.split())
    shared = len(terms & rest_terms) / len(terms) if terms else 0.0
    relation_groups, question_groups = groups_of(relation), groups_of(rest)
    group = 1.0 if relation_groups & question_groups else 0.0
    fact_terms = set(question.tokenizer.terms(triple.text))
    explained = sum(question.weight(t) for t in question.terms & fact_terms) / question.total
    name_share = max((float(_stands(name, question.lower)) for name in (triple.subject, triple.object)), default=0.0)
    answer = triple.object if subject >= object_ else triple.subject
    fits = answer_kind(question.lower, answer, relation_groups, of_object=subject >= object_)
    type_words = max(
        (_type_share(question, kind) for kind in (triple.subject_type, triple.object_type) if kind), default=0.0
    )
    units = _units(question, f"{triple.relation} {triple.object}")
    features = {
        "subject_in_question": subject,
        "object_in_question": object_,
        "better_end": max(subject, object_),
        "named_whole": name_share,
        "question_explained": explained,
        "both_ends": subject * object_,
        "relation_words": shared,
        "relation_group": group,
        "relation_exact": len(relation_groups & question_groups) / len(relation_groups | question_groups)
        if group
        else 0.0,
        "relation_meaning": relation_meaning,
        "asked_end": _asked_end(question.kind, subject, object_),
        "answer_kind": fits,
        "type_words": type_words,
        "meaning": meaning,
        "meaning_relative": meaning / best_meaning,
        "words": words,
        "units": units,
    }
    return Measured(
        features,
        entity=entity_signal(question, triple),
        relation=relation_signal(rest, triple.relation, question.tokenizer),
        type=type_signal(question.lower, triple),
        semantic=min(1.0, meaning),
    )


def entity_signal(question: QuestionOfFacts, triple: Triple) -> float:
    """0.5 for the subject in the question, 0.5 for the object, 0.1 for each of their longer words; at most 1."""
    score = 0.5 * _stands(triple.subject, question.lower) + 0.5 * _stands(triple.object, question.lower)
    names = f"{_lower(triple.subject)} {_lower(triple.object)}"
    matching = {w for w in set(question.tokenizer.words(names)) if len(w) > 3 and w in set(question.words)}
    return min(1.0, score + 0.1 * len(matching))


def relation_signal(rest: str, relation: str, tokenizer: Tokenizer) -> float:
    """0.8 for each keyword of the question that says the relation, at most 1.

    `rest`: the question without the name in it. A keyword counts once, whether the relation has the same word, another
    of its meaning (`relation_words.txt`), or both.
    """
    relation = relation_words(relation)
    groups, terms = groups_of(relation), set(tokenizer.terms(relation)) - stop_words()
    keywords = {phrase.words for phrase in phrases_of(rest) if phrase.groups & groups}
    covered = {word for words in keywords for word in words}
    same = {word for word in terms & set(tokenizer.words(rest)) if not any(word in c or c in word for c in covered)}
    return min(1.0, RELATION_KEYWORD * (len(keywords) + len(same)))


def type_signal(question: str, triple: Triple) -> float:
    """0.5 for each keyword of the question that asks for a type of the fact, at most 1.

    Types are those of its ends and the kind of its relation's objects. Keywords are in `type_words.txt`; the words of
    a type's name are keywords, too. `question` in lower case.
    """
    kinds = {object_kind(group) for group in groups_of(relation_words(triple.relation))} - {"thing"}
    names = {relation_words(name) for name in (triple.subject_type, triple.object_type) if name} | kinds
    names_of_ends = f"{_lower(triple.subject)} | {_lower(triple.object)}"
    keywords = {word for name in names for word in (*_keywords_of_types().get(name, ()), name)}
    present = {word for word in keywords if stands_whole(word, question) and not stands_whole(word, names_of_ends)}
    inside = {word for word in present if any(word != other and stands_whole(word, other) for other in present)}
    return min(1.0, TYPE_KEYWORD * len(present - inside))


@cache
def _keywords_of_types() -> Mapping[str, frozenset[str]]:
    """Name of a type -> keywords that ask for it."""
    keywords: dict[str, frozenset[str]] = {}
    for head, entries in read_sections("ragcore.graph", "type_words.txt").items():
        for name in head.split("|"):
            keywords[name.strip()] = frozenset(entries)
    return keywords


def _asked_end(kind: KindOfQuestion, subject: float, object_: float) -> float:
    """Where a subject is asked for the object is named, and the other way round; by the difference of their shares."""
    if kind.kind not in ("subject", "object"):
        return 0.0
    difference = object_ - subject if kind.kind == "subject" else subject - object_
    return kind.confidence * difference


def _stands(name: str, text: str) -> bool:
    return any(form and stands_whole(form, text) for form in (_lower(name), short_name(name).lower()))


def stands_whole(form: str, text: str) -> bool:
    """The form is in the text, and no letter or digit beside it; forms with Chinese in them may stand anywhere."""
    if not form.isascii():
        return form in text
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        if not (at and _in_word(text[at - 1])) and not (end < len(text) and _in_word(text[end])):
            return True
        at = text.find(form, at + 1)
    return False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _type_share(question: QuestionOfFacts, kind: str) -> float:
    terms = set(question.tokenizer.terms(relation_words(kind)))
    return len(terms & question.terms) / len(terms) if terms else 0.0


def answer_kind(question: str, answer: str, groups: frozenset[str], *, of_object: bool) -> float:
    """1 where the other end is of the kind that is asked for, -1 where of another one, 0 where nothing is known.

    `question` in lower case; `groups` of the relation, whose `of_object` the answer is.
    """
    text = entity_name(answer)
    is_time, is_number = bool(_DATE.search(text)), bool(_NUMBER.search(text))
    kinds = {object_kind(g) for g in groups} if of_object else set()
    if _TIME.search(question):
        return 1.0 if is_time or "time" in kinds else -1.0
    if _COUNT.search(question):
        return 1.0 if is_number else -1.0
    if _PLACE.search(question):
        return -1.0 if is_time or is_number else 1.0 if "place" in kinds else 0.0
    if _PERSON.search(question):
        return -1.0 if is_time or is_number else 1.0 if "person" in kinds else 0.0
    return 0.0


def _units(question: QuestionOfFacts, text: str) -> float:
    """Share of the words in brackets (units, years) that the question has."""
    terms = {t for unit in _BRACKET.findall(text) for t in question.tokenizer.terms(unit)}
    return len(terms & question.terms) / len(terms) if terms else 0.0
