"""Documents by file name and folder, among what the asker may see (decision 021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accounts.scope import Scope
from knowledge.indexes.statements import fetch_many
from knowledge.indexes.visibility import Visible
from ragcore.types import NamedDocument, NameMention

MOST_READ = 5000  # documents that have a key or all words, whoever may see them
MOST_DOCUMENTS = 2000  # of these that have a key and are visible: a large folder
MOST_NEAR = 60  # that have all words; with more of them the words say little, and none is returned
LISTED = 20  # documents whose passages and names are returned
PASSAGES = 120  # of all of these together, the first ones of each

# Names first, and then rights row by row: the planner would read all that is visible.
NAMED = """
WITH hit AS MATERIALIZED (
    SELECT n.document_id, n.terms, {place} AS place FROM knowledge_documentnames n
    WHERE n.terms {has} %(terms)s::text[] AND n.tenant_id = %(tenant)s LIMIT %(read)s
), found AS MATERIALIZED (
    SELECT seen.*, hit.terms, hit.place
    FROM hit CROSS JOIN LATERAL (
        SELECT d.id, d.live_version_id, d.title FROM knowledge_document d
        WHERE d.id = hit.document_id AND d.live_version_id IS NOT NULL AND d.id IN ({{visible}}) LIMIT 1
    ) seen
    {order} LIMIT %(limit)s
), listed AS (
    SELECT found.*, row_number() OVER (ORDER BY place, cardinality(terms), id) AS number, count(*) OVER () AS total
    FROM found
)
SELECT listed.id, listed.title, listed.place,
    CASE WHEN listed.number > %(listed)s THEN '' ELSE (
        SELECT term FROM unnest(listed.terms) AS term WHERE term LIKE '/%%' ORDER BY length(term) DESC, term LIMIT 1
    ) END,
    CASE WHEN listed.number > %(listed)s THEN '{{{{}}}}' ELSE ARRAY(
        SELECT c.id FROM knowledge_chunk c
        WHERE c.version_id = listed.live_version_id AND c.retired IS NULL
            AND EXISTS (SELECT FROM knowledge_indexentry e WHERE e.chunk_id = c.id)
        ORDER BY c.ordinal LIMIT greatest(%(passages)s / least(listed.total, %(listed)s), 3)
    ) END
FROM listed ORDER BY listed.number
"""
BY_KEYS = NAMED.format(
    has="&&",
    place="(SELECT min(k.place) FROM unnest(%(terms)s::text[]) WITH ORDINALITY k (key, place)"
    " WHERE k.key = ANY(n.terms))",
    order="ORDER BY hit.place, cardinality(hit.terms), seen.id",
)
BY_WORDS = NAMED.format(has="@>", place="NULL::bigint", order="")  # none is returned where the limit leaves some out


def documents_named(
    *, scope: Scope, visible: Visible, mentions: Sequence[NameMention]
) -> list[tuple[NamedDocument, ...]]:
    """For each mention the documents that have the most specific of its keys, or else all of its words."""
    by_keys = _looked_up(BY_KEYS, scope, visible, [mention.keys for mention in mentions], limit=MOST_DOCUMENTS)
    unknown = [() if documents else tuple(m.words) for m, documents in zip(mentions, by_keys, strict=True)]
    near = _looked_up(BY_WORDS, scope, visible, unknown, limit=MOST_NEAR + 1)
    return [
        tuple(document for document in exact if document.place == exact[0].place)
        or (tuple(loose) if len(loose) <= MOST_NEAR else ())
        for exact, loose in zip(by_keys, near, strict=True)
    ]


def _looked_up(
    sql: str, scope: Scope, visible: Visible, terms: Sequence[Sequence[str]], *, limit: int
) -> list[list[NamedDocument]]:
    """Documents for each list of terms, in one round trip; none for an empty list."""
    sizes = {"read": MOST_READ, "limit": limit, "listed": LISTED, "passages": PASSAGES, "tenant": scope.tenant_id}
    params: list[Mapping[str, Any]] = [
        {**visible.params, **sizes, "terms": list(terms_of_mention)} for terms_of_mention in terms if terms_of_mention
    ]
    answers = iter(fetch_many(visible.applied(sql), params) if params else [])
    return [[_document(row) for row in next(answers)] if terms_of_mention else [] for terms_of_mention in terms]


def _document(row: tuple[Any, ...]) -> NamedDocument:
    document, title, place, key, chunks = row
    return NamedDocument(
        document=document, title=title, place=place, name=key.replace("/", " ").strip(), chunks=tuple(chunks)
    )
