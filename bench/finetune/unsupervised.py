"""What fitting on the passages alone finds: latent semantic analysis beside the embedder, in memory (D6).

Passages as BM25 weights times idf of the product's terms, truncated to LATENT dimensions (Deerwester et al. 1990);
questions are folded in; the cosine of the latent space and that of the embedder are averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

from knowledge import model_registry
from ragcore.ports import FloatArray

LATENT = 200
K1, B = 1.2, 0.75


def joined_scores(
    passages: Sequence[str], questions: Sequence[str], passage_vectors: FloatArray, question_vectors: FloatArray
) -> FloatArray:
    """float32[q, p], higher is better, of texts and their vectors."""
    tokenizer = model_registry.tokenizer()
    counted = [Counter(tokenizer.terms(text)) for text in passages]
    ids = {term: at for at, term in enumerate(sorted({term for one in counted for term in one}))}
    frequency = np.zeros(len(ids))
    for one in counted:
        for term in one:
            frequency[ids[term]] += 1
    idf = np.log1p((len(passages) - frequency + 0.5) / (frequency + 0.5))
    lengths = np.array([sum(one.values()) for one in counted], np.float64)
    weights = [
        {
            ids[term]: number * (K1 + 1) / (number + K1 * (1 - B + B * size / lengths.mean()))
            for term, number in one.items()
        }
        for one, size in zip(counted, lengths, strict=True)
    ]
    matrix = _normalised(_sparse(weights, len(ids)) @ diags(idf))
    directions = svds(matrix, k=min(LATENT, min(matrix.shape) - 1), random_state=7)[2].T
    asked = [Counter(term for term in tokenizer.terms(text) if term in ids) for text in questions]
    folded = _normalised(_sparse([{ids[t]: float(n) for t, n in one.items()} for one in asked], len(ids)) @ diags(idf))
    latent = _units(np.asarray(folded @ directions)) @ _units(np.asarray(matrix @ directions)).T
    return np.asarray((latent + question_vectors @ passage_vectors.T) / 2, dtype=np.float32)


def _sparse(rows: Sequence[dict[int, float]], columns: int) -> csr_matrix:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    places = [place for row in rows for place in row]
    return csr_matrix(([value for row in rows for value in row.values()], places, starts), shape=(len(rows), columns))


def _normalised(matrix: csr_matrix) -> csr_matrix:
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return (diags(1 / np.where(norms == 0, 1, norms)) @ matrix).tocsr()


def _units(rows: FloatArray) -> FloatArray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
