"""Where vectors and words are searched: a module for each backend, the same ports, the same contract tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from accounts.scope import Scope
from knowledge.backends.falling_back import FallingBackLexicalIndex, FallingBackVectorIndex, Report
from knowledge.backends.postgres import ScopedLexicalIndex, ScopedPassageStore, ScopedVectorIndex
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


def backend_of(*, scope: Scope, visible: Visible, model: str) -> Backend:
    """Postgres, or what SEARCH_BACKEND names once the asker's tenant has been copied there.

    Texts always come from Postgres, and so do all answers while the other backend fails.
    """
    said: dict[str, Any] = {}
    lexical = ScopedLexicalIndex(scope, visible, said=said)
    passages = ScopedPassageStore(scope, visible)
    vectors = ScopedVectorIndex(scope, visible, model, said=said)
    collection = backend_collection(scope=scope) if settings.SEARCH_BACKEND == "milvus" else None
    if collection is None:
        return Backend(lexical=lexical, vectors=vectors, passages=passages, note=said)
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
