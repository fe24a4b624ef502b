"""What a cached answer depends on: readable sets, their epoch, facts for profiles; and its citations again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.reader_lists import LISTS, lists_params, lists_value
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from knowledge.types import AnswerSpace

SPACE = """
SELECT readable.pk, readable.is_open, {lists},
    (SELECT everywhere FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s), e.value, a.id, m.id
FROM (
    SELECT pk, false AS is_open FROM ({readable}) listed
    UNION ALL
    SELECT id, true FROM knowledge_knowledgeset
    WHERE tenant_id = %(tenant)s AND rights = 'source' AND id NOT IN ({readable})
    AND EXISTS (SELECT FROM knowledge_readerlist WHERE tenant_id = %(tenant)s)
) readable LEFT JOIN knowledge_setepoch e ON e.knowledge_set_id = readable.pk
LEFT JOIN knowledge_queryadapter a ON a.knowledge_set_id = readable.pk AND a.state = 'live'
LEFT JOIN knowledge_setembedder m ON m.knowledge_set_id = readable.pk AND m.state = 'live'
"""
CITED = """
SELECT count(*)
FROM unnest(%(chunks)s::bigint[], %(versions)s::bigint[], %(documents)s::bigint[]) AS cited(chunk, version, document)
JOIN knowledge_chunk c ON c.id = cited.chunk AND c.version_id = cited.version AND c.retired IS NULL
JOIN knowledge_document d ON d.id = cited.document AND d.live_version_id = cited.version AND d.state = 'live'
WHERE d.id IN ({visible})
"""
TAGS = "SELECT DISTINCT unnest(d.tags) FROM knowledge_document d WHERE d.id IN ({visible})"
ATTRIBUTES = """
SELECT DISTINCT one.key, one.value::text FROM knowledge_document d, jsonb_each(d.metadata) AS one
WHERE d.id IN ({visible})
"""
NAMES = "SELECT axis, code, name FROM knowledge_knowledgeset WHERE id = ANY(%(readable)s::bigint[])"


def answer_space_load(
    *, scope: Scope, readable: str, params: Mapping[str, Any], set_ids: Collection[int]
) -> AnswerSpace:
    """The sets of an answer, as of this moment. `readable`: a query for the ids of readable sets (`ids_sql`).

    `set_ids`: the sets that the request names; () for all. Sets from which a source lets people read count as asked.
    """
    rows = fetch(SPACE.format(readable=readable, lists=LISTS), {**params, **lists_params(scope)})
    sets = [row for row in rows if not set_ids or row[0] in set_ids]
    return AnswerSpace(
        readable=tuple(sorted(row[0] for row in rows if not row[1])),
        asked=tuple(sorted(row[0] for row in sets)),
        epoch=max((value for row in sets for value in row[3:5] if value), default=0),
        adapters=tuple(sorted(row[5] for row in sets if row[5] is not None and not row[1])),
        set_embedders=tuple(sorted(row[6] for row in sets if row[6] is not None and not row[1])),
        lists=lists_value(rows[0][2]) if rows else None,
    )


def citations_count(*, scope: Scope, visible: Visible, cited: Sequence[tuple[int, int, int]]) -> int:
    """How many of these (chunk, version, document) the asker can find now, in the live version of a document."""
    del scope  # bound in `visible`
    chunks, versions, documents = (list(column) for column in zip(*cited, strict=True))
    params = {**visible.params, "chunks": chunks, "versions": versions, "documents": documents}
    return int(fetch(visible.applied(CITED), params)[0][0])


def facts_present(*, scope: Scope, visible: Visible, readable: Sequence[int]) -> Mapping[str, frozenset[str]]:
    """Kind -> values of all visible documents, as in DocumentFacts; `readable`: sets whose names count."""
    del scope  # bound in `visible`
    facts: dict[str, set[str]] = {}
    for axis, code, name in fetch(NAMES, {"readable": list(readable)}):
        facts.setdefault(f"axis {axis}", set()).update((code, name))
    facts["tag"] = {row[0] for row in fetch(visible.applied(TAGS), visible.params)}
    for key, text in fetch(visible.applied(ATTRIBUTES), visible.params):
        value = json.loads(text)
        facts.setdefault(key, set()).update(map(str, value) if isinstance(value, list) else (str(value),))
    return {kind: frozenset(values) for kind, values in facts.items()}
