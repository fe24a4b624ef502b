"""Time to judge an answer of eight sentences from ten sources, without the embedder's share."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from ragcore.grounding.support import claims, support_states
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.support_examples import rows
from ragcore.training.support_training import sources_of
from ragcore.types import Source

SENTENCES, ANSWERS, SOURCES, BUDGET_TOKENS = 8, 40, 10, 3000


def speed_report(folder: Path) -> str:
    """Median and 95th percentile in ms; answers are sentences of their own sources."""
    texts = [row["text"] for row in rows(folder / "corpus.jsonl")]
    tokenizer, seconds = JiebaTokenizer(), []
    for number in range(ANSWERS):
        sources = _within_budget(sources_of(texts[number * SOURCES : (number + 1) * SOURCES]))
        if not sources:
            break
        answer = _answer(sources)
        if not number:
            support_states(answer, sources, tokenizer=tokenizer)  # reads the dictionary
        start = time.perf_counter()
        judged = support_states(answer, sources, tokenizer=tokenizer)
        seconds.append(time.perf_counter() - start)
        if len(judged) != len(list(claims(answer))):
            raise RuntimeError("a sentence was not judged")
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return f"{len(seconds)} answers of {SENTENCES} sentences: {p50:.1f} ms, 95 % within {p95:.1f} ms"


def _within_budget(sources: list[Source]) -> list[Source]:
    counter, kept, used = EstimateCounter(), [], 0
    for source in sources:
        used += counter.count(source.text)
        if used <= BUDGET_TOKENS:
            kept.append(source)
    return kept


def _answer(sources: list[Source]) -> str:
    found = [f"{c} [{s.number}]" for s in sources for c in list(claims(s.text))[:3]]
    return "\n\n".join(found[:SENTENCES])
