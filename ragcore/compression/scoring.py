"""How much each unit of a passage says about the question (U9)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from ragcore.ports import Embedder, Tokenizer
from ragcore.text.matching import cosine_matrix, keywords
from ragcore.text.scripts import cjk_share

ENOUGH = 0.5  # words that are found decide; vectors, which take a hundred times as long, are asked only below this
LONG = 20  # words from which a unit counts as long
GOOD_ENOUGH = 0.7
USUAL_RATIO = (0.3, 0.8)  # of the tokens after and before; beyond it much was lost, or little was gained
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def importance(*, similarity: float, is_edge: bool, words: int) -> float:
    """0.7 of the similarity to the question, 0.2 for the first and the last of a chunk, 0.1 of min(words/20, 1)."""
    return 0.7 * similarity + 0.2 * is_edge + 0.1 * min(words / LONG, 1.0)


def similarities(
    query: str, groups: Sequence[Sequence[str]], *, tokenizer: Tokenizer, embedder: Embedder | None
) -> list[list[float]]:
    """Similarity of each text to the question, 0 to 1, by group: shared keywords, or the higher of them and meaning.

    Keywords of the question count by how few of all the texts have them. A group in which a text has half of their
    weight is decided by words; all others are embedded in one call, the question in another. The cosine is limited by
    how far the embedder can be relied on for the script of the question.
    """
    shared = iter(_coverage(query, [text for group in groups for text in group], tokenizer))
    found = [[next(shared) for _ in group] for group in groups]
    open_groups = [at for at, values in enumerate(found) if values and max(values) < ENOUGH]
    trust = embedder.trust(cjk_share(query)) if embedder is not None and open_groups else 0.0
    if embedder is None or trust <= 0:
        return found
    texts = [text for at in open_groups for text in groups[at]]
    cosines = iter(cosine_matrix(embedder.embed_queries([query]), embedder.embed_documents(texts))[0].tolist())
    for at in open_groups:
        found[at] = [max(words, min(1.0, max(0.0, trust * next(cosines)))) for words in found[at]]
    return found


def _coverage(query: str, texts: Sequence[str], tokenizer: Tokenizer) -> list[float]:
    """Weighted share of the question's keywords that each text has."""
    have = [frozenset(tokenizer.words(text)) for text in texts]
    wanted = keywords(query, tokenizer)
    holders = Counter(word for words in have for word in wanted if word in words)
    weight = {word: math.log(1 + len(texts) / (holders[word] + 0.5)) for word in wanted}
    total = sum(weight.values())
    return [sum(weight[word] for word in wanted if word in words) / total if total else 0.0 for words in have]


# ── a text shortened by a language model (U9) ─────────────────────────────────────────────────────


def quality(*, retention: float, before: float, after: float, ratio: float) -> float:
    """0.4 retention + 0.4 min(after / max(before, 0.1), 1) + 0.2 (1 within 0.3 to 0.8 of the tokens, else 0.5).

    `retention`: share of keywords that are still there; `before`, `after`: similarity of the passage and of what is
    left of it to the question, 0 to 1.
    """
    low, high = USUAL_RATIO
    return 0.4 * retention + 0.4 * min(after / max(before, 0.1), 1.0) + 0.2 * (1.0 if low <= ratio <= high else 0.5)


def keyword_retention(query: str, before: str, after: str, tokenizer: Tokenizer) -> float:
    """Share of the question's keywords in a passage that are left; of the passage's own where it has none of them."""
    had, has = set(tokenizer.words(before)), set(tokenizer.words(after))
    wanted = [word for word in keywords(query, tokenizer) if word in had] or keywords(before, tokenizer)
    return sum(word in has for word in wanted) / len(wanted) if wanted else 1.0


def invents_figures(before: str, after: str) -> bool:
    """Whether a figure stands in the shorter text only."""
    return not _figures(after) <= _figures(before)


def _figures(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text)}
