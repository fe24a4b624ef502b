"""Sentences of passages as stand-in questions, to measure models without users' questions.

A sentence should be near to its own passage and find it among others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from ragcore.embedding.cosine_scale import Ints
from ragcore.ports import FloatArray

COMPARED = 3_000  # passages on which cosines are compared
QUESTIONS = 150  # sentences of these passages that stand for questions
FOUND = 10  # passages among which a sentence should find its own
SENTENCE = (8, 90)  # characters of such a sentence
_ENDS = re.compile(r"[.!?。！？\n]+")


def questions_of(texts: Iterable[str]) -> list[tuple[int, str]]:
    """The place of a passage with a sentence of it, of the first QUESTIONS passages that have one."""
    return [(place, text) for place, text in enumerate(map(sentence_of, texts)) if text][:QUESTIONS]


def sentence_of(text: str) -> str:
    """The sentence in the middle of a passage, cut to the length of a question; "" where there is none."""
    sentences = [part.strip() for part in _ENDS.split(text) if len(part.strip()) >= SENTENCE[0]]
    return sentences[len(sentences) // 2][: SENTENCE[1]] if sentences else ""


def near_and_far(cosines: FloatArray, places: Ints) -> FloatArray:
    """float[q, 2]: the cosine of each question's own passage at `places`, and the best one of all others."""
    rows = np.arange(len(places))
    near = cosines[rows, places]
    rest = cosines.copy()
    rest[rows, places] = -1.0
    return np.column_stack([near, rest.max(axis=1)])


def found_share(cosines: FloatArray, places: Ints) -> float:
    """Share of questions, rows of float[q, n], whose own passage, at `places`, is among the FOUND nearest."""
    near = cosines[np.arange(len(places)), places]
    return float(np.mean((cosines > near[:, None]).sum(axis=1) < FOUND))
