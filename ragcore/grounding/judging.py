"""A language model's word on sentences that rules leave open (B4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.grounding.context import render_context
from ragcore.grounding.support import IN_PART, OTHER_LANGUAGE
from ragcore.llm.client import LlmClient
from ragcore.types import Sentence, Source

JUDGED = 12  # sentences in one request; the rest go into further ones
REFUSED = "A language model compared them: the cited source does not say this."
_OPEN = frozenset({IN_PART, OTHER_LANGUAGE})


async def judged_support(sentences: Sequence[Sentence], sources: Sequence[Source], llm: LlmClient) -> list[Sentence]:
    """The sentences with those decided that the rules could not decide, in order (B4).

    Only cited sentences between the two thresholds, or in another language than their source, are asked about. A
    sentence without a citation, or with a figure that no source has, stays what it is: a model's word does not replace
    evidence. Where the model fails, the rules stay. Never raises for the model.
    """
    judged = list(sentences)
    places = [at for at, sentence in enumerate(judged) if sentence.reason in _OPEN and sentence.citations]
    for start in range(0, len(places), JUDGED):
        part = places[start : start + JUDGED]
        cited = {number for at in part for number in judged[at].citations}
        supported = await _supported([judged[at] for at in part], [s for s in sources if s.number in cited], llm)
        if supported is None:
            break  # later requests would fail the same way, and the reader waits
        for number, at in enumerate(part, start=1):
            judged[at] = _decided(judged[at], number in supported)
    return judged


async def _supported(sentences: Sequence[Sentence], sources: Sequence[Source], llm: LlmClient) -> set[int] | None:
    """Numbers of supported sentences, from 1; None if the model did not say."""
    statements = "\n".join(f"{n}. {' '.join(s.text.split())}" for n, s in enumerate(sentences, start=1))
    reply = await llm.json(
        "judge_support", dict[str, list[int]], context=render_context(sources), statements=statements
    )
    if reply is None or (numbers := reply.get("supported")) is None:
        return None
    return set(numbers)


def _decided(sentence: Sentence, supported: bool) -> Sentence:
    if supported:
        return replace(sentence, support="supported", reason=None, risk=None)
    return replace(sentence, support="unsupported", reason=REFUSED, risk="high")
