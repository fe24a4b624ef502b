"""How many passages a search goes through, within the asker's rights (B6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible

KEPT = 1000  # counts a process remembers

COUNT = """
SELECT count(*)
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND d.id IN ({visible})
"""


def entries_visible(*, scope: Scope, visible: Visible, epoch: int) -> int:
    """Live entries that the asker may see; counted once for the same rights and corpus epoch."""
    key = f"{visible.sql} {sorted(visible.params.items())!r}"
    return _counted(_Question(tenant_id=scope.tenant_id, epoch=epoch, key=key, visible=visible))


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
