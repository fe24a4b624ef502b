"""Ranking from use: what one search may rank with, and what owners see of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.scope import Scope
from knowledge.indexes.use_evidence import use_evidence_load
from knowledge.indexes.visibility import Visible
from knowledge.models import KnowledgeSet, UseEvidence, UseSummary
from knowledge.selectors.documents import documents_readable
from knowledge.selectors.query_adapters import sets_asked
from knowledge.selectors.sets import set_owned
from ragcore.ports import Embedder
from ragcore.types import Query, UseHint


@dataclass(frozen=True, slots=True)
class ScopedUseIndex:
    """Implements UseIndex for one asker: evidence of the sets that are asked and the asker may read.

    Which passages there are the search decides; of others nothing is looked up.
    """

    scope: Scope
    visible: Visible
    embedder: Embedder
    sets: Sequence[int] = ()

    def hints(self, query: Query, chunks: Sequence[int]) -> list[UseHint]:
        set_ids = sets_asked(scope=self.scope, visible=self.visible, sets=self.sets)
        if not set_ids or not chunks:
            return []
        vector = query.vector
        if vector is None:  # a search by words alone
            vector = self.embedder.embed_queries([query.embedded_text])[0]
        return use_evidence_load(
            scope=self.scope, sets=sorted(set_ids), vector=vector, model=self.embedder.model, chunks=chunks
        )


# ── to see ──────────────────────────────────────────────────────────────────────────────────────


def use_summary_get(*, scope: Scope, set_id: int) -> tuple[KnowledgeSet, UseSummary | None]:
    """A set that the asker keeps, with what was learnt from its use. Raises NotFoundError, NotAllowedError."""
    home = set_owned(scope=scope, set_id=set_id)
    return home, UseSummary.objects.filter(knowledge_set=home).first()


def use_evidence_of_set(*, scope: Scope, set_id: int) -> QuerySet[UseEvidence]:
    """Evidence of a set that the asker keeps, of documents that they may open.

    Raises NotFoundError, NotAllowedError.
    """
    home = set_owned(scope=scope, set_id=set_id)
    readable = documents_readable(scope=scope).order_by().values("pk")
    rows = UseEvidence.objects.filter(knowledge_set=home, document__in=readable)
    return rows.select_related("document", "chunk").defer("vector")
