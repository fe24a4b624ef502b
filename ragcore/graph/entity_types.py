"""Of which type an entity is, and how sure that it is one: by cue words, which are data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import read_sections

MANY = 5  # mentions from which an entity is sure
LONG = 3  # words of a name that is sure
_WORD = re.compile(r"[^\W\d_]+(?:\d+)?")
_APPOSITION = 5  # words beside the name in which a cue tells of it


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """`name`: a section of `entity_types.txt`, "" without any cue word. `cue_share`: 0 to 1, see `entity_type`."""

    name: str = ""
    cue_share: float = 0.0


def entity_type(name: str, sentences: Sequence[str] = ()) -> EntityType:
    """The type whose cue words the name has, else that most sentences tell beside the name.

    `cue_share`: 1 where the name has the cue itself, else the share of the sentences that have one of the type.
    """
    plain = normalise_query(name).lower()
    for kind in _cues():
        if _has_cue(plain, kind):
            return EntityType(name=kind, cue_share=1.0)
    beside = [_beside(plain, normalise_query(sentence).lower()) for sentence in sentences]
    counts = {kind: sum(_has_cue(text, kind) for text in beside) for kind in _cues()}
    best = max(counts, key=lambda kind: counts[kind])
    return EntityType(name=best, cue_share=counts[best] / len(beside)) if counts[best] else EntityType()


def entity_confidence(name: str, *, count: int, cue_share: float) -> float:
    """0 to 1: half by mentions, up to five, three tenths by words of the name, up to three, two tenths by cue words."""
    words = len(name.split()) if name.isascii() else len(name) / 2
    return round(0.5 * min(count / MANY, 1) + 0.3 * min(words / LONG, 1) + 0.2 * cue_share, 2)


def entity_type_names() -> tuple[str, ...]:
    """All types, in the order in which they are taken."""
    return tuple(_cues())


@cache
def _cues() -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Type -> English words and phrases, and Chinese ones."""
    return {
        kind: (frozenset(e for e in entries if e.isascii()), tuple(e for e in entries if not e.isascii()))
        for kind, entries in read_sections("ragcore.graph", "entity_types.txt").items()
    }


def _has_cue(text: str, kind: str) -> bool:
    english, chinese = _cues()[kind]
    words = _WORD.findall(text)
    pairs = {" ".join(pair) for pair in zip(words, words[1:], strict=False)}
    return bool(english & {*words, *pairs}) or any(cue in text for cue in chinese)


def _beside(name: str, sentence: str) -> str:
    """The words around the name; "" where the sentence does not have it."""
    at = sentence.find(name)
    if at < 0:
        return ""
    before, after = sentence[:at].split()[-_APPOSITION:], sentence[at + len(name) :].split()[:_APPOSITION]
    return " ".join([*before, "|", *after])
