"""Domain vectors of entries and questions: stored beside whole vectors, searched in their place (decision 025).

Each fit (a LatentModel) has a row of numbers for each term and a joined vector for each entry. The joined vectors stand
in a table with the columns of `knowledge_wholevector`, under a name of their own in `embedding_model`, so a search
reads one table or the other. Which one, TenantVectors says; whoever changes that advances the corpus epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from knowledge.indexes.binary_vectors import halfvec_read
from knowledge.indexes.rotations import coarse_vectors
from knowledge.indexes.statements import fetch, ids_text
from ragcore.embedding.latent import (
    LATENT,
    CosineScale,
    FoldedQuestion,
    LatentTerms,
    SparseRows,
    joined,
    question_folded,
    question_weight,
    rarest_of,
)
from ragcore.embedding.vectors import whole
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.types import Hit

LATENT_MARK = "+latent-"  # between the embedder's name and the number of the fit
SIDES = 32  # fits that a process remembers, a few numbers each

SIDE = """
SELECT model, rotation, sampled, usual, cosine_offset, cosine_slope FROM knowledge_latentmodel WHERE id = %(latent)s
"""
OF_TEXTS = """
SELECT DISTINCT ON (t.text) t.text, halfvec_send(l.vector), l.rarity
FROM knowledge_term t JOIN knowledge_latentterm l ON l.latent_id = %(latent)s AND l.term_id = t.id
WHERE t.tenant_id = %(tenant)s AND t.text = ANY(%(texts)s)
ORDER BY t.text, t.id
"""
OF_IDS = """
SELECT term_id, rarity, halfvec_send(vector) FROM knowledge_latentterm
WHERE latent_id = %(latent)s AND term_id = ANY(%(ids)s::bigint[]) ORDER BY term_id
"""
ALL_TERMS = """
SELECT term_id, rarity, halfvec_send(vector) FROM knowledge_latentterm WHERE latent_id = %(latent)s ORDER BY term_id
"""
FOR_NEW = "SELECT latents FROM knowledge_tenantvectors WHERE tenant_id = %(tenant)s AND model = %(model)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentSide:
    """What a search must know of a fit; it never changes."""

    latent: int
    model: str  # the embedder's
    rotation: int
    rarest: float  # rarity of a term that the corpus does not have
    usual: float  # how much of a question its latent numbers hold, 0 to 1
    scale: CosineScale

    @property
    def name(self) -> str:
        """The `embedding_model` of its vectors."""
        return latent_name(self.model, self.latent)


def latent_name(model: str, latent: int) -> str:
    """The name of joined vectors, which is that of a model version of its own."""
    return f"{model}{LATENT_MARK}{latent}"


@lru_cache(SIDES)
def latent_side(latent: int) -> LatentSide:
    """Of a fit that exists."""
    model, rotation, sampled, usual, offset, slope = fetch(SIDE, {"latent": latent})[0]
    scale = CosineScale(offset, slope)
    rarest = rarest_of(sampled)
    return LatentSide(latent=latent, model=model, rotation=rotation, rarest=rarest, usual=usual, scale=scale)


def sql_of(sql: str, latent: int, *, of_set: bool = False) -> str:
    """A search of whole vectors, of the joined ones of a fit, or of those by the model of a knowledge set."""
    table = "knowledge_setvector" if of_set else "knowledge_latentvector" if latent else "knowledge_wholevector"
    return sql.replace("knowledge_wholevector", table)


def scaled(hits: Sequence[Hit], vector: FloatArray, latent: int) -> list[Hit]:
    """Hits with their cosines on the scale of the embedder's own; the order stays.

    The length of the question's joined vector says how far they count (`question_weight`).
    """
    if not latent:
        return list(hits)
    scale, weight = latent_side(latent).scale, float(np.linalg.norm(whole(vector)))
    return [hit._replace(score=weight * scale(hit.score)) for hit in hits]


# ── questions ─────────────────────────────────────────────────────────────────────────────────────


class LatentEmbedder:
    """Implements ports.Embedder for the questions of one tenant: the embedder's 768 numbers, then the 768 joined ones.

    `ragcore.embedding.vectors.plain` and `whole` take a vector apart. Documents get the embedder's numbers alone.
    """

    def __init__(self, embedder: Embedder, tokenizer: Tokenizer, *, tenant_id: int, latent: int) -> None:
        self.embedder, self.tokenizer = embedder, tokenizer
        self.tenant_id, self.latent = tenant_id, latent
        self.model = embedder.model
        self.dimensions = embedder.dimensions

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 1536]; the length of the joined vector is its `question_weight`."""
        plain = self.embedder.embed_queries(texts)
        terms = [self.tokenizer.terms(text) for text in texts]
        side = latent_side(self.latent)
        folded = questions_fold(terms, tenant_id=self.tenant_id, latent=self.latent, rarest=side.rarest)
        weights = np.array([question_weight(one.known, usual=side.usual) for one in folded], np.float32)
        whole_vectors = vectors_join(plain, np.stack([one.numbers for one in folded]), side=side)
        return np.hstack([plain, weights[:, None] * whole_vectors])

    def trust(self, cjk_share: float) -> float:
        """See ports.Embedder."""
        return self.embedder.trust(cjk_share)


def questions_fold(
    terms: Sequence[Sequence[str]], *, tenant_id: int, latent: int, rarest: float
) -> list[FoldedQuestion]:
    """Questions folded in, from their terms."""
    texts = sorted({text for one in terms for text in one})
    found = fetch(OF_TEXTS, {"latent": latent, "tenant": tenant_id, "texts": texts}) if texts else []
    known = {text: (halfvec_read(sent), rarity) for text, sent, rarity in found}
    return [question_folded(one, known, rarest=rarest) for one in terms]


# ── entries ───────────────────────────────────────────────────────────────────────────────────────


def latents_for_new(*, tenant_id: int, model: str) -> tuple[int, ...]:
    """The fits that new entries get vectors of. Call where the state is locked (`rotation_for_new`)."""
    found = fetch(FOR_NEW, {"tenant": tenant_id, "model": model})
    return tuple(found[0][0]) if found else ()


def entry_vectors(
    vectors: FloatArray, weights: Sequence[Mapping[int, float]], *, latent: int, terms: LatentTerms | None = None
) -> FloatArray:
    """float32[n, 768]: the joined vectors of entries, from their whole vectors and their weights by term id.

    `terms`: of the fit, where many entries are folded; otherwise those of these entries are read.
    """
    if terms is None:
        terms = latent_terms(latent, ids={term for row in weights for term in row})
    return vectors_join(vectors, terms.fold(SparseRows.of(weights)), side=latent_side(latent))


def vectors_join(vectors: FloatArray, latent: FloatArray, *, side: LatentSide) -> FloatArray:
    """float32[n, 768] of the embedder's vectors, float32[n, 768], and the latent numbers of the same texts."""
    return joined(coarse_vectors(vectors, rotation=side.rotation, model=side.model), latent)


def latent_terms(latent: int, *, ids: set[int] | None = None) -> LatentTerms:
    """The numbers of these terms, or of all."""
    if ids is None:
        rows = fetch(ALL_TERMS, {"latent": latent})
    else:
        rows = fetch(OF_IDS, {"latent": latent, "ids": ids_text(sorted(ids))})
    vectors = np.empty((len(rows), LATENT), np.float32)
    for place, row in enumerate(rows):
        vectors[place] = halfvec_read(row[2])
    return LatentTerms(
        np.array([row[0] for row in rows], np.int64), vectors, np.array([row[1] for row in rows], np.float32)
    )
