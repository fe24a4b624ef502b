"""Where vectors and words are searched: a module for each backend, the same ports, the same contract tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from accounts.scope import Scope
from knowledge.backends.falling_back import FallingBackLexicalIndex, FallingBackVectorIndex, Report
from knowledge.backends.postgres import ScopedLexicalIndex, ScopedPassageStore, ScopedVectorIndex
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.rotations import rotation_state
from knowledge.indexes.visibility import Visible
from knowledge.selectors.documents import backend_collection
from ragcore.ports import LexicalIndex, PassageStore, VectorIndex

__all__ = ["Backend", "ScopedLexicalIndex", "ScopedPassageStore", "ScopedVectorIndex", "backend_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The ports of one asker's search. Stages note `note`: which backend answered."""

    lexical: LexicalIndex
    vectors: VectorIndex
    passages: PassageStore
    note: dict[str, Any] = field(default_factory=dict)
    latent: int = 0  # the fit whose joined vectors are compared; 0: the embedder's own


def backend_of(*, scope: Scope, visible: Visible, model: str, domain_vectors: bool = False) -> Backend:
    """Postgres, or what SEARCH_BACKEND names once the asker's tenant has been copied there.

    `domain_vectors`: compare joined vectors where the tenant has them in use (`knowledge.indexes.latent`).
    Texts always come from Postgres, and so do all answers while the other backend fails.
    """
    said: dict[str, Any] = {}
    lexical = ScopedLexicalIndex(scope, visible, said=said)
    passages = ScopedPassageStore(scope, visible)
    collection = backend_collection(scope=scope) if settings.SEARCH_BACKEND == "milvus" else None
    if collection is None:
        latent = 0
        if domain_vectors:
            epoch = epoch_of(scope=scope, visible=visible)
            latent = rotation_state(tenant_id=scope.tenant_id, model=model, epoch=epoch).latent
        vectors = ScopedVectorIndex(scope, visible, model, said=said, latent=latent)
        return Backend(lexical=lexical, vectors=vectors, passages=passages, note=said, latent=latent)
    vectors = ScopedVectorIndex(scope, visible, model, said=said)
    from knowledge.backends.milvus.search import MilvusLexicalIndex, MilvusVectorIndex, Reach, Searched

    searched = Searched(collection=collection, reach=Reach(scope, visible))
    report = Report({"backend": "milvus"})
    return Backend(
        lexical=FallingBackLexicalIndex(
            first=MilvusLexicalIndex(searched=searched, postgres=lexical), postgres=lexical, report=report
        ),
        vectors=FallingBackVectorIndex(
            first=MilvusVectorIndex(searched=searched, model=model), postgres=vectors, report=report
        ),
        passages=passages,
        note=report.said,
    )
