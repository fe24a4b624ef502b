"""Facts that a language model reads in a passage, each with the words that say it.

A model may invent. A fact is kept only if its quotation stands in the passage letter by letter (spaces, case and width
aside), both of its ends stand in the passage, too, one of them in the quotation, and nothing there is denied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from ragcore.graph.extraction import ExtractedFact, cue_relations
from ragcore.graph.triples import Triple
from ragcore.llm.client import LlmClient
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of

MODEL_RULES = "model-1"  # stored with what was read; another prompt reads again
MOST_FACTS = 12  # of a passage
MOST_CHARACTERS = 6000  # of a passage that the model is given
MAX_TOKENS = 1200
LEAST_QUOTE = 8  # characters
LEAST_SURE = 0.5
_MOST_END = 120  # characters of a subject or object
_MOST_SURE = 0.9  # no model is surer than a table is
_DENIED = re.compile(
    r"\b(?:not|no longer|never|neither|nor|without|cannot)\b|n't\b|不|未|没有|无法|无需|并非", re.IGNORECASE
)


@validated(frozen=True, slots=True, kw_only=True)
class _Fact:
    subject: Annotated[str, Field(min_length=1, max_length=_MOST_END)]
    relation: Annotated[str, Field(min_length=1, max_length=60)]
    object: Annotated[str, Field(min_length=1, max_length=_MOST_END)]
    quote: Annotated[str, Field(min_length=1, max_length=600)]
    sure: Annotated[float, Field(ge=0, le=1)] = 0.7


@validated(frozen=True, slots=True, kw_only=True)
class _Reply:
    facts: Annotated[list[_Fact], Field(max_length=4 * MOST_FACTS)]


async def extract_by_model(
    text: str, *, title: str = "", heading_path: Sequence[str] = (), llm: LlmClient
) -> list[ExtractedFact] | None:
    """Facts of a passage that the model has quoted, in its order, at most MOST_FACTS.

    None where it did not answer, or not in the shape that it was asked for.
    """
    passage = text[:MOST_CHARACTERS]
    is_chinese = language_of(passage) == "zh"
    reply = await llm.json(
        "extract_facts",
        _Reply,
        max_tokens=MAX_TOKENS,
        title=" – ".join([title, *heading_path]),
        passage=passage,
        relations=", ".join(cue_relations(chinese=is_chinese)),
        language="Chinese" if is_chinese else "English",
        most=str(MOST_FACTS),
    )
    if reply is None:
        return None
    facts: dict[tuple[str, str, str], ExtractedFact] = {}
    for fact in reply.facts:
        if (
            proven_fact := proven(fact.subject, fact.relation, fact.object, fact.quote, fact.sure, passage)
        ) is not None:
            triple = proven_fact.triple
            facts.setdefault((triple.subject.lower(), triple.relation.lower(), triple.object.lower()), proven_fact)
    return list(facts.values())[:MOST_FACTS]


def proven(subject: str, relation: str, object_: str, quote: str, sure: float, passage: str) -> ExtractedFact | None:
    """The fact, None where the passage does not have its quotation and its ends."""
    subject, relation, object_, quote = (" ".join(part.split()) for part in (subject, relation, object_, quote))
    whole, quoted = _plain(passage), _plain(quote)
    ends = [_plain(subject), _plain(object_)]
    if not all(ends) or not relation or ends[0] == ends[1] or sure < LEAST_SURE:
        return None
    if len(quoted) < LEAST_QUOTE or quoted not in whole:
        return None
    if bool(_DENIED.search(quoted)) != bool(_DENIED.search(_plain(relation))):  # "is not part of" is no "part of"
        return None
    if not all(end in whole for end in ends) or not any(end in quoted for end in ends):
        return None
    triple = Triple(subject=subject, relation=relation, object=object_)
    return ExtractedFact(triple=triple, sentence=quote, rule="model", confidence=round(min(sure, _MOST_SURE), 2))


def _plain(text: str) -> str:
    """Without differences of spaces, case and width."""
    return " ".join(normalise_query(text).lower().split())
