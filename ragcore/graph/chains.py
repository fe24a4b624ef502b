"""Triples as a chain of reasons and knowledge for the prompt and the reader (CoTKR), and the answer in it.

Reason 1 says what is asked, Knowledge 1 the facts about it, Reason 2 which relations or types matter, Knowledge 2 the
facts that have them, Reason 3 the conclusion. With a language model the reasons are its own; knowledge is always
written from the facts themselves, so that no model can add one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from ragcore.graph.relation_groups import groups_of
from ragcore.graph.retrieval import ScoredTriple
from ragcore.graph.triples import Triple, entity_name, name_key, relation_words, sentence
from ragcore.llm.client import LlmClient
from ragcore.text.fact_question import KindOfQuestion
from ragcore.text.normalise import normalise_query
from ragcore.types import Language
from ragcore.types.answering import FactTarget

StepName = Literal["reason_1", "knowledge_1", "reason_2", "knowledge_2", "reason_3"]
STEPS: tuple[StepName, ...] = ("reason_1", "knowledge_1", "reason_2", "knowledge_2", "reason_3")
_TITLES = {
    "en": ("Reason 1", "Knowledge 1", "Reason 2", "Knowledge 2", "Reason 3"),
    "zh": ("推理 1", "知识 1", "推理 2", "知识 2", "推理 3"),
}
_IS_A = frozenset({"category", "genus"})
_MOST_ANSWERS = 5

_ASKED_EN = {
    "subject": "The question asks which entity fits what is said of {names}.",
    "object": "The question asks for a property of {names}.",
    "relationship": "The question asks how {names} are related.",
    "type": "The question asks what type of entity {names} is.",
}
_ASKED_ZH = {
    "subject": "问题询问哪个实体符合关于“{names}”的描述。",
    "object": "问题询问“{names}”的一项属性。",
    "relationship": "问题询问“{names}”之间的关系。",
    "type": "问题询问“{names}”属于哪种类型的实体。",
}
_KINDS = {
    "subject": "the entity that fits a description", "object": "a property of an entity",
    "relationship": "the relationship between entities", "type": "the type of an entity",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """One step, with the title that readers see."""

    name: StepName
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChain:
    """The steps in order and the answers, best first; () where no fact holds one. `by`: who wrote the reasons."""

    steps: tuple[ChainStep, ...]
    answers: tuple[str, ...]
    by: Literal["rules", "model"] = "rules"

    @property
    def text(self) -> str:
        """The chain as lines for a prompt."""
        return "\n".join(f"{step.title}: {step.text}" for step in self.steps)


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def extract_answers(question: str, kind: KindOfQuestion, triples: Sequence[ScoredTriple]) -> tuple[str, ...]:
    """Answers in the retrieved triples, best first: the ends, the relation or the type that is asked for.

    The first triple decides; others answer, too, where they agree with it in everything but what is asked for.
    """
    if not triples:
        return ()
    first = triples[0].triple
    if kind.kind == "relationship":
        both = [t.triple for t in triples if _named(t.triple.subject, question) and _named(t.triple.object, question)]
        answers = [relation_words(t.relation) for t in both]
    elif kind.kind == "type":
        triples_with_name = [
            t.triple for t in triples if _named(t.triple.subject, question) or _named(t.triple.object, question)
        ]
        answers = [answer for triple in triples_with_name or [first] if (answer := _type_in(question, triple))]
    else:
        known_is_subject = _known_end(question, first) == "subject"
        answers = []
        for triple in (t.triple for t in triples):
            known_name, other = (triple.subject, triple.object) if known_is_subject else (triple.object, triple.subject)
            of_first = first.subject if known_is_subject else first.object
            if triple.relation == first.relation and name_key(known_name) == name_key(of_first):
                answers.append(entity_name(other))
    return tuple(dict.fromkeys(answers))[:_MOST_ANSWERS]


def _known_end(question: str, triple: Triple) -> Literal["subject", "object"]:
    """The end that the question names; where it names both or none, the subject."""
    return "object" if _overlap(triple.object, question) > _overlap(triple.subject, question) else "subject"


def _overlap(name: str, question: str) -> float:
    if _named(name, question):
        return 1.0 + len(name) / 1000  # the longer of two names that both stand there
    words = name_key(name).split()
    plain = normalise_query(question).lower()
    return sum(word in plain for word in words) / len(words) if words else 0.0


def _named(name: str, question: str) -> bool:
    return name_key(name) in normalise_query(question).lower()


def _type_in(question: str, triple: Triple) -> str:
    """The type of the named end, or the object of a relation that says a category."""
    end = _known_end(question, triple)
    if kind := triple.subject_type if end == "subject" else triple.object_type:
        return relation_words(kind)
    is_a = groups_of(relation_words(triple.relation)) & _IS_A or relation_words(triple.relation) in (
        "type",
        "is a",
        "instance of",
    )
    return entity_name(triple.object) if end == "subject" and is_a else ""


# ── the chain ───────────────────────────────────────────────────────────────────────────────────


def chain_by_rules(
    question: str, kind: KindOfQuestion, triples: Sequence[ScoredTriple], *, language: Language
) -> FactChain:
    """The chain without a language model; () without triples."""
    if not triples:
        return FactChain(steps=(), answers=())
    answers = extract_answers(question, kind, triples)
    first = triples[0].triple
    triples = [t for t in triples if _is_about(t.triple, question, first)]
    zh = language == "zh"
    matter = [t.triple for t in triples if _matters(kind.kind, t.triple, first, answers)] or [first]
    return FactChain(
        steps=_steps(
            language,
            (
                _reason_1(kind.kind, _names(question, first), zh),
                _facts([t.triple for t in triples], language),
                _reason_2(kind.kind, first, zh),
                _facts(matter, language),
                _reason_3(kind.kind, answers, zh),
            ),
        ),
        answers=answers,
    )


def _is_about(triple: Triple, question: str, first: Triple) -> bool:
    """The fact has a name of the question, or an end of the best fact."""
    ends = {name_key(first.subject), name_key(first.object)}
    return any(name_key(n) in ends or _named(n, question) for n in (triple.subject, triple.object))


def _steps(language: Language, texts: Sequence[str]) -> tuple[ChainStep, ...]:
    titles = _TITLES["zh" if language == "zh" else "en"]
    return tuple(ChainStep(name=n, title=t, text=s) for n, t, s in zip(STEPS, titles, texts, strict=True))


def _names(question: str, triple: Triple) -> str:
    known_names = [entity_name(n) for n in (triple.subject, triple.object) if _named(n, question)]
    return ", ".join(known_names) or entity_name(
        triple.subject if _known_end(question, triple) == "subject" else triple.object
    )


def _matters(kind: FactTarget, triple: Triple, first: Triple, answers: Sequence[str]) -> bool:
    if kind == "relationship":
        return relation_words(triple.relation) in answers
    if kind == "type":
        return bool(triple.subject_type or triple.object_type) or entity_name(triple.object) in answers
    return triple.relation == first.relation


def _reason_1(kind: FactTarget, names: str, zh: bool) -> str:
    return (_ASKED_ZH if zh else _ASKED_EN)[kind].format(names=names)


def _reason_2(kind: FactTarget, first: Triple, zh: bool) -> str:
    if kind == "type":
        return "回答取决于实体的类型信息。" if zh else "What matters is the type of the entity."
    if kind == "relationship":
        return "回答取决于同时包含双方的关系。" if zh else "What matters are relations that have both ends."
    words = relation_words(first.relation)
    return f"关键关系是“{words}”。" if zh else f"The relation that matters is “{words}”."


def _reason_3(kind: FactTarget, answers: Sequence[str], zh: bool) -> str:
    if not answers:
        return "已检索到的事实不足以回答该问题。" if zh else "The retrieved facts do not hold the answer."
    answer_text = ("、" if zh else ", ").join(answers)
    return f"因此答案是：{answer_text}。" if zh else f"Therefore the answer is: {answer_text}."


def _facts(triples: Sequence[Triple], language: Language) -> str:
    lines = dict.fromkeys(sentence(triple, language) for triple in triples)
    return ("" if language == "zh" else " ").join(lines)


# ── with a language model ───────────────────────────────────────────────────────────────────────


@validated(frozen=True, slots=True, kw_only=True)
class _Written:
    reason_1: Annotated[str, Field(min_length=1, max_length=500)]
    knowledge_1: Annotated[list[int], Field(max_length=50)]
    reason_2: Annotated[str, Field(min_length=1, max_length=500)]
    knowledge_2: Annotated[list[int], Field(max_length=50)]
    reason_3: Annotated[str, Field(min_length=1, max_length=500)]
    answer: Annotated[str, Field(max_length=500)] = ""


async def chain_by_model(
    question: str, kind: KindOfQuestion, triples: Sequence[ScoredTriple], *, language: Language, llm: LlmClient
) -> FactChain:
    """The chain with the model's reasons; by rules where it fails, names no fact, or answers what no fact has."""
    by_rules = chain_by_rules(question, kind, triples, language=language)
    if not triples:
        return by_rules
    facts = [t.triple for t in triples]
    reply = await llm.json(
        "triple_chain", _Written, max_tokens=600, question=question, kind=_KINDS[kind.kind],
        facts="\n".join(f"{n}. {sentence(t, language)}" for n, t in enumerate(facts, start=1)),
        language="Chinese" if language == "zh" else "English",
    )  # fmt: skip
    if reply is None:
        return by_rules
    first, second = (_numbered(facts, numbers) for numbers in (reply.knowledge_1, reply.knowledge_2))
    if not first or not second or (reply.answer and not _in_facts(reply.answer, facts)):
        return by_rules
    texts = (reply.reason_1, _facts(first, language), reply.reason_2, _facts(second, language), reply.reason_3)
    answers = (reply.answer,) if reply.answer else ()
    return FactChain(steps=_steps(language, texts), answers=answers, by="model")


def _numbered(facts: Sequence[Triple], numbers: Sequence[int]) -> list[Triple]:
    return [facts[n - 1] for n in dict.fromkeys(numbers) if 1 <= n <= len(facts)]


def _in_facts(answer: str, facts: Sequence[Triple]) -> bool:
    key = name_key(answer)
    parts = (p for t in facts for p in (t.subject, t.object, relation_words(t.relation), t.subject_type, t.object_type))
    return any(key == name_key(part) or key == relation_words(part) for part in parts if part)
