"""Texts of chunks, within the asker's rights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible
from ragcore.types import Passage

COLUMNS = """c.id, d.id, c.version_id, c.text, d.title, d.external_id, c.heading_path, c.page, c.tokens, c.ordinal,
    c.kind, d.rating, d.weight"""
LOAD = """
SELECT {columns}
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s) AND d.id IN ({visible})
""".replace("{columns}", COLUMNS)
NEIGHBOURS = """
SELECT {columns}
FROM knowledge_chunk hit
JOIN knowledge_chunk c ON c.version_id = hit.version_id AND c.heading_path = hit.heading_path
    AND c.ordinal BETWEEN hit.ordinal - %(around)s AND hit.ordinal + %(around)s
    AND c.retired IS NULL AND c.kind = 'body'
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE hit.id = ANY(%(chunks)s) AND hit.kind = 'body' AND d.id IN ({visible})
""".replace("{columns}", COLUMNS)
# The smaller side first: sections of the few hits, then the children of these.
SECTIONS = """
WITH hits AS (
    SELECT parent_id, count(*) AS number
    FROM knowledge_chunk
    WHERE id = ANY(%(chunks)s) AND parent_id IS NOT NULL AND kind = 'body' AND retired IS NULL
    GROUP BY parent_id HAVING count(*) >= %(least)s
), sections AS (
    SELECT child.parent_id
    FROM hits JOIN knowledge_chunk child ON child.parent_id = hits.parent_id
    WHERE child.kind = 'body' AND child.retired IS NULL
    GROUP BY child.parent_id, hits.number
    HAVING hits.number > %(share)s * count(*) AND sum(child.tokens) <= %(tokens)s
)
SELECT {columns}, c.parent_id
FROM sections
JOIN knowledge_chunk c ON c.parent_id = sections.parent_id AND c.kind = 'body' AND c.retired IS NULL
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE d.id IN ({visible})
ORDER BY c.parent_id, c.ordinal
""".replace("{columns}", COLUMNS)


def passages_load(*, scope: Scope, visible: Visible, chunks: Sequence[int]) -> dict[int, Passage]:
    """Passages by chunk id; chunks that the asker may not see are left out."""
    del scope  # bound in `visible`
    rows = fetch(LOAD.format(visible=visible.sql), {**visible.params, "chunks": list(chunks)})
    return {row[0]: _passage(row) for row in rows}


def passages_around(*, scope: Scope, visible: Visible, chunks: Sequence[int], around: int) -> list[Passage]:
    """Passages up to `around` before and after each chunk, of its live version and under its headings, each once."""
    del scope  # bound in `visible`
    params = {**visible.params, "chunks": list(chunks), "around": around}
    rows = fetch(NEIGHBOURS.format(visible=visible.sql), params)
    given = set(chunks)
    return list({row[0]: _passage(row) for row in rows if row[0] not in given}.values())


def passages_of_sections(
    *, scope: Scope, visible: Visible, chunks: Sequence[int], max_tokens: int, any_share: bool = False
) -> list[tuple[Passage, ...]]:
    """All passages of each section of which more than half, and at least two, are `chunks`, in reading order.

    `any_share`: of each section in which one of them stands. A section of more than `max_tokens` is left out.
    """
    del scope  # bound in `visible`
    limits = {"least": 1, "share": 0.0} if any_share else {"least": 2, "share": 0.5}
    params = {**visible.params, **limits, "chunks": list(chunks), "tokens": max_tokens}
    sections: dict[int, list[Passage]] = defaultdict(list)
    for row in fetch(SECTIONS.format(visible=visible.sql), params):
        sections[row[-1]].append(_passage(row))
    return [tuple(passages) for passages in sections.values()]


def _passage(row: Sequence[Any]) -> Passage:
    """Of COLUMNS."""
    return Passage(
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
        kind=row[10],
        rating=row[11],
        weight=row[12],
    )
