"""A fact as subject, relation and object, and its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK
from ragcore.types import Language

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_IRI_TAIL = re.compile(r"^(?:https?|urn|ftp):.*[/#:](?=[^/#:]+$)")
_SEPARATOR = re.compile(r"[_\s]+")
_BRACKET = re.compile(r"\s{0,9}[(（][^()（）]*[)）]\s*$")
_HAS_CJK = re.compile(f"[{CJK}]")
_ALL_NAMES = 65_536  # names whose text a process keeps

_VERBS = (
    "contains|causes|requires|uses|owns|tests|supports|includes|means|connects|needs|serves|plays|describes|defines|"
    "implements|extends|improves|replaces|produces|provides|controls|sends|receives|follows|precedes|depends"
)
_VERB = re.compile(rf"(?:is|are|was|were|has|have|had|can|does) \w|(?:{_VERBS})\b")
_PARTICIPLE = re.compile(r"(?:\w+ed|made|built|born|written|known|held|found) (?:by|in|at|on|to|for|from|with|of|as)\b")
_VERB_ZH = re.compile("是|位于|属于|包含|包括|导致|引起|需要|使用|拥有|测试|支持|意为|由|与|基于|改进|实现|扩展")


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """One fact. Types are names of kinds of things, "" where nothing is known."""

    subject: str
    relation: str
    object: str
    subject_type: str = ""
    object_type: str = ""

    @property
    def text(self) -> str:
        """The fact in words, as it is embedded and searched."""
        return verbalise(self)


@lru_cache(maxsize=_ALL_NAMES)
def readable(name: str) -> str:
    """A name in words: the last part of an IRI, without underscores; `birthPlace` becomes `birth place`."""
    text = _SEPARATOR.sub(" ", _IRI_TAIL.sub("", normalise_query(name))).strip()
    return text if " " in text else _CAMEL.sub(" ", text)


@lru_cache(maxsize=_ALL_NAMES)
def relation_words(relation: str) -> str:
    """A relation's name in lower-case words: `isPartOfMilitaryConflict` becomes `is part of military conflict`."""
    return " ".join(_CAMEL.sub(" ", part) for part in readable(relation).split()).lower()


@lru_cache(maxsize=_ALL_NAMES)
def entity_name(name: str) -> str:
    """How an entity is called in a sentence: its words without underscores; case is kept."""
    return _SEPARATOR.sub(" ", _IRI_TAIL.sub("", normalise_query(name))).strip()


def short_name(name: str) -> str:
    """The name without a bracket at its end: `Fargo (film)` becomes `Fargo`."""
    return _BRACKET.sub("", entity_name(name)) or entity_name(name)


def name_key(name: str) -> str:
    """What makes two spellings one name: lower case, NFKC, one space between words."""
    return entity_name(name).lower()


def verbalise(triple: Triple) -> str:
    """The fact as one line of text for searching."""
    return f"{entity_name(triple.subject)} {relation_words(triple.relation)} {entity_name(triple.object)}"


def sentence(triple: Triple, language: Language = "en") -> str:
    """The fact as a sentence for readers and prompts, in the language of the question.

    A relation that begins with a verb stands between its ends; any other is a property of the subject.
    """
    subject, words, object_ = entity_name(triple.subject), relation_words(triple.relation), entity_name(triple.object)
    chinese = language == "zh" or (_HAS_CJK.search(words) is not None and language != "en")
    if chinese:
        return f"{subject}{words}{object_}。" if _VERB_ZH.match(words) else f"{subject}的{words}是{object_}。"
    if _VERB.match(words):
        return f"{subject} {words} {object_}."
    if _PARTICIPLE.match(words):
        return f"{subject} is {words} {object_}."
    return f"The {words} of {subject} is {object_}."
