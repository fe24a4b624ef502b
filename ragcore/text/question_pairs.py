"""Pairs of a question and the passages that answer it: which of them are worth training with.

Made pairs have faults that teach the wrong thing: broken characters, one question many times over, and questions that
mean nothing without the text they were asked about ("What does this article say?").
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragcore.text.near_duplicates import bands, similarity, sketch
from ragcore.text.normalise import normalise_query

Origin = Literal["golden", "vote", "citation", "question", "summary", "heading", "title"]
MADE: tuple[Origin, ...] = ("question", "summary", "heading", "title")  # nobody has asked them
SHORTEST, LONGEST = 2, 400  # characters of a question
LEAST_LETTERS = 0.5  # share of letters and digits among what is not a space
SAME_QUESTION = 0.8  # estimated Jaccard index of shingles
LENGTH_GROUPS = 4  # quarters of passages by length

# Words that point at a text at hand. "this" alone stands in good questions, too ("this year"): only what points at a
# text counts, or a question that begins with it.
_POINTS_AT_TEXT = re.compile(
    r"本文|文中|文章|上文|下文|上述|该文|此文|原文|这篇|这段|那篇|那段|这份|那份|本段|本节|该段|该节|以上内容|以下内容"
    r"|\b(?:this|that|the (?:above|following|given)|these|those)\s+"
    r"(?:article|text|passage|document|paragraph|section|page|table|chapter|file|excerpt|content|author)s?\b"
    r"|\b(?:in|of|by|from|according to) (?:the )?(?:text|passage|article|excerpt)\b",
    re.IGNORECASE,
)
_BEGINS_POINTING = re.compile(
    r"^(?:这|那|此|它|他|她|其)(?!里边|么多年)|^(?:this|that|these|those|it|they|he|she)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPair:
    """A question with the passages that answer it, and the documents that these are of."""

    question: str
    chunks: tuple[int, ...]
    documents: tuple[int, ...]
    origin: Origin
    language: str = "other"


@dataclass(frozen=True, slots=True)
class Screened:
    """Pairs that are left, and how many were dropped by reason."""

    kept: list[QuestionPair]
    dropped: Mapping[str, int]


def question_fault(text: str) -> str:
    """Why a question is of no use: "length", "characters", "pointing"; "" where it is."""
    plain = text.strip()
    if not SHORTEST <= len(plain) <= LONGEST:
        return "length"
    visible = [char for char in plain if not char.isspace()]
    strange = sum(unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn", "Cs") or char == "\ufffd" for char in visible)
    if strange or sum(char.isalnum() for char in visible) < LEAST_LETTERS * len(visible):
        return "characters"
    if _POINTS_AT_TEXT.search(plain) or _BEGINS_POINTING.search(plain):
        return "pointing"
    return ""


def pairs_screen(pairs: Sequence[QuestionPair]) -> Screened:
    """Pairs without faults, each question once.

    The same question of several origins is one pair, with the passages of the first; people's questions come before
    made ones, and of made ones nearly the same question counts once (MinHash). A question that people asked is kept
    although it points at something: it is what is asked.
    """
    dropped: Counter[str] = Counter()
    passed: list[QuestionPair] = []
    questions: set[str] = set()
    buckets: dict[int, list[int]] = defaultdict(list)
    sketches: list[npt.NDArray[np.uint32]] = []
    for pair in sorted(pairs, key=lambda pair: pair.origin in MADE):
        fault = question_fault(pair.question)
        if fault and (pair.origin in MADE or fault != "pointing"):
            dropped[fault] += 1
            continue
        folded = normalise_query(pair.question).casefold()
        question_sketch = sketch(pair.question)
        near = {other for band in bands(question_sketch) for other in buckets[band]}
        is_made = pair.origin in MADE
        if folded in questions or (
            is_made and any(similarity(question_sketch, sketches[other]) >= SAME_QUESTION for other in near)
        ):
            dropped["repeated"] += 1
            continue
        questions.add(folded)
        for band in bands(question_sketch):
            buckets[band].append(len(sketches))
        sketches.append(question_sketch)
        passed.append(pair)
    return Screened(passed, dropped)


def pairs_balance(pairs: Sequence[QuestionPair], lengths: Mapping[int, int], *, most: int) -> Screened:
    """At most `most` made pairs, as many of short passages as of long ones; `lengths`: chunk -> characters.

    People's questions all stay. Which of a group stay does not depend on the order of the pairs.
    """
    human = [pair for pair in pairs if pair.origin not in MADE]
    generated = sorted((pair for pair in pairs if pair.origin in MADE), key=_spread)
    if len(generated) <= most:
        return Screened([*human, *generated], {})
    sizes = np.array([lengths.get(pair.chunks[0], 0) for pair in generated])
    order = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
    groups: list[list[QuestionPair]] = [[] for _ in range(LENGTH_GROUPS)]
    for pair, rank in zip(generated, order, strict=True):
        groups[int(rank) * LENGTH_GROUPS // len(generated)].append(pair)
    balanced = [pair for group in groups for pair in group[: most // LENGTH_GROUPS]]
    return Screened([*human, *balanced], {"balance": len(generated) - len(balanced)})


def _spread(pair: QuestionPair) -> bytes:
    return sha256(pair.question.encode("utf-8", "replace")).digest()


def document_group(title: str, document: int) -> Hashable:
    """What documents are split by: parts of one work share a title but for a number at its end, and stay together."""
    plain = re.sub(
        r"[\W_]{0,8}(?:part|chapter|section|vol|no|第)?[\W_]{0,8}\d{1,9}[\W_]{0,8}(?:部分|章|节|页|卷|期)?\W{0,8}$",
        "",
        title.strip(),
        flags=re.I,
    )
    return plain.casefold() or document


def folds_of(groups: Sequence[Sequence[Hashable]], *, folds: int, seed: str = "") -> npt.NDArray[np.bool_]:
    """bool[q, folds]: in which folds the documents of each question are; `groups`: those of each question.

    A group is in one fold, whatever else there is; folds get about the same number of questions. Fewer groups than
    folds give as many folds as there are groups.
    """
    counts: Counter[Hashable] = Counter(group for groups_of_question in groups for group in set(groups_of_question))
    number = min(folds, len(counts))
    place: dict[Hashable, int] = {}
    load = [0] * max(number, 1)
    for group in sorted(
        counts, key=lambda group: (-counts[group], sha256(f"{seed}{group}".encode("utf-8", "replace")).digest())
    ):
        place[group] = int(np.argmin(load))
        load[place[group]] += counts[group]
    touches = np.zeros((len(groups), number), bool)
    for at, groups_of_question in enumerate(groups):
        touches[at, [place[group] for group in set(groups_of_question)]] = True
    return touches
