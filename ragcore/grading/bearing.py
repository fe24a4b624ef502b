"""Which passages state the answer to a question, by a language model whose every quotation is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragcore.llm.client import LlmClient
from ragcore.text.normalise import squeeze

PROMPT = "judge_bearing"
MOST_TOGETHER = 8  # passages of one request
MOST_CHARACTERS = 12_000  # of the passages of one request
LONGEST = 6_000  # characters of a passage that are shown; chunks are shorter unless a document was not split
SHORTEST_QUOTATION = 4  # letters and digits
MAX_TOKENS = 1500
_MARKER = re.compile(r"^\s*\[(\d+)\]", re.MULTILINE)

Outcome = Literal[
    "found",  # at least one passage states the answer, and its quotation stands there
    "none",  # every passage was read, and none states it
    "unavailable",  # no whole answer in time
    "invalid",  # not the JSON that was asked for
    "quotation",  # passages were named, and no quotation stands in its passage
    "unfit",  # the model cannot judge, as its exam says, and was not asked
]


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A passage that is shown to the judge."""

    id: int
    heading: str  # title and headings above it
    text: str


@dataclass(frozen=True, slots=True)
class Stated:
    """A passage that states the answer, with the words that do, which stand in it."""

    id: int
    quotation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BearingVerdict:
    """What the judge says of passages. `stated` is empty unless the outcome is "found".

    `read`: those that it has judged; not such that it named with words which do not stand there.
    """

    outcome: Outcome
    stated: tuple[Stated, ...] = ()
    read: frozenset[int] = frozenset()

    @property
    def is_usable(self) -> bool:
        """Whether it says anything about the passages."""
        return self.outcome in ("found", "none")


class _SaidPassage(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: int = Field(ge=1, le=MOST_TOGETHER)
    quotation: str = Field(min_length=1, max_length=600)


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    passages: list[_SaidPassage] = Field(max_length=MOST_TOGETHER)


async def judge_bearing(question: str, passages: Sequence[JudgedText], llm: LlmClient) -> BearingVerdict:
    """Ask about passages in their order, some at a time, until some state the answer. Never raises for the model.

    A quotation counts where it stands in its passage word for word, whatever case, spacing and punctuation. The first
    request without a usable reply ends it: the rules are asked then.
    """
    read: set[int] = set()
    has_false_quotation = False
    for some in batches(passages):
        reply = await llm.json(PROMPT, _Said, max_tokens=MAX_TOKENS, question=question, context=_shown(some))
        if reply is None:
            return BearingVerdict(outcome=_why_nothing(llm), read=frozenset(read))
        if any(verdict.number > len(some) for verdict in reply.passages):
            return BearingVerdict(outcome="invalid", read=frozenset(read))
        stated = list(_checked(reply, some))
        ids_given = {some[verdict.number - 1].id for verdict in reply.passages}
        read |= {passage.id for passage in some} - ids_given | {statement.id for statement in stated}
        if stated:
            return BearingVerdict(outcome="found", stated=tuple(stated), read=frozenset(read))
        has_false_quotation = has_false_quotation or bool(reply.passages)
    return BearingVerdict(outcome="quotation" if has_false_quotation else "none", read=frozenset(read))


def _why_nothing(llm: LlmClient) -> Outcome:
    if llm.counts["unfit"]:
        return "unfit"
    return "invalid" if llm.counts["invalid"] else "unavailable"


def batches(passages: Sequence[JudgedText]) -> Iterator[list[JudgedText]]:
    """The passages of each request: at most MOST_TOGETHER with at most MOST_CHARACTERS, at least one."""
    some: list[JudgedText] = []
    size = 0
    for passage in passages:
        length = min(len(passage.text), LONGEST)
        if some and (len(some) == MOST_TOGETHER or size + length > MOST_CHARACTERS):
            yield some
            some, size = [], 0
        some.append(passage)
        size += length
    if some:
        yield some


def _shown(passages: Sequence[JudgedText]) -> str:
    """Numbered in square brackets; a line of a passage that begins like that gets round ones."""
    plain = [
        _MARKER.sub(r"(\1)", f"{' '.join(passage.heading.split())}\n{passage.text[:LONGEST]}") for passage in passages
    ]
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(plain, 1))


def _checked(reply: _Said, passages: Sequence[JudgedText]) -> Iterator[Stated]:
    """Those of the named passages, each once, in which their quotation stands."""
    ids: set[int] = set()
    for verdict in sorted(reply.passages, key=lambda each: each.number):
        passage, plain = passages[verdict.number - 1], squeeze(verdict.quotation)
        stands = len(plain) >= SHORTEST_QUOTATION and plain in squeeze(passage.text[:LONGEST])
        if stands and passage.id not in ids:
            ids.add(passage.id)
            yield Stated(passage.id, verdict.quotation.strip())
