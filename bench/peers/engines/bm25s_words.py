"""bm25s as it comes (variant ""), or on the product's search terms ("terms", "parity": with its k1, too)."""

from __future__ import annotations

from typing import Any

import bm25s

from bench.peers.exchange import TOP_K, Task
from bench.peers.worker import Search

DISTRIBUTIONS = ("bm25s",)
PARITY = {"method": "lucene", "k1": 1.2, "b": 0.75}  # knowledge/indexes/lexical.py; the factor k1 + 1 changes no order


def build(task: Task, variant: str) -> Search:
    retriever = bm25s.BM25(**(PARITY if variant == "parity" else {}))
    retriever.index(_tokens(task, variant), show_progress=False)
    top_k = min(TOP_K, len(task.ids))

    def search(number: int) -> list[str]:
        asked: Any = [list(task.question_terms[number])]
        if not variant:
            asked = bm25s.tokenize(task.questions[number], show_progress=False)
        found, scores = retriever.retrieve(asked, k=top_k, show_progress=False)
        return [task.ids[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def _tokens(task: Task, variant: str) -> Any:
    if variant:
        return [list(terms) for terms in task.passage_terms]
    return bm25s.tokenize(list(task.passages), show_progress=False)
