"""Document frequencies within what an asker may see, where that is little (D3, B6).

Statistics that unlike texts share cost quality (.02 nDCG), and what one may not see should not weigh in what one sees.
Up to LOCAL_PASSAGES passages are gone through, by their documents: that takes some milliseconds, and a process
remembers the result for each term until the corpus changes. Beyond, the statistics of the tenant serve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.counting import Memory, epoch_of, tenant_counted, visible_counted, visible_key
from knowledge.indexes.rows import fetch
from knowledge.indexes.sparse import sparse_text
from knowledge.indexes.visibility import Visible

LOCAL_PASSAGES = 1500  # measured: 10 ms for a question of ten terms that nobody has asked before
KEPT_TERMS = 50_000

TOTALS = """
SELECT e.language, count(DISTINCT e.chunk_id)
FROM knowledge_document d
JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
WHERE d.id IN ({visible}) GROUP BY e.language
"""
FREQUENCIES = """
SELECT asked.id, count(DISTINCT held.chunk_id)
FROM (
    -- the cast reads a vector that stands outside of its row once, and not once a term: half the time
    SELECT e.chunk_id, e.bm25::sparsevec(1000000000) AS bm25
    FROM knowledge_document d
    JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
    WHERE d.id IN ({visible})
    OFFSET 0
) held
CROSS JOIN unnest(%(ids)s::bigint[], %(vectors)s::sparsevec[]) AS asked (id, one)
WHERE (held.bm25 <#> asked.one) < 0
GROUP BY asked.id
"""

totals: Memory[dict[str, int]] = Memory()
terms_counted: Memory[int] = Memory(limit=KEPT_TERMS)


@dataclass(frozen=True, slots=True)
class Local:
    """Passages that contain a term, by its id, and passages by language; only visible ones."""

    terms: Mapping[int, int]
    totals: Mapping[str, int]


def local_counts(*, scope: Scope, visible: Visible, terms: Sequence[int]) -> Local | None:
    """Counts within what the asker may see; None where that is much, or all there is."""
    epoch = epoch_of(scope=scope, visible=visible)
    seen = visible_counted(scope=scope, visible=visible, epoch=epoch)
    total = tenant_counted(tenant_id=scope.tenant_id, epoch=epoch)
    if seen.passages > LOCAL_PASSAGES or seen.passages >= total.passages:
        return None
    key = (scope.tenant_id, visible_key(visible))
    known = {term: count for term in terms if (count := terms_counted.peek((*key, term), epoch=epoch)) is not None}
    if missing := [term for term in terms if term not in known]:
        counted = _counted(visible, missing)
        for term in missing:
            known[term] = counted.get(term, 0)
            terms_counted.put((*key, term), known[term], epoch=epoch)
    return Local(known, totals.get(key, epoch=epoch, make=lambda: _totals(visible)))


def _counted(visible: Visible, terms: Sequence[int]) -> dict[int, int]:
    params = {**visible.params, "ids": list(terms), "vectors": [sparse_text({term: 1.0}) for term in terms]}
    return dict(fetch(FREQUENCIES.format(visible=visible.sql), params))


def _totals(visible: Visible) -> dict[str, int]:
    return dict(fetch(TOTALS.format(visible=visible.sql), visible.params))
