"""Questions made of sentences that people wrote for one triple each, with one part masked.

The recipe: of every text set of one triple the first text is taken. Where the subject's (object's) name stands in it
literally, case aside, the name is replaced with its article by "what" (by "who" never: the mask says nothing of its
kind), the sentence ends with a question mark, and its first letter is made large: a question for the subject (object).
Where both names stand in it, "What is the relationship between A and B?" asks for the relation. Relevant are all
triples of the collection that agree in the parts that are not masked. "What type of entity is A?" asks for the type
and is only classified.

Which kind the question is, is the place of the mask: in front of the other end it asks for a subject, behind it for an
object, whatever side of the stored triple the name is on ("Who is the leader of Belgium?" asks for a subject).
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragcore.graph.triples import Triple, entity_name, name_key
from ragcore.types.answering import FactTarget

_ARTICLE = re.compile(r"\b(?:the|an?) $", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedQuestion:
    """A question, which part of its triple was masked, the kind it has, and places of the relevant triples."""

    text: str
    masked: str  # subject, object, relation or type
    kind: FactTarget
    relevant: frozenset[int]
    group: str  # what is left out together when weights are learned


def load(folder: Path) -> tuple[list[Triple], list[MaskedQuestion]]:
    """Triples and questions of a folder with triples.jsonl and texts.jsonl."""
    rows = _rows(folder / "triples.jsonl")
    triples = [Triple(subject=r["subject"], relation=r["relation"], object=r["object"]) for r in rows]
    places = {row["id"]: number for number, row in enumerate(rows)}
    questions: list[MaskedQuestion] = []
    for row in _rows(folder / "texts.jsonl"):
        if row["size"] == 1 and row["triple_ids"][0] in places and row["texts"]:
            questions += _questions(row["texts"][0], triples, places[row["triple_ids"][0]])
    return triples, questions


def is_held_out(question: MaskedQuestion) -> bool:
    """Half of the questions, by their subject, so that no fact of it was seen in learning."""
    return zlib.crc32(question.group.encode()) % 2 == 1


def _questions(text: str, triples: list[Triple], number: int) -> Iterator[MaskedQuestion]:
    triple = triples[number]
    group = name_key(triple.subject)
    subject, object_ = _find(triple.subject, text), _find(triple.object, text)
    same_end = {
        "subject": lambda t: (t.relation, name_key(t.object)) == (triple.relation, name_key(triple.object)),
        "object": lambda t: (t.relation, name_key(t.subject)) == (triple.relation, name_key(triple.subject)),
        "relation": lambda t: (
            (name_key(t.subject), name_key(t.object)) == (name_key(triple.subject), name_key(triple.object))
        ),
    }
    for masked, span in (("subject", subject), ("object", object_)):
        if span is not None:
            yield MaskedQuestion(
                text=_masked(text, span),
                masked=masked,
                kind="subject" if not _ARTICLE.sub("", text[: span[0]]).strip() else "object",
                relevant=_relevant(triples, same_end[masked]),
                group=group,
            )
    if subject and object_:
        yield MaskedQuestion(
            text=f"What is the relationship between {entity_name(triple.subject)} and {entity_name(triple.object)}?",
            masked="relation",
            kind="relationship",
            relevant=_relevant(triples, same_end["relation"]),
            group=group,
        )
    yield MaskedQuestion(
        text=f"What type of entity is {entity_name(triple.subject)}?",
        masked="type",
        kind="type",
        relevant=frozenset(),
        group=group,
    )


def _relevant(triples: list[Triple], fits: object) -> frozenset[int]:
    return frozenset(n for n, t in enumerate(triples) if fits(t))  # type: ignore[operator]


def _find(name: str, text: str) -> tuple[int, int] | None:
    match = re.search(rf"(?<!\w){re.escape(entity_name(name))}(?!\w)", text, re.IGNORECASE)
    return match.span() if match else None


def _masked(text: str, span: tuple[int, int]) -> str:
    before = _ARTICLE.sub("", text[: span[0]])
    question = f"{before}what{text[span[1] :]}".strip().rstrip(".!?") + "?"
    return question[0].upper() + question[1:]


def _rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
