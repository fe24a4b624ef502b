"""txtai with `hybrid=True`: Faiss and its own BM25, half and half."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from txtai import Embeddings

from bench.peers.exchange import TOP_K, FloatArray, Task
from bench.peers.worker import Search

DISTRIBUTIONS = ("txtai", "faiss-cpu")


def build(task: Task, variant: str) -> Search:
    known = task.vectors_of_texts()

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.stack([known[text] for text in texts])

    embeddings = Embeddings(hybrid=True, method="external", transform=embed)
    embeddings.index([(i, text, None) for i, text in zip(task.ids, task.passages, strict=True)])

    def search(number: int) -> list[str]:
        return [i for i, _score in embeddings.search(task.questions[number], TOP_K)]

    return search
