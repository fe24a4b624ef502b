"""SQL of entities: storing mentions by COPY, taking them out again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection

from knowledge.indexes.graph_triples import entity_key
from knowledge.indexes.statements import execute, fetch, ids_text
from knowledge.models.graph import KEY_CHARACTERS
from ragcore.graph.mentions import EntityMention

ADD_ENTITIES = """
INSERT INTO knowledge_entity (tenant_id, key, name, kind)
SELECT %(tenant)s, a.key, a.name, a.kind FROM unnest(%(keys)s::text[], %(names)s::text[], %(kinds)s::text[])
    AS a(key, name, kind)
ORDER BY a.key ON CONFLICT (tenant_id, key) DO NOTHING
"""
ENTITY_IDS = "SELECT key, id FROM knowledge_entity WHERE tenant_id = %(tenant)s AND key = ANY(%(keys)s::text[])"
MENTION_COLUMNS = (
    'tenant_id, entity_id, document_id, version_id, chunk_id, kind, start, "end", sentence_start, sentence_end'
)
ALIAS_COLUMNS = "tenant_id, entity_id, other_id, document_id, version_id, chunk_id, kind"
REMOVE = """
DELETE FROM {table} m USING knowledge_chunk c
WHERE c.id = m.chunk_id AND c.version_id = ANY(%(versions)s::bigint[])
{returning}
"""
ALIASES_REMOVE = REMOVE.format(table="knowledge_entityalias", returning="")
MENTIONS_REMOVE = (
    f"WITH gone AS ({REMOVE.format(table='knowledge_mention', returning='RETURNING m.entity_id')}) "  # noqa: S608
    "SELECT DISTINCT entity_id FROM gone"
)
PRUNE = """
DELETE FROM knowledge_entity e WHERE e.id = ANY(%(entities)s::bigint[])
    AND NOT EXISTS (SELECT 1 FROM knowledge_mention m WHERE m.entity_id = e.id)
"""
# readings of versions that are not live any more, or whose document stands in no set that wants entities
OUTDATED = """
SELECT r.version_id FROM knowledge_entityreading r
WHERE NOT EXISTS (
    SELECT 1 FROM knowledge_document d JOIN knowledge_document_sets s ON s.document_id = d.id
    WHERE d.live_version_id = r.version_id AND d.deleted IS NULL AND s.knowledgeset_id = ANY(%(sets)s::bigint[])
) LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPassage:
    """A passage with its mentions, and pairs of names (name, other, kind) that it says are one."""

    document: int
    version: int
    chunk: int
    mentions: Sequence[EntityMention]
    aliases: Sequence[tuple[str, str, str]] = ()


def mentions_store(passages: Sequence[ReadPassage], *, tenant_id: int) -> int:
    """Store mentions and other names within the caller's transaction; entities that are new are added. The number."""
    names_of_keys: dict[str, tuple[str, str]] = {}
    for passage in passages:
        for mention in passage.mentions:
            names_of_keys.setdefault(entity_key(mention.name), (mention.name[:KEY_CHARACTERS], mention.kind))
        for first, second, kind in passage.aliases:
            names_of_keys.setdefault(
                entity_key(first), (first[:KEY_CHARACTERS], "abbreviation" if kind != "bracket" else "term")
            )
            names_of_keys.setdefault(entity_key(second), (second[:KEY_CHARACTERS], "term"))
    names_of_keys.pop("", None)
    if not names_of_keys:
        return 0
    keys = list(names_of_keys)
    names, kinds = [names_of_keys[key][0] for key in keys], [names_of_keys[key][1] for key in keys]
    execute(ADD_ENTITIES, {"tenant": tenant_id, "keys": keys, "names": names, "kinds": kinds})
    ids: dict[str, int] = dict(fetch(ENTITY_IDS, {"tenant": tenant_id, "keys": keys}))
    count = _copy("knowledge_mention", MENTION_COLUMNS, _mention_rows(passages, ids, tenant_id))
    _copy("knowledge_entityalias", ALIAS_COLUMNS, _alias_rows(passages, ids, tenant_id))
    return count


def _mention_rows(passages: Sequence[ReadPassage], ids: dict[str, int], tenant_id: int) -> Iterable[tuple[object, ...]]:
    for passage in passages:
        for mention in passage.mentions:
            if entity := ids.get(entity_key(mention.name)):
                yield (
                    tenant_id, entity, passage.document, passage.version, passage.chunk,
                    mention.kind, mention.start, mention.end, mention.sentence_start, mention.sentence_end,
                )  # fmt: skip


def _alias_rows(passages: Sequence[ReadPassage], ids: dict[str, int], tenant_id: int) -> Iterable[tuple[object, ...]]:
    for passage in passages:
        pairs = {(ids.get(entity_key(a)), ids.get(entity_key(b)), kind) for a, b, kind in passage.aliases}
        for first, second, kind in sorted((a, b, kind) for a, b, kind in pairs if a and b and a != b):
            yield tenant_id, first, second, passage.document, passage.version, passage.chunk, kind


def _copy(table: str, columns: str, rows: Iterable[tuple[object, ...]]) -> int:
    count = 0
    with connection.cursor() as cursor, cursor.cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


def mentions_remove(*, versions: Sequence[int]) -> None:
    """Take out all mentions and other names of versions, and the entities that nothing mentions any more."""
    params = {"versions": ids_text(versions)}
    execute(ALIASES_REMOVE, params)
    entities = [row[0] for row in fetch(MENTIONS_REMOVE, params)]
    if entities:
        execute(PRUNE, {"entities": ids_text(entities)})


def readings_outdated(*, sets: Sequence[int], limit: int) -> list[int]:
    """Versions whose mentions are of no use any more."""
    return [row[0] for row in fetch(OUTDATED, {"sets": ids_text(sets), "limit": limit})]
