"""Compressing the passages of an answer to a share of their tokens, or to what the context has room for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.compression.extraction import (
    GOOD_ENOUGH,
    Extract,
    extracted,
    invents_figures,
    keyword_retention,
    quality,
    similarities,
)
from ragcore.errors import InvalidOptionsError
from ragcore.llm.client import LlmClient
from ragcore.options import COMPRESSION_METHODS
from ragcore.prompts.languages import language_name
from ragcore.stage_ports import StagePorts
from ragcore.text.scripts import language_of
from ragcore.types import Passage
from ragcore.types.answering import Ranked

SHORT_WORDS = 100  # hybrid: below it a passage is kept or extracted from
LONG_WORDS = 300  # hybrid: from here on it is extracted from before a model sees it
KEPT_WORDS = 50  # hybrid: a short passage of which so many would be left is kept
FIRST_RATIO = 0.7  # hybrid: of a long passage
AT_ONCE = 4  # requests to the model

Overhead = Callable[[Passage], int]
STRATEGIES = ("truncate", "top_k", "summarise")
LEAST_TOKENS = 40  # a shorter summary says nothing
TOKENS_A_WORD = 2  # cautiously, of English and Chinese


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """The passages in their order, each with its identity and less text.

    `stats`: "method", "ratio" (tokens after by before, 0 to 1), "tokens_before", "tokens_after", "by_model" (passages
    that a model has shortened), "rejected" (what it wrote and was not good enough).
    """

    passages: tuple[Ranked, ...]
    stats: Mapping[str, Any] = field(default_factory=dict)


async def compress_passages(
    passages: Sequence[Ranked], query: str, *, method: str, ratio: float, ports: StagePorts
) -> Compressed:
    """Each passage with at most `ratio` of its tokens, or one sentence, and never empty.

    `method`: "none", "sentence_extraction", "llm_compression" or "hybrid"; without a model, and where what it writes is
    not good enough, sentences are extracted. Raises InvalidOptionsError for another method or a ratio outside (0, 1].
    """
    if method not in COMPRESSION_METHODS or not 0 < ratio <= 1:
        raise InvalidOptionsError(
            "unknown_compression", known=list(COMPRESSION_METHODS), method=method, ratio=f"{ratio:g}"
        )
    job = _Job(query=query, ratio=ratio, ports=ports)
    before = [ports.counter.count(ranked.passage.text) for ranked in passages]
    if method == "none" or ratio == 1 or not passages:
        return Compressed(passages=tuple(passages), stats=_stats(method, before, before, job))
    extracts = await job.run([ranked.passage.text for ranked in passages], _starts(passages), method)
    after = tuple(_replaced(ranked, extract) for ranked, extract in zip(passages, extracts, strict=True))
    return Compressed(passages=after, stats=_stats(method, before, [extract.tokens for extract in extracts], job))


@dataclass(slots=True, kw_only=True)
class _Job:
    """One compression: what it needs, and what happened."""

    query: str
    ratio: float
    ports: StagePorts
    by_model: int = 0
    rejected: int = 0
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def run(self, texts: Sequence[str], starts: Sequence[int], method: str) -> list[Extract]:
        """Everything that is extracted for all texts at once, so that they are embedded at once; then the model."""
        ways = [_way(method, self._words(text), self.ratio, self.ports.llm) for text in texts]
        first = await self.extract(texts, [way.first for way in ways], starts)
        writing = [at for at, way in enumerate(ways) if way.model and self.ports.llm is not None]
        rewrites = await asyncio.gather(*(self.written(texts[at], first[at].text) for at in writing))
        model = dict(zip(writing, rewrites, strict=True))
        # passages of which only a first part was extracted, because the model was to shorten the rest
        again = [at for at in writing if model[at] is None and ways[at].first > self.ratio]
        rest = await self.extract([texts[at] for at in again], [self.ratio] * len(again), [starts[at] for at in again])
        final = dict(zip(again, rest, strict=True))
        return [final.get(at) or model.get(at) or first[at] for at in range(len(texts))]

    async def extract(self, texts: Sequence[str], ratios: Sequence[float], starts: Sequence[int]) -> list[Extract]:
        """Sentences within these shares of the tokens."""
        counter = self.ports.counter
        return await asyncio.to_thread(
            extracted,
            texts,
            self.query,
            budgets=[int(counter.count(text) * ratio) for text, ratio in zip(texts, ratios, strict=True)],
            starts=starts,
            tokenizer=self.ports.tokenizer,
            embedder=self.ports.embedder,
            counter=counter,
        )

    async def written(self, whole: str, text: str) -> Extract | None:
        """What the model makes of a text, within the ratio of the whole; None where it is not good enough."""
        assert self.ports.llm is not None
        counter = self.ports.counter
        budget = max(int(counter.count(whole) * self.ratio), 1)
        share = min(budget / max(counter.count(text), 1), 1.0)
        async with self._slots:
            reply = await self.ports.llm.text(
                "compress",
                max_tokens=2 * budget + 32,
                language=language_name(language_of(text), otherwise="its own language"),
                words=str(max(int(self._words(text) * share), 1)),
                question=self.query,
                document=text,
            )
        reply = (reply or "").strip()
        if not reply or not await asyncio.to_thread(self._is_good, whole, text, reply):
            self.rejected += bool(reply)
            return None
        tokens = counter.count(reply)
        self.by_model += 1
        if tokens <= budget:
            return Extract(text=reply, tokens=tokens)
        return (await self.extract([reply], [budget / tokens], [0]))[0]

    def _is_good(self, before: str, excerpt: str, after: str) -> bool:
        """By the whole passage: what was lost before the model saw it is lost. `excerpt`: what it was shown."""
        ports = self.ports
        if invents_figures(excerpt, after):
            return False
        alike = similarities(self.query, [[before, after]], tokenizer=ports.tokenizer, embedder=ports.embedder)[0]
        value = quality(
            retention=keyword_retention(before, after, ports.tokenizer),
            before=alike[0],
            after=alike[1],
            ratio=self._words(after) / max(self._words(before), 1),
        )
        return value >= GOOD_ENOUGH

    def _words(self, text: str) -> int:
        return len(self.ports.tokenizer.words(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """What happens to one passage: extraction to a share of its tokens, then perhaps the model."""

    first: float
    model: bool = False


def _way(method: str, words: int, ratio: float, llm: LlmClient | None) -> _Way:
    """Hybrid: short passages are kept or extracted from, medium ones go to the model, long ones to both in turn."""
    if method == "hybrid" and words < SHORT_WORDS:
        return _Way(first=1.0 if words * ratio >= KEPT_WORDS else ratio)
    if method == "sentence_extraction" or llm is None:
        return _Way(first=ratio)
    if method == "llm_compression" or words < LONG_WORDS:
        return _Way(first=1.0, model=True)
    return _Way(first=FIRST_RATIO, model=True) if ratio < FIRST_RATIO else _Way(first=ratio)


def _starts(passages: Sequence[Ranked]) -> list[int]:
    return [ranked.passage.start for ranked in passages]


def _replaced(ranked: Ranked, extract: Extract) -> Ranked:
    """Chunk, version and page stay, so that citations still lead to the document."""
    passage = replace(ranked.passage, text=extract.text, tokens=extract.tokens, start=extract.start)
    return replace(ranked, passage=passage)


def _stats(method: str, before: Sequence[int], after: Sequence[int], job: _Job) -> dict[str, Any]:
    total = sum(before)
    return {
        "method": method,
        "ratio": round(sum(after) / total, 4) if total else 1.0,
        "tokens_before": total,
        "tokens_after": sum(after),
        "by_model": job.by_model,
        "rejected": job.rejected,
    }


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
    tokens_free = budget_tokens - sum(costs[:whole])
    fitting, rest = ranked[:whole], ranked[whole:]
    if strategy == "summarise":
        return (*fitting, *await _summaries(rest, query, tokens_free, ports, overhead))
    if strategy == "truncate" or not fitting:
        fitting = [*fitting, *_cut(rest[0], tokens_free - overhead(rest[0].passage), ports)]
    return tuple(fitting)


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
    rest: Sequence[Ranked], query: str, tokens_free: int, ports: StagePorts, overhead: Overhead
) -> list[Ranked]:
    """The room is shared by as many passages as get a summary worth reading, best first."""
    besides = max(overhead(item.passage) for item in rest)
    count = max(1, min(len(rest), tokens_free // (LEAST_TOKENS + besides)))
    share = tokens_free // count - besides
    texts = await asyncio.gather(*(_summary(item.passage.text, query, share, ports) for item in rest[:count]))
    return [_with_text(item, text, ports) for item, text in zip(rest, texts, strict=False) if text.strip()]


async def _summary(text: str, query: str, limit: int, ports: StagePorts) -> str:
    """At most `limit` tokens: the model's summary, else sentences, else the beginning."""
    reply = ""
    if ports.llm is not None and limit > 0:
        language = language_name(language_of(text), otherwise="its own language")
        words = str(max(limit // TOKENS_A_WORD, 1))
        summary = await ports.llm.text(
            "summarise_context", max_tokens=limit, language=language, words=words, question=query, document=text
        )
        reply = (summary or "").strip()
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
