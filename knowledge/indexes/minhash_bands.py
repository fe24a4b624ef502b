"""Versions whose MinHash sketches share a band with another one (D25)."""

from __future__ import annotations

from knowledge.indexes.statements import fetch

SHARING = """
SELECT other.version_id
FROM knowledge_sketchband mine
JOIN knowledge_sketchband other
  ON other.tenant_id = mine.tenant_id AND other.band = mine.band AND other.value = mine.value
WHERE mine.version_id = %(version)s AND other.version_id <> mine.version_id
GROUP BY other.version_id ORDER BY count(*) DESC, other.version_id LIMIT %(limit)s
"""


def versions_sharing_a_band(version_id: int, *, limit: int) -> list[int]:
    """Ids of other versions of the tenant that may be similar, those with most common bands first.

    The bands of the version itself must be stored.
    """
    return [row[0] for row in fetch(SHARING, {"version": version_id, "limit": limit})]
