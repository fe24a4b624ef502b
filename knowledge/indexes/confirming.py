"""What another search backend has found, checked against Postgres before anything of it is seen (D39, B6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible

CONFIRM = """
SELECT e.id, e.chunk_id, d.id, e.representation
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.id = ANY(%(ids)s) AND e.tenant_id = %(tenant)s AND d.id IN ({visible})
"""
DOCUMENTS = "SELECT id FROM knowledge_document WHERE id IN ({visible}) LIMIT %(limit)s"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An entry that is there, live, and visible to the asker."""

    id: int
    chunk: int
    document: int
    representation: str


def confirmed_load(*, scope: Scope, visible: Visible, entries: Sequence[int]) -> dict[int, Confirmed]:
    """Those of the entries that the asker may find now, by id."""
    params = {**visible.params, "tenant": scope.tenant_id, "ids": list(entries)}
    return {row[0]: Confirmed(*row) for row in fetch(CONFIRM.format(visible=visible.sql), params)}


def documents_load(*, scope: Scope, visible: Visible, limit: int) -> list[int]:
    """Ids of visible documents, at most `limit`."""
    del scope  # bound in `visible`
    return [row[0] for row in fetch(DOCUMENTS.format(visible=visible.sql), {**visible.params, "limit": limit})]
