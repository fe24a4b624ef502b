"""Chains of relations: whether one would come back to itself, and which documents replace others for an asker."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.statements import fetch, ids_text
from knowledge.indexes.visibility import Visible

LEADS_BACK = """
WITH RECURSIVE chain(id) AS (
    SELECT %(target)s::bigint
    UNION
    SELECT r.target_id FROM chain JOIN knowledge_documentrelation r ON r.source_id = chain.id
    WHERE r.kind = %(kind)s AND r.target_id IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM chain WHERE id = %(source)s)
"""
# Also through documents that the asker may not see and deleted ones, so that what stands around them stays in order.
NEWER = """
WITH RECURSIVE chain(old, id, steps) AS (
    SELECT r.target_id, r.source_id, 1 FROM knowledge_documentrelation r
    WHERE r.target_id = ANY(%(documents)s::bigint[]) AND r.kind = 'replaces' AND NOT r.dismissed
    UNION
    SELECT chain.old, r.source_id, chain.steps + 1
    FROM chain JOIN knowledge_documentrelation r ON r.target_id = chain.id
    WHERE r.kind = 'replaces' AND NOT r.dismissed AND chain.steps < %(most)s
)
SELECT DISTINCT ON (chain.old) chain.old, d.id, d.title, d.external_id, d.metadata, o.title, o.external_id, o.metadata
FROM chain JOIN knowledge_document d ON d.id = chain.id JOIN knowledge_document o ON o.id = chain.old
WHERE d.live_version_id IS NOT NULL AND d.deleted IS NULL AND d.id IN ({visible})
ORDER BY chain.old, chain.steps DESC, d.id DESC
"""
MOST_STEPS = 100  # editions of one document that are followed


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionFacts:
    """What names one edition of a document."""

    document: int
    title: str
    external_id: str
    metadata: Mapping[str, Any]

    @property
    def named(self) -> dict[str, Any]:
        """What a citation says of it."""
        return {"document_id": self.document, "title": self.title, "external_id": self.external_id}


def newer_editions_load(
    *, scope: Scope, visible: Visible, documents: Collection[int]
) -> dict[int, tuple[EditionFacts, EditionFacts]]:
    """Of these documents, those that another visible and searchable one replaces: id -> (the newest one, itself)."""
    del scope  # bound in `visible`
    if not documents:
        return {}
    params = {**visible.params, "documents": ids_text(sorted(documents)), "most": MOST_STEPS}
    rows = fetch(visible.applied(NEWER), params)
    return {
        row[0]: (
            EditionFacts(document=row[1], title=row[2], external_id=row[3], metadata=json.loads(row[4])),
            EditionFacts(document=row[0], title=row[5], external_id=row[6], metadata=json.loads(row[7])),
        )
        for row in rows
    }


def leads_back(*, kind: str, source_id: int, target_id: int) -> bool:
    """Whether the relations of a kind lead from the target to the source already, over whatever documents.

    Dismissed relations count: taking one back must not close a circle.
    """
    return bool(fetch(LEADS_BACK, {"kind": kind, "source": source_id, "target": target_id})[0][0])
