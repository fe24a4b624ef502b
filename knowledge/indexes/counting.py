"""How many passages a search goes through within the asker's rights (B6), and how many vectors a tenant has."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible

KEPT = 1000  # counts a process remembers

COUNT = """
SELECT count(DISTINCT e.chunk_id)
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND d.id IN ({visible})
"""
EPOCH = "SELECT value FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s"
ENTRIES = """
SELECT count(*) FROM (SELECT 1 FROM knowledge_indexentry WHERE tenant_id = %(tenant)s LIMIT %(limit)s) counted
"""


def passages_visible(*, scope: Scope, visible: Visible, epoch: int) -> int:
    """Live passages that the asker may see, each once, whatever stands for it in the index.

    Counted once for the same rights and corpus epoch.
    """
    key = f"{visible.sql} {sorted(visible.params.items())!r}"
    return _counted(_Question(tenant_id=scope.tenant_id, epoch=epoch, key=key, visible=visible))


def has_more_entries(*, tenant_id: int, limit: int) -> bool:
    """Whether a tenant has more entries, each with its vectors, than this. Counted once a corpus epoch."""
    epoch = fetch(EPOCH, {"tenant": tenant_id})
    return _has_more(tenant_id, limit, int(epoch[0][0]) if epoch else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What a count depends on."""

    tenant_id: int
    epoch: int
    key: str
    visible: Visible = field(compare=False)


@lru_cache(maxsize=KEPT)
def _counted(question: _Question) -> int:
    visible = question.visible
    rows = fetch(COUNT.format(visible=visible.sql), {**visible.params, "tenant": question.tenant_id})
    return int(rows[0][0])


@lru_cache(maxsize=KEPT)
def _has_more(tenant_id: int, limit: int, epoch: int) -> bool:
    del epoch  # a part of the key only
    return int(fetch(ENTRIES, {"tenant": tenant_id, "limit": limit + 1})[0][0]) > limit
