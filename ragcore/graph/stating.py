"""Which retrieved facts state the answer to a question.

Facts are retrieved for every question, and most of them only resemble it. One states the answer if nothing of the
question is left open: the question names one end of it, its other words say the relation, and the answer is of the kind
that the question word asks for. What a fact leaves open ("in 1990", "in FR2", "why") it does not answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.graph.features import answer_kind, stands_whole
from ragcore.graph.relation_groups import Phrase, groups_of, is_head, object_kind, phrases_of
from ragcore.graph.retrieval import ScoredTriple
from ragcore.graph.triples import Triple, entity_name, relation_words, sentence, short_name
from ragcore.ports import Tokenizer
from ragcore.text.fact_question import KindOfQuestion
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import stem, stop_words
from ragcore.text.word_lists import read_section
from ragcore.types import Language

MOST_STATED = 5  # facts that answer together: several leaders, or what two imports say differently
SURE_TYPE = 0.8  # from which a type is asked for; "What is X?" wants more than that X is a device
COMMON_LETTERS = 4  # from which two forms are one word: "leads", "leader"
ASKED_BY_WORD = frozenset({"time", "place", "number"})  # "when", "where", "how many" leave no doubt what is asked for
_LEAVES_OPEN = re.compile(
    r"\b(?:why|not|never|without|except|besides|instead|if|and|or|than)\b|n't\b|为什么|為什麼|为何|为啥|[不没沒未]|除了|以外|"
    r"如果|还是|怎么|如何|怎样|[和与]",
    re.IGNORECASE,
)
_HOW = re.compile(r"\bhow\b(?! (?:many|much|long|high|tall|far|deep|wide|heavy|fast|big|large|old)\b)", re.IGNORECASE)
_YES_OR_NO = re.compile(r"^(?:is|are|was|were|do|does|did|has|have|can)\b|吗[?？]?$|是否|是不是", re.IGNORECASE)


@cache
def _words(section: str) -> frozenset[str]:
    return frozenset(read_section("ragcore.graph", "stating_words.txt", section))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact that states an answer. `text`: as a sentence in the language of the question."""

    id: int
    triple: Triple
    answer: str
    text: str


def facts_stating(
    question: str,
    kind: KindOfQuestion,
    triples: Sequence[ScoredTriple],
    *,
    tokenizer: Tokenizer,
    language: Language | None = None,
) -> tuple[StatedFact, ...]:
    """Facts that answer the whole question, best first; () where none does. What facts say differently is all there."""
    plain = normalise_query(question)
    if _YES_OR_NO.search(plain) or (kind.kind != "relationship" and _HOW.search(plain)):
        return ()
    reading, language = _Reading(plain.lower(), kind, tokenizer), language or language_of(plain)
    stated: dict[str, StatedFact] = {}
    for scored in triples:
        if (answer := reading.answer_in(scored.triple)) is not None:
            text = reading.statement(scored.triple, answer, language)
            stated.setdefault(text.lower(), StatedFact(id=scored.id, triple=scored.triple, answer=answer, text=text))
    return tuple(stated.values())[:MOST_STATED]


class _Reading:
    """A question, in lower case, that facts are held against."""

    def __init__(self, text: str, kind: KindOfQuestion, tokenizer: Tokenizer) -> None:
        self.text = text
        self.kind = kind.kind
        self.wants_type = kind.kind == "type" and kind.confidence >= SURE_TYPE
        self.tokenizer = tokenizer

    def answer_in(self, triple: Triple) -> str | None:
        """The answer that a fact states; None where it states none."""
        subject, object_ = self._form(triple.subject), self._form(triple.object)
        if self.kind == "relationship":
            both = subject and object_ and self._is_explained(self._without(subject, object_), ())
            return relation_words(triple.relation) if both else None
        if bool(subject) == bool(object_):
            return None  # both ends are named, or none
        known_type = (triple.subject_type if subject else triple.object_type) if self.wants_type else ""
        rest = self._without(subject or object_)
        if self.kind == "type" or (subject and relation_words(triple.relation) in _words("is a")):
            return self._type_in(triple, known_type, rest, of_subject=bool(subject))
        return self._other_end(triple, rest, of_object=bool(subject))

    def statement(self, triple: Triple, answer: str, language: Language) -> str:
        """The fact as a sentence; of a type that is no relation of its own, a sentence that says it."""
        if self.kind != "type" or relation_words(triple.relation) in _words("is a"):
            return sentence(triple, language)
        name = entity_name(triple.subject if self._form(triple.subject) else triple.object)
        return f"{name}的类型是{answer}。" if language == "zh" else f"The type of {name} is {answer}."

    def _type_in(self, triple: Triple, known_type: str, rest: str, *, of_subject: bool) -> str | None:
        is_a = of_subject and relation_words(triple.relation) in _words("is a")
        if not (is_a or known_type) or not self._is_explained(rest, ()):
            return None
        return entity_name(triple.object) if is_a else relation_words(known_type)

    def _other_end(self, triple: Triple, rest: str, *, of_object: bool) -> str | None:
        relation = relation_words(triple.relation)
        answer = triple.object if of_object else triple.subject
        types = (triple.subject_type, triple.object_type)
        groups = groups_of(relation)
        fit = answer_kind(self.text, answer, groups, of_object=of_object)
        relation_phrases = set(phrases_of(relation))
        matching = [phrase for phrase in phrases_of(rest) if _is_asked(phrase, relation_phrases, groups, fits=fit > 0)]
        if not relation.isascii() and relation in rest:
            matching.append(Phrase((relation,)))
        if not matching or fit < 0 or _LEAVES_OPEN.search(rest):
            return None
        explained = (*matching, *(Phrase((stem(word),)) for name in types for word in relation_words(name).split()))
        return entity_name(answer) if self._is_explained(rest, explained) else None

    def _form(self, name: str) -> str:
        """How the question writes a name; "" where it does not. A letter or a number alone is no name."""
        forms = dict.fromkeys((entity_name(name).lower(), short_name(name).lower()))
        return next(
            (form for form in forms if len(form) > 1 and not form.isdigit() and stands_whole(form, self.text)), ""
        )

    def _without(self, *forms: str) -> str:
        text = self.text
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, " | ")
        return text

    def _is_explained(self, rest: str, phrases: Sequence[Phrase]) -> bool:
        """Whether nothing stands in the rest of the question that is neither said by phrases nor how is asked."""
        words = {word for phrase in phrases for word in phrase.words}
        for word in sorted((word for word in words if not word.isascii()), key=len, reverse=True):
            rest = rest.replace(word, " ")
        usual = (
            stop_words()
            | _words("question")
            | (_words(self.kind) if self.kind in ("relationship", "type") else frozenset())
        )
        usual_stems = {stem(word) for word in usual if word.isascii()}
        rest_words = (w for w in self.tokenizer.words(rest) if any(c.isalnum() for c in w))
        return all(word in usual or word in words or stem(word) in words | usual_stems for word in rest_words)


def _is_asked(phrase: Phrase, relation: set[Phrase], groups: frozenset[str], *, fits: bool) -> bool:
    """Whether words of the question say the relation: the same ones, or others of one meaning.

    A king and a mayor are both leaders and not the same: of two words one must say the relation in general, or the
    answer must be of the kind that is asked for by a word such as "when".
    """
    if all(word in stop_words() or word in _words("question") for word in phrase.words):
        return False
    for other in relation:
        if _are_forms(phrase.words, other.words):
            return True
        for group in phrase.groups & other.groups & groups:
            if is_head(group, phrase.words) or is_head(group, other.words):
                return True
            if fits and object_kind(group) in ASKED_BY_WORD:
                return True
    return False


def _are_forms(words: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether phrases have a word in common, or forms of one."""
    pairs = ((word, other) for word in words for other in second if word not in stop_words())
    return any(word == other or _have_one_beginning(word, other) for word, other in pairs)


def _have_one_beginning(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return short.isascii() and len(short) >= COMMON_LETTERS and long.startswith(short)
