"""Words of facts: how frequent they are, and the facts that have them.

A word of a million facts costs no more than one of a thousand: facts with small digests are a sample with an index of
its own, and a word is counted in the smallest sample that has enough of it. Counts are of facts that the asker may see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

from knowledge.indexes.lexical import rarest_within
from ragcore.text.lexical_features import idf

LEAST_DIGEST = -(2**63)
# One fact in so many has a digest below; each sample has an index of its own (migration 0043).
SAMPLED = {8: LEAST_DIGEST + 2**61, 64: LEAST_DIGEST + 2**58, 512: LEAST_DIGEST + 2**55}
ENOUGH = 12  # facts of a sample with a term from which the number of all is estimated, mostly within a third
COUNTED = 2000  # facts with a term that are counted in the whole or in one sample
CANDIDATES = 3000  # facts that words bring, the rarest terms first
FREQUENT_TERMS = 4  # of a question that are searched together where they are too frequent to be searched alone
USUAL_TERMS = 8  # of a fact; shorter ones weigh more
FEWEST = 1000  # facts that idf is computed of, at least
MAX_TERMS = 48  # of a question
MAX_RATED = 400  # terms of a question and its facts that are weighed
MAX_TERM_CHARACTERS = 100
LENGTH_B = 0.75

VISIBLE = """
t.tenant_id = %(tenant)s AND t.state <> 'rejected' AND (
    (t.document_id IS NULL AND t.knowledge_set_id = ANY(%(sets)s)) OR
    (t.document_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM knowledge_document d
        WHERE d.id = t.document_id AND d.live_version_id = t.version_id AND d.id IN ({visible})
    ) AND (t.chunk_id IS NULL OR EXISTS (
        SELECT 1 FROM knowledge_chunk c WHERE c.id = t.chunk_id AND c.retired IS NULL
    )))
)
"""
# for searches by words: an index of the tenant or of a set would bring all of its facts to each term
VISIBLE_WORDS = VISIBLE.replace("t.tenant_id =", "t.tenant_id + 0 =").replace(
    "t.knowledge_set_id =", "t.knowledge_set_id + 0 ="
)
COLUMNS = "t.id, t.subject, t.relation, t.object, t.subject_type, t.object_type"
WITH_TERM = f"""(
    SELECT count(*) FROM (
        SELECT 1 FROM knowledge_triple t
        WHERE t.lexemes @@ asked.term::tsquery AND {{among}} AND {VISIBLE_WORDS} LIMIT {COUNTED}
    ) counted
)"""  # noqa: S608 - constants

BY_WORDS = f"""
WITH found AS MATERIALIZED (
    SELECT {COLUMNS}, t.lexemes, t.length FROM knowledge_triple t
    WHERE t.lexemes @@ %(any)s::tsquery AND {VISIBLE_WORDS} LIMIT {2 * CANDIDATES}
)
SELECT t.id, t.subject, t.relation, t.object, t.subject_type, t.object_type, (
    SELECT sum(asked.weight) FROM unnest(%(terms)s::tsquery[], %(weights)s::float8[]) AS asked(term, weight)
    WHERE t.lexemes @@ asked.term
) / (1::float8 + 1.2 * (0.25 + {LENGTH_B} * t.length / {USUAL_TERMS})::float8) AS score
FROM found t ORDER BY score DESC, t.id LIMIT %(limit)s
"""  # noqa: S608 - constants
_QUOTED = re.compile(r"(['\\])")


def _counted_in_samples() -> str:
    """The number of facts with a term, by the smallest sample that has enough of them; the whole is asked last."""
    sql = WITH_TERM.replace("{among}", "true")
    for share, below in sorted(SAMPLED.items()):
        sample = WITH_TERM.replace("{among}", f"t.digest + 0 < {below}")
        found = f"(SELECT {sample} OFFSET 0) s(n)"  # noqa: S608 - constants; OFFSET: counted once
        sql = f"(SELECT CASE WHEN n >= {ENOUGH} THEN {share} * n ELSE {sql} END FROM {found})"  # noqa: S608
    return sql


FREQUENCIES = f"SELECT asked.term, {_counted_in_samples()} FROM unnest(%(terms)s::text[]) AS asked(term)"  # noqa: S608


def lexeme(term: str) -> str:
    """A term as text of a tsvector or a tsquery."""
    return f"'{term}'" if term.isalnum() else "'" + _QUOTED.sub(r"\1\1", term) + "'"


def words_queries(counts: Mapping[str, int]) -> list[str]:
    """Queries for facts with some of the terms, the most telling first; each is wanted where those before find too few.

    Rare terms bring all of their facts. Frequent ones are first searched together, so that of many facts those come
    that have most of them.
    """
    rare = [term for term in rarest_within(counts, cap=CANDIDATES) if counts[term] <= CANDIDATES]
    frequent = [lexeme(t) for t in sorted(counts, key=lambda t: (counts[t], t)) if t not in rare][:FREQUENT_TERMS]
    queries = [" | ".join(map(lexeme, rare)), " & ".join(frequent)]
    if len(frequent) > 2:
        queries.append(" | ".join(f"{first} & {other}" for first, other in combinations(frequent[:3], 2)))
    return [query for query in dict.fromkeys([*queries, *frequent[:1]]) if query]


def term_weights(counts: Mapping[str, int]) -> dict[str, float]:
    """idf of each term, as if half of the facts had the most frequent one."""
    total = max(FEWEST, 2 * max(counts.values(), default=0))
    return {term: idf(total, number) for term, number in counts.items()}
