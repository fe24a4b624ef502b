"""The space in which questions are compared with passages, for fitting query adapters in it (D6, D7).

Everything about it is asked here: its name, vectors of questions, and vectors of a set's passages within somebody's
rights. An adapter takes part in searches as long as the space has the name that it was fitted in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.latent import LatentEmbedder, latent_name
from knowledge.indexes.rotations import live_latent
from knowledge.indexes.training_vectors import PassageVectors, passage_vectors_load
from knowledge.selectors.documents import backend_collection
from knowledge.selectors.visibility import visible_to
from ragcore.embedding.vectors import whole
from ragcore.ports import FloatArray

MOST_ENTRIES = 120_000  # 370 MB; of larger sets some documents are read, and the training says how many


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The embedding model in use, alone or with a fit of domain vectors (`latent` above 0, decision 025)."""

    tenant_id: int
    latent: int

    @property
    def name(self) -> str:
        """Of what is compared; with every fit another one."""
        return space_name(self.latent)

    def question_vectors(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 768], as searches compare them with passages where no adapter takes part."""
        embedder = model_registry.embedder()
        if not self.latent:
            return embedder.embed_queries(texts)
        joined = LatentEmbedder(embedder, model_registry.tokenizer(), self.tenant_id, self.latent)
        return whole(joined.embed_queries(texts))

    def passage_vectors(self, *, scope: Scope, set_id: int) -> PassageVectors:
        """Entries of the set's passages that the asker may search, as they are compared with questions."""
        visible = visible_to(scope=scope, sets=[set_id])
        model = model_registry.embedder().model
        return passage_vectors_load(scope=scope, visible=visible, model=model, latent=self.latent, limit=MOST_ENTRIES)


def space_of(*, scope: Scope) -> VectorSpace:
    """The space of the asker's tenant at this moment. Another search backend than Postgres has no domain vectors."""
    if settings.SEARCH_BACKEND == "milvus" and backend_collection(scope=scope) is not None:
        return VectorSpace(scope.tenant_id, 0)
    model = model_registry.embedder().model
    return VectorSpace(scope.tenant_id, live_latent(tenant_id=scope.tenant_id, model=model))


def space_name(latent: int = 0) -> str:
    """The name of a space by its fit of domain vectors; 0: none."""
    model = model_registry.embedder().model
    return latent_name(model, latent) if latent else model


def space_dimensions() -> int:
    """Length of the vectors that are compared."""
    return model_registry.embedder().dimensions
