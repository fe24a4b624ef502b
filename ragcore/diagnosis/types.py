"""Causes of failed answers, and what is known of one answer when its cause is looked for.

Sub-causes carry the names of Leung et al. 2025, "Classifying and Addressing the Diversity of Errors in
Retrieval-Augmented Generation Systems"; `detail` says beneath them which part of this system failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

CauseClass = Literal[
    "chunking", "retrieval", "reranking", "generation", "knowledge_gap", "permission", "question", "none"
]
Whereabouts = Literal[
    "nowhere",  # no passage bears the answer, as far as anybody looked who may read everything here
    "not_live",  # its document has no live version
    "old_version",  # it stood in a version that a newer one has replaced
    "disabled",  # an owner took the passage out of searches
    "not_indexed",  # no entry in the index
    "hidden",  # the person who asked may not read it
    "not_asked",  # outside of the sets or filters of the question
    "not_found",  # neither arm of the search had it among its hits
    "not_fine",  # an arm had it, the second stage did not keep it
    "dropped",  # at a stage of the ranking, see `stage`
    "result",  # in the result of the search, not among the sources of the answer
    "source",  # among the sources of the answer
]

Remedy = Literal[  # what would mend it
    "add_synonym",
    "add_question",
    "enable",
    "recut",
    "option",
    "golden_case",
    "ask_owner",
    "give_access",
    "ask_again",
    "none",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BearingPassage:
    """The passage that bears the answer, and what became of it.

    Shares are 0 to 1. `coverage`: terms of the question that it has, by idf; `window_coverage`: the same of its best
    three sentences; `literal`: words of the question that stand in its text but are no terms of its entry.
    """

    text: str
    tokens: int = 0
    whereabouts: Whereabouts = "source"
    stage: str = ""  # of the ranking, where it was dropped
    place: int | None = None  # there
    places: Mapping[str, int] = field(default_factory=dict)  # ranking -> 1-based place, where it had one
    coverage: float = 0.0
    window_coverage: float = 0.0
    rival: float = 0.0  # best coverage among the passages of other documents that were found
    rivals: int = 0  # passages of other documents that were found and have as much of the question or more
    literal: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # terms of the question that it does not have, the rarest first
    is_split: bool = False  # the answer stands partly in the passage beside it
    is_cited: bool = False
    certainty: float = 1.0  # that it bears the answer: 1 where a reviewer has marked it


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAnswer:
    """One answer that somebody was not content with."""

    question: str
    answer: str
    status: str  # answered, refused, search_results, degraded, …
    passage: BearingPassage | None  # None: none is known
    gap_certainty: float = 1.0  # that there is none, where none is known; less where a judge has looked in vain
    golds: tuple[str, ...] = ()  # accepted answers, one of which a right answer has
    points: tuple[str, ...] = ()  # key points, all of which a right answer has
    expects_refusal: bool = False  # a right answer says that nothing answers the question
    offered: frozenset[str] = frozenset()  # figures of the passages that it cites, comparable
    cites_part: bool = False  # it cites another passage that bears a part of the answer
    has_markers: bool = True  # it cites anything at all
    unsupported: tuple[str, ...] = ()  # sentences that no source supports
    is_vague: bool = False  # the question names nothing that could be searched for
    is_written_by_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The likeliest cause. `confidence`: the share of such diagnoses that is expected to be right, 0 to 1."""

    cause: CauseClass
    subcause: str  # in the field's terms
    detail: str  # beneath it, in this system's
    confidence: float
    evidence: Mapping[str, object] = field(default_factory=dict)
    remedy: Remedy = "none"
    rule: str = ""  # that found it, by which its confidence is calibrated
