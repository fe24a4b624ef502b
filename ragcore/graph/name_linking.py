"""Which entities a question names: literally, misspelt, or in other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from ragcore.graph.path_mentions import CJK_RUN, is_filler
from ragcore.graph.relation_groups import find_chinese, groups_of
from ragcore.graph.triples import Triple, entity_name, name_key
from ragcore.ports import Embedder, FloatArray
from ragcore.text.normalise import normalise_query
from ragcore.text.spelling import LEAST_LETTERS, digits, distance, likeness
from ragcore.text.tokenise import stop_words

_LONGEST_NAME = 14  # words
_MISSPELT_WORDS = 8  # of a name that is looked up by its spelling
_MOST_UNKNOWN = 3  # words of a question that are looked up
_MEANT = 0.6  # cosine of words of the question and a name from which they mean it
_SURE_MEANT = 0.9  # from which what is known of the name is said of what the question writes
_NEAREST = 2  # names that are looked for by the vector of a run of words
_MOST_RUNS = 4  # of a question
_MOST_NAMES = 10  # names that are compared by meaning
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

_ASKS_ZH = re.compile(
    "[的是谁吗呢]|请问?|有?什么时候|什么|在?哪[里儿个位些年天]?|有?多少|有?多[长大高远重深]|怎么|如何|何时|何处|几[个人年]|有哪些|在?位于"
)
_JOINS = re.compile(r"['’]s |(?: (?:of|for|in|on|to|at|by|the|an?)){1,2} ", re.IGNORECASE)  # within one name


class GraphSource(Protocol):
    """Entities and their facts that the bound scope may see."""

    def names(self, candidates: Sequence[str]) -> set[str]:
        """Those of the keys (`name_key`) that are entities."""
        ...

    def edges(self, keys: Sequence[str]) -> list[Triple]:
        """Facts with one of these entities as subject or object, a bounded number for each entity."""
        ...


class EntityNames(GraphSource, Protocol):
    """Names that may be misspelt in a question."""

    def unknown(self, words: Sequence[str]) -> set[str]:
        """Those of the words that no fact has."""
        ...

    def alike(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """For each of the lower-case names keys of entities that are spelt alike; names without any are left out."""
        ...

    def near(self, vectors: FloatArray, *, limit: int) -> list[dict[str, float]]:
        """For each of float32[n, 768] the entities nearest to it: key -> cosine; not those that have no vector."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedEntity:
    """An entity, and which words of `readable_question` mean it; score 0 to 1."""

    key: str
    span: tuple[int, int]
    how: Literal["spelling", "meaning"]
    score: float


def find_entities(question: str, source: GraphSource) -> list[tuple[str, tuple[int, int]]]:
    """Keys of entities named in the question with their place, longest first; overlapping shorter ones are left out."""
    text = readable_question(question).lower()
    spans: dict[str, list[tuple[int, int]]] = {}
    starts = [m.start() for m in re.finditer(r"[^\W_]", text) if _starts_name(text, m.start())]
    ends = [m.end() for m in re.finditer(r"[^\W_]\W?", text)]
    words = [m.span() for m in re.finditer(r"\S+", text)]
    for at, (start, _) in enumerate(words):
        for _, end in words[at : at + _LONGEST_NAME]:
            _note(spans, text, start, end)
    if CJK_RUN.search(text):
        for start in starts:
            for end in ends:
                if 1 < end - start <= 40:
                    _note(spans, text, start, end)
    names = source.names(list(spans))
    entities: list[tuple[str, tuple[int, int]]] = []
    for key in sorted(names, key=lambda k: (-len(k), k)):
        for span in spans[key]:
            if all(span[1] <= a or span[0] >= b for _, (a, b) in entities):
                entities.append((key, span))
                break
    return entities


def _starts_name(text: str, at: int) -> bool:
    return at == 0 or bool(CJK_RUN.match(text[at])) or not text[at - 1].isalnum()


def _note(spans: dict[str, list[tuple[int, int]]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    for form in dict.fromkeys((piece, piece.strip(" ,.?!;:\"'“”‘’？。，、"), re.sub(r"['’]s$", "", piece))):
        if form:
            offset = start + piece.find(form)
            spans.setdefault(name_key(form), []).append((offset, offset + len(form)))


def readable_question(question: str) -> str:
    """The question with spaces for underscores, as names are compared."""
    return normalise_query(question.replace("_", " "))


# ── misspelt names ──────────────────────────────────────────────────────────────────────────────


def misspelt_entities(question: str, source: EntityNames) -> list[LinkedEntity]:
    """Entities whose names stand in the question with a slip of the hand, in order, without overlap.

    Only runs of words are looked up that have a word which no fact has and which names no relation.
    """
    text = readable_question(question)
    words = [(match.group(), match.span()) for match in _WORD.finditer(text)]
    unknown = _unknown_words([word for word, _ in words], source)
    spans = _spans_around(words, unknown)
    keys_alike = source.alike(sorted({text[start:end].lower() for start, end in spans}))
    linked = [
        LinkedEntity(key=key, span=(start, end), how="spelling", score=score)
        for start, end in spans
        for key in keys_alike.get(text[start:end].lower(), ())
        if (score := alike_in(text[start:end].lower(), key)) > 0
    ]
    chosen: list[LinkedEntity] = []
    for entity in sorted(linked, key=lambda e: (e.span[0] - e.span[1], -e.score, e.key)):
        if all(entity.span[1] <= other.span[0] or entity.span[0] >= other.span[1] for other in chosen):
            chosen.append(entity)
    return sorted(chosen, key=lambda e: e.span)


def corrected(question: str, linked: Sequence[LinkedEntity]) -> str:
    """The question with the names of these entities in the place of what it writes; unchanged without any."""
    text = readable_question(question)
    for entity in sorted(linked, key=lambda e: -e.span[0]):
        text = f"{text[: entity.span[0]]}{entity.key}{text[entity.span[1] :]}"
    return text if linked else question


def alike_in(text: str, key: str) -> float:
    """How likely a name was meant by what is written, 0 to 1; 0 where it cannot have been.

    Both have the same words but for slips (`ragcore.text.spelling.likeness`), or the same letters but for one or two
    where the words are parted otherwise.
    """
    ours, theirs = text.split(), key.split()
    if len(ours) != len(theirs):
        ours_joined, other = "".join(ours), "".join(theirs)
        if digits(ours_joined) != digits(other) or len(other) < 2 * LEAST_LETTERS:
            return 0.0
        edits = distance(ours_joined, other, limit=1)
        return 1 - (edits + 1) / len(other) if edits <= 1 else 0.0
    total = 0.0
    for our_word, its in zip(ours, theirs, strict=True):
        score = 1.0 if our_word == its else likeness(our_word, its)
        if not score:
            return 0.0
        total += score * len(its)
    return total / max(1, sum(map(len, theirs)))


def _unknown_words(words: Sequence[str], source: EntityNames) -> set[str]:
    candidates = [
        word
        for word in dict.fromkeys(words)
        if len(word) >= LEAST_LETTERS and not CJK_RUN.search(word) and not is_filler(word) and not groups_of(word)
    ]
    if not candidates:
        return set()
    unknown = source.unknown(candidates)
    return set([word for word in candidates if word in unknown and word.lower() not in stop_words()][:_MOST_UNKNOWN])


def _spans_around(words: Sequence[tuple[str, tuple[int, int]]], unknown: set[str]) -> list[tuple[int, int]]:
    """Runs of up to _MISSPELT_WORDS words with an unknown one; neither end is a word such as "the" or "is"."""
    spans: dict[tuple[int, int], None] = {}
    for at, (word, _) in enumerate(words):
        if word not in unknown:
            continue
        for first in range(max(0, at - _MISSPELT_WORDS + 1), at + 1):
            for last in range(at, min(len(words), first + _MISSPELT_WORDS)):
                if not is_filler(words[first][0]) and not is_filler(words[last][0]):
                    spans[words[first][1][0], words[last][1][1]] = None
    return list(spans)


# ── names in other words ────────────────────────────────────────────────────────────────────────


def entities_by_meaning(question: str, names: Sequence[str], embedder: Embedder) -> list[LinkedEntity]:
    """Of these names the one that words of the question mean, best first; [] where none is near enough.

    `names`: ends of the facts that the question has found. Compared are runs of the question's words between words
    such as "the" and "of".
    """
    text = readable_question(question)
    runs = _runs(text)
    keys = list(dict.fromkeys(name_key(name) for name in names if 1 < len(name) <= 80))[:_MOST_NAMES]
    if not runs or not keys:
        return []
    texts_of_runs = [text[start:end] for start, end in runs]
    vectors = embedder.embed_documents([*texts_of_runs, *(entity_name(key) for key in keys)])
    cosines = vectors[: len(runs)] @ vectors[len(runs) :].T
    linked = [
        LinkedEntity(key=key, span=runs[row], how="meaning", score=float(cosines[row, column]))
        for column, key in enumerate(keys)
        for row in [int(np.argmax(cosines[:, column]))]
        if cosines[row, column] >= _MEANT
    ]
    return sorted(linked, key=lambda e: (-e.score, e.key))


def entities_near(question: str, source: EntityNames, embedder: Embedder) -> list[LinkedEntity]:
    """Of all entities those that words of the question mean, each once, the surest first.

    They are looked for by the vectors that are stored of their names.
    """
    text = readable_question(question)
    runs = _runs_meant(text)
    if not runs:
        return []
    vectors = embedder.embed_documents([text[start:end].lower() for start, end in runs])
    linked: dict[str, LinkedEntity] = {}
    places = [
        LinkedEntity(key=key, span=run, how="meaning", score=near[key])
        for run, near in zip(runs, source.near(vectors, limit=_NEAREST), strict=True)
        for key in sorted(near, key=lambda key: (-near[key], key))[:1]
        if near[key] >= _MEANT and digits(key) == digits(text[run[0] : run[1]].lower())
    ]
    for entity in sorted(places, key=lambda e: (-e.score, e.key)):
        linked.setdefault(entity.key, entity)
    return list(linked.values())


def surely_meant(linked: Sequence[LinkedEntity]) -> LinkedEntity | None:
    """The entity of which an answer may speak although the question calls it otherwise; None where it is in doubt."""
    return next((entity for entity in linked if entity.how == "meaning" and entity.score >= _SURE_MEANT), None)


def _runs_meant(text: str) -> list[tuple[int, int]]:
    """Places of what may be a name in other words: runs of words, and two of them with "of" or "for" between.

    A word that names a relation belongs to one ("power" to "amplifier of power") and is none alone.
    """
    wide = sorted(_runs(text, with_relations=True))
    joined = [(a[0], b[1]) for a, b in pairwise(wide) if _JOINS.fullmatch(text[a[1] : b[0]])]
    runs = dict.fromkeys([*_runs(text), *joined, *(run for run in wide if not _is_relation(text[run[0] : run[1]]))])
    return sorted(runs, key=lambda run: run[0] - run[1])[:_MOST_RUNS]


def _is_relation(run: str) -> bool:
    """Whether a run is one word, or a Chinese one, that names relations."""
    return (
        " " not in run
        and (run.isascii() or any(m.end - m.start == len(run) for m in find_chinese(run)))
        and bool(groups_of(run))
    )


def _runs(text: str, *, with_relations: bool = False) -> list[tuple[int, int]]:
    """Places of the longest runs of words that are no fillers, and no names of relations, the longest four."""
    runs: list[tuple[int, int]] = []
    open_run: tuple[int, int] | None = None
    for match in _WORD.finditer(text):
        if CJK_RUN.search(match.group()):
            open_run = None
            runs += _chinese_runs(match.group(), match.start(), with_relations=with_relations)
            continue
        if is_filler(match.group()) or (groups_of(match.group()) and not with_relations):
            open_run = None
            continue
        if open_run is not None and text[open_run[1] : match.start()].isspace():
            runs.pop()
            open_run = (open_run[0], match.end())
        else:
            open_run = match.span()
        runs.append(open_run)
    return sorted(runs, key=lambda run: run[0] - run[1])[:4]


def _chinese_runs(text: str, start: int, *, with_relations: bool) -> list[tuple[int, int]]:
    """What is left of a text without spaces between the words that ask, and those that name relations."""
    cuts = [match.span() for match in _ASKS_ZH.finditer(text)]
    if not with_relations:
        cuts += [(match.start, match.end) for match in find_chinese(text)]
    runs, at = [], 0
    for begin, end in sorted([*cuts, (len(text), len(text))]):
        if begin - at > 1:
            runs.append((start + at, start + begin))
        at = max(at, end)
    return runs
