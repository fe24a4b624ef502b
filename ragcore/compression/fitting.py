"""What happens to passages that do not fit into the context together (V16)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragcore.compression.compress import LANGUAGE_NAMES
from ragcore.compression.extraction import extracted
from ragcore.compression.scoring import invents_figures
from ragcore.errors import InvalidOptionsError
from ragcore.stage_ports import StagePorts
from ragcore.text.scripts import language_of
from ragcore.types import Passage
from ragcore.types.answering import Ranked

Overhead = Callable[[Passage], int]

STRATEGIES = ("truncate", "top_k", "summarise")
LEAST_TOKENS = 40  # a shorter summary says nothing
TOKENS_A_WORD = 2  # cautiously, of English and Chinese


async def fit_passages(
    passages: Sequence[Ranked],
    query: str,
    *,
    budget_tokens: int,
    strategy: str,
    ports: StagePorts,
    overhead: Overhead = lambda _passage: 0,
) -> tuple[Ranked, ...]:
    """Passages with at most `budget_tokens` of text together, best first; the first one is cut rather than dropped.

    `overhead`: tokens that a passage takes besides its text, which count, too.

    "top_k": the best ones as long as each is whole. "truncate": the first one that does not fit is cut, what follows is
    dropped. "summarise": what does not fit shares the room that is left, and at least a third of the budget, as
    summaries by the model, or as its most important sentences. Raises InvalidOptionsError for another strategy.
    """
    if strategy not in STRATEGIES:
        raise InvalidOptionsError("unknown_strategy", known=list(STRATEGIES), strategy=strategy)
    ranked = sorted(passages, key=lambda item: item.score, reverse=True)
    costs = [ports.counter.count(item.passage.text) + overhead(item.passage) for item in ranked]
    if sum(costs) <= budget_tokens or not ranked:
        return tuple(passages)
    room = budget_tokens if strategy != "summarise" else budget_tokens - budget_tokens // 3
    whole = _prefix(costs, room)
    left = budget_tokens - sum(costs[:whole])
    kept, rest = ranked[:whole], ranked[whole:]
    if strategy == "summarise":
        return (*kept, *await _summaries(rest, query, left, ports, overhead))
    if strategy == "truncate" or not kept:
        kept = [*kept, *_cut(rest[0], left - overhead(rest[0].passage), ports)]
    return tuple(kept)


def _prefix(costs: Sequence[int], room: int) -> int:
    """How many of the first ones fit."""
    spent = 0
    for number, cost in enumerate(costs):
        spent += cost
        if spent > room:
            return number
    return len(costs)


def _cut(ranked: Ranked, limit: int, ports: StagePorts) -> list[Ranked]:
    text = ports.counter.truncate(ranked.passage.text, limit) if limit > 0 else ""
    return [_with_text(ranked, text, ports)] if text.strip() else []


def _with_text(ranked: Ranked, text: str, ports: StagePorts) -> Ranked:
    start = ranked.passage.start if ranked.passage.text.startswith(text) and ranked.passage.start < len(text) else 0
    passage = replace(ranked.passage, text=text, tokens=ports.counter.count(text), start=start)
    return replace(ranked, passage=passage)


async def _summaries(
    rest: Sequence[Ranked], query: str, left: int, ports: StagePorts, overhead: Overhead
) -> list[Ranked]:
    """The room is shared by as many passages as get a summary worth reading, best first."""
    besides = max(overhead(item.passage) for item in rest)
    count = max(1, min(len(rest), left // (LEAST_TOKENS + besides)))
    share = left // count - besides
    texts = await asyncio.gather(*(_summary(item.passage.text, query, share, ports) for item in rest[:count]))
    return [_with_text(item, text, ports) for item, text in zip(rest, texts, strict=False) if text.strip()]


async def _summary(text: str, query: str, limit: int, ports: StagePorts) -> str:
    """At most `limit` tokens: the model's summary, else sentences, else the beginning."""
    reply = ""
    if ports.llm is not None and limit > 0:
        language = LANGUAGE_NAMES.get(language_of(text), "its own language")
        words = str(max(limit // TOKENS_A_WORD, 1))
        written = await ports.llm.text(
            "summarise_context", max_tokens=limit, language=language, words=words, question=query, document=text
        )
        reply = (written or "").strip()
    if not reply or invents_figures(text, reply):
        extract = await asyncio.to_thread(
            extracted,
            [text],
            query,
            budgets=[limit],
            tokenizer=ports.tokenizer,
            embedder=ports.embedder,
            counter=ports.counter,
        )
        reply = extract[0].text
    return ports.counter.truncate(reply, limit) if limit > 0 else ""
