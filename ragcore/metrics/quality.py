"""Measures of retrieval (ranked against relevant documents) and of answers (against references), without a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence

from ragcore.ports import Tokenizer
from ragcore.text.matching import overlap
from ragcore.text.normalise import squeeze


def recall_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Share of the relevant items among the first k. Raises ValueError without relevant items."""
    required = _required(relevant)
    return len(required & set(ranked[:k])) / len(required)


def precision_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Share of relevant items among the first k; a shorter ranking counts as if filled with irrelevant ones."""
    return len(_required(relevant) & set(ranked[:k])) / k


def mrr_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """1 / rank of the first relevant item within the first k, else 0."""
    required = _required(relevant)
    return next((1 / rank for rank, item in enumerate(ranked[:k], 1) if item in required), 0.0)


def ndcg_at_k(ranked: Sequence[Hashable], relevant: Collection[Hashable] | Mapping[Hashable, float], k: int) -> float:
    """Discounted gain of the first k over the best possible one (Järvelin and Kekäläinen 2002).

    `relevant` maps items to gains; a plain collection means a gain of 1 each. A repeated item gains once.
    """
    _required(relevant)
    gains = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)
    first = list(dict.fromkeys(ranked))[:k]
    ideal = _discounted(sorted(gains.values(), reverse=True)[:k])
    return _discounted([gains.get(item, 0.0) for item in first]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _required(relevant: Collection[Hashable]) -> set[Hashable]:
    if not relevant:
        raise ValueError("a question without relevant items cannot be measured")
    return set(relevant)


def contains_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether a reference answer stands in the answer, regardless of case, spaces, punctuation and width."""
    plain = squeeze(answer)
    return any(gold in plain for gold in map(squeeze, golds) if gold)


def word_f1(answer: str, gold: str, tokenizer: Tokenizer) -> float:
    """Harmonic mean of precision and recall of words with repeats (SQuAD's F1), 0 to 1."""
    answer_words, gold_words = Counter(tokenizer.words(answer)), Counter(tokenizer.words(gold))
    shared = (answer_words & gold_words).total()
    return 2 * shared / (answer_words.total() + gold_words.total()) if shared else 0.0


def grounded_share(answer: str, sources: Sequence[str], tokenizer: Tokenizer) -> float:
    """Share of the answer's keywords that occur in the sources, 0 to 1: a cheap sign of faithfulness."""
    return overlap(answer, "\n".join(sources), tokenizer)
