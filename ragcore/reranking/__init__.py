"""Rerankers: how well a passage answers a question. `RERANKERS` finds them by the setting `RERANKER`; one module each.

A client is a `Reranker`, or a `PairScorer`, which `PairReranker` makes one with a cache of scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragcore.client_registry import ClientRegistry

if TYPE_CHECKING:
    from ragcore.ports import Reranker
    from ragcore.reranking.pairs import PairScorer

RERANKERS: ClientRegistry[Reranker | PairScorer] = ClientRegistry(__name__)
