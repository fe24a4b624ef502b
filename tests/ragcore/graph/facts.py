"""A few facts, and a search over them with the tests' own embedder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ragcore.embedding.hashed_ngrams import hashed_ngrams
from ragcore.graph.memory import MemoryTriples
from ragcore.graph.retrieval import SignalWeights, TripleSearch
from ragcore.graph.triples import Triple
from ragcore.text.tokenise import JiebaTokenizer


class Hashes:
    """An embedder of n-grams only: equal texts are near, no model is loaded."""

    model, dimensions = "hashes", 768

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return hashed_ngrams(list(texts), dimensions=768, rarity=lambda word: 1.0).astype(np.float32)

    embed_queries = embed_documents

    def trust(self, cjk_share: float) -> float:
        return 0.5


def triple(text: str, **types: str) -> Triple:
    subject, relation, object_ = (part.strip() for part in text.split("|"))
    return Triple(subject=subject, relation=relation, object=object_, **types)


FACTS = (
    triple(
        "Amsterdam Airport Schiphol | location | Haarlemmermeer", subject_type="Airport", object_type="Municipality"
    ),
    triple("Amsterdam Airport Schiphol | runwayLength | 3800"),
    triple("Amsterdam Airport Schiphol | cityServed | Amsterdam"),
    triple("Belgium | leaderName | Charles Michel", subject_type="Country"),
    triple("Belgium | capital | Brussels"),
    triple("Charles Michel | birthPlace | Namur"),
    triple("Brussels | leaderName | Rudi Vervoort"),
    triple("随机接入 | 属于 | MAC 层", subject_type="过程"),
    triple("随机接入 | 使用 | PRACH"),
    triple("PRACH | 定义于 | TS 38.211"),
)


@cache
def tokenizer() -> JiebaTokenizer:
    return JiebaTokenizer()


def search_in(facts: Sequence[Triple] = FACTS) -> TripleSearch:
    index = MemoryTriples(facts, tokenizer=tokenizer(), embedder=Hashes())
    return TripleSearch(index=index, embedder=Hashes(), tokenizer=tokenizer(), weights=SignalWeights.shipped())
