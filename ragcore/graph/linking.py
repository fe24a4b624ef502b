"""Which entities a question names: exactly, nearly, under their other names, and in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragcore.graph.mentions import question_names
from ragcore.graph.triples import name_key
from ragcore.graph_port import EntityGraph
from ragcore.text.matching import FloatArray
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.types import Passage
from ragcore.types.graph import Node

MOST_WORDS = 9  # of a name in a question
MOST_CJK = 14  # characters
LEAST_ALIKE = 0.55  # trigram similarity of a name that nothing is called exactly
ALIKE_WEIGHT = 0.8
OTHER_WEIGHT = 0.9
MEANT_WEIGHT = 0.5  # of the cosine of the question and a name
LEAST_MEANT = 0.25  # cosine
MOST_MEANT = 10  # twice the passages that the graph adds at most
SURE_CJK = 3  # characters of a name that no other word is by chance
MOST_LINKED = 8  # entities of one question, without their other names
MOST_KEYS = 900

_TOKEN = re.compile(r"[^\s,;:?!\"“”()（），。？！、；：]+")
_RUN = re.compile(f"[{CJK}A-Za-z0-9·-]+")
_POSSESSIVE = re.compile(r"['’]s?$")
_HAS_CJK = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a question that may be a name, with its key."""

    start: int
    end: int
    key: str


def link_question(text: str, graph: EntityGraph, vector: FloatArray | None = None) -> dict[Node, float]:
    """Entities that a question names with their weights in (0, 1]; the longest name at each place counts.

    `vector`: float32[768] of the question. Where it writes no name of an entity, those that it means are linked, too.
    """
    weights = _named(text, graph)
    if vector is not None and not any(_is_sure(node.name) for node in weights):
        for node, cosine in graph.near(vector, least=LEAST_MEANT, limit=MOST_MEANT):
            weights.setdefault(node, MEANT_WEIGHT * cosine)
    return _with_other_names(weights, graph)


def are_apart(text: str, graph: EntityGraph, passages: Sequence[Passage]) -> bool:
    """Whether the question names several entities and none of these passages has all of them, by any of their names.

    The graph is asked about the passages only where none has the names as the question calls them.
    """
    nodes, unknown = _exactly_named(text, graph)
    if len(nodes) + len(unknown) < 2:  # one name, whatever else is called nearly so
        return False
    nodes = _with_alike(nodes, unknown, graph)
    if len(nodes) < 2 or any(_has_all(passage, nodes) for passage in passages):
        return False
    aliases = graph.other_names(list(nodes))
    ids_of_names = [{node.id, *(other.id for other in aliases.get(node.id, ()))} for node in nodes]
    inside: dict[int, set[int]] = {}
    for place in graph.inside([passage.chunk for passage in passages])[0]:
        inside.setdefault(place.chunk, set()).add(place.entity)
    return not any(all(ids & ids_here for ids in ids_of_names) for ids_here in inside.values())


def _has_all(passage: Passage, nodes: Iterable[Node]) -> bool:
    """Whether the names stand in the words of a passage, its title or its headings."""
    text = normalise_query(" ".join((passage.title, *passage.heading_path, passage.text))).lower()
    return all(node.key in text for node in nodes)


def _named(text: str, graph: EntityGraph) -> dict[Node, float]:
    return _with_alike(*_exactly_named(text, graph), graph)


def _exactly_named(text: str, graph: EntityGraph) -> tuple[dict[Node, float], list[str]]:
    """The entities that are called as the question writes them, and the keys of names that nothing is called."""
    spans = list(_spans(text))[:MOST_KEYS]
    nodes_by_key = graph.named([span.key for span in spans])
    longest = _longest([span for span in spans if span.key in nodes_by_key])
    names = [span for span in longest if _is_name(text, span)] or longest
    weights = {nodes_by_key[span.key]: 1.0 for span in names[:MOST_LINKED]}
    covered = [text[span.start : span.end].lower() for span in longest]
    return weights, [key for name in question_names(text) if not _within(key := name_key(name), covered)]


def _with_alike(exact: Mapping[Node, float], unknown: Sequence[str], graph: EntityGraph) -> dict[Node, float]:
    """Also the entities whose names are nearly those that nothing is called."""
    weights = dict(exact)
    for alike in graph.alike(list(unknown), least=LEAST_ALIKE, limit=2).values():
        for node, likeness in alike:
            weights.setdefault(node, ALIKE_WEIGHT * likeness)
    return weights


def _with_other_names(weights: Mapping[Node, float], graph: EntityGraph) -> dict[Node, float]:
    every = dict(weights)
    aliases: Mapping[int, Sequence[Node]] = graph.other_names(list(weights))
    for node, weight in weights.items():
        for other in aliases.get(node.id, ()):
            every.setdefault(other, OTHER_WEIGHT * weight)
    return every


def _within(key: str, covered: Sequence[str]) -> bool:
    return not key or any(key in text or text in key for text in covered)


def _is_name(text: str, span: Span) -> bool:
    """A single word in small letters only counts where nothing else is named."""
    words = text[span.start : span.end]
    return " " in words or not words[:1].islower() or _HAS_CJK.search(words) is not None


def _is_sure(name: str) -> bool:
    """Whether a question that has this name means what is called so: not a usual word that something is called, too."""
    if _HAS_CJK.search(name):
        return len(name) >= SURE_CJK
    return " " in name or not name.islower()


def _spans(text: str) -> Iterator[Span]:
    """Runs of words, longest first, and of characters where these are no words."""
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    for length in range(min(MOST_WORDS, len(tokens)), 0, -1):
        for at in range(len(tokens) - length + 1):
            start, end = tokens[at][0], tokens[at + length - 1][1]
            yield from _keys(text, start, end, single=length == 1)
    for run in _RUN.finditer(text):
        word = run.group()
        if not _HAS_CJK.search(word):
            continue
        for length in range(min(MOST_CJK, len(word)), 1, -1):
            for at in range(len(word) - length + 1):
                yield Span(run.start() + at, run.start() + at + length, name_key(word[at : at + length]))


def _keys(text: str, start: int, end: int, *, single: bool) -> Iterator[Span]:
    if text[end : end + 1] == ")":  # a name with its kind in brackets
        yield Span(start, end + 1, name_key(text[start : end + 1]))
    words = text[start:end].strip(".'’*_")
    for name in dict.fromkeys((words, _POSSESSIVE.sub("", words))):
        key = name_key(name)
        if single and (key in stop_words() or (len(key) < 3 and not name.isupper()) or key.isdigit()):
            continue
        if key:
            yield Span(start, end, key)


def _longest(spans: Sequence[Span]) -> list[Span]:
    """Those that stand in no longer one, in the order of the question."""
    separate: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or span.start >= other.end for other in separate):
            separate.append(span)
    return sorted(separate, key=lambda span: span.start)
