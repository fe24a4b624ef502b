"""Texts of chunks, within the asker's rights."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible
from ragcore.types import Passage

LOAD = """
SELECT c.id, d.id, c.version_id, c.text, d.title, d.external_id, c.heading_path, c.page, c.tokens, c.ordinal
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s) AND d.id IN ({visible})
"""


def passages_load(*, scope: Scope, visible: Visible, chunks: Sequence[int]) -> dict[int, Passage]:
    """Passages by chunk id; chunks that the asker may not see are left out."""
    del scope  # bound in `visible`
    rows = fetch(LOAD.format(visible=visible.sql), {**visible.params, "chunks": list(chunks)})
    return {
        row[0]: Passage(
            chunk=row[0],
            document=row[1],
            version=row[2],
            text=row[3],
            title=row[4],
            external_id=row[5],
            heading_path=tuple(row[6]),
            page=row[7],
            tokens=row[8],
            ordinal=row[9],
        )
        for row in rows
    }
