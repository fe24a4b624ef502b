"""What is known of documents and passages besides their texts, within the asker's rights (D4, D13)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible
from ragcore.types import DocumentFacts

FACTS = """
SELECT d.id, d.tags, d.metadata,
    jsonb_agg(jsonb_build_array(s.id, s.axis, s.code, s.name) ORDER BY s.id) FILTER (WHERE s.id IS NOT NULL)
FROM knowledge_document d
LEFT JOIN knowledge_document_sets m ON m.document_id = d.id
LEFT JOIN knowledge_knowledgeset s ON s.id = m.knowledgeset_id AND s.id = ANY(%(readable)s)
WHERE d.id = ANY(%(documents)s) AND d.id IN ({visible})
GROUP BY d.id
"""
HEADS = """
SELECT c.id, d.title, c.heading_path
FROM knowledge_chunk c
JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s) AND d.id IN ({visible})
"""


def facts_load(
    *, scope: Scope, visible: Visible, readable: Sequence[int], documents: Sequence[int]
) -> dict[int, DocumentFacts]:
    """Facts by document id; documents that the asker may not see are left out, and so are sets not in `readable`."""
    del scope  # bound in `visible` and `readable`; asked for so that no caller can forget it
    if not documents:
        return {}
    params = {**visible.params, "readable": list(readable), "documents": sorted(set(documents))}
    rows = fetch(FACTS.format(visible=visible.sql), params)
    return {row[0]: _facts(row[1], json.loads(row[2]), json.loads(row[3] or "[]")) for row in rows}


def heads_load(*, scope: Scope, visible: Visible, chunks: Sequence[int]) -> dict[int, str]:
    """Title and headings by chunk id, one text each; chunks that the asker may not see are left out."""
    del scope  # bound in `visible`
    if not chunks:
        return {}
    rows = fetch(HEADS.format(visible=visible.sql), {**visible.params, "chunks": list(chunks)})
    return {chunk: " ".join([title, *headings]) for chunk, title, headings in rows}


def _facts(tags: Iterable[str], metadata: Mapping[str, Any], sets: Iterable[Sequence[Any]]) -> DocumentFacts:
    values: dict[str, tuple[str, ...]] = {"tag": tuple(tags)}
    ids: list[int] = []
    for key, value in metadata.items():
        values[key] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
    for set_id, axis, code, name in sets:
        ids.append(set_id)
        kind = f"axis {axis}"
        values[kind] = (*values.get(kind, ()), code, name)
    return DocumentFacts(sets=tuple(ids), values=values)
