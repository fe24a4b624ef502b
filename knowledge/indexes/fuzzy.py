"""Similar words and titles by trigrams, among what the asker may see.

pg_trgm finds similar terms, `ragcore.text.spelling` decides which may have been meant. Only terms of passages that the
asker may see are returned: otherwise a correction would reveal words of hidden documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from ragcore.text.spelling import likeness
from ragcore.types import Hit

# Minimum trigram similarity of candidates. Two swapped letters leave a short word little more than NEAR_SHORT; for long
# words that limit would cost 40 ms among 240,000 terms instead of 3.
SHORT_LETTERS = 6
NEAR_SHORT, NEAR_LONG = 0.25, 0.3
NEAREST = 16  # candidates by trigrams; those that differ in one or two letters are kept
# A term of more passages counts as visible without a check: reading its list would take too long.
COMMON = 5_000
READ = 80  # passages that are read to find the character at a position
TITLES = 3  # documents whose title a question may mean
PASSAGES = 40  # of each of them, the first ones

SEEN = """
SELECT DISTINCT t.text FROM knowledge_term t
WHERE t.tenant_id = %(tenant)s AND t.text = ANY(%(words)s) AND t.frequency > 0 AND (
    t.frequency > %(common)s OR EXISTS (
        SELECT 1 FROM knowledge_indexentry e
        JOIN knowledge_document d ON d.live_version_id = e.version_id
        WHERE e.lexemes @@ (t.id::text)::tsquery AND d.id IN ({visible})
    )
)
"""
SETTING = "SELECT set_config(%(name)s, %(least)s, true)"
NEAR_TERMS = """
SELECT w.word, near.text
FROM unnest(%(words)s::text[]) AS w (word)
CROSS JOIN LATERAL (
    SELECT t.text FROM knowledge_term t
    WHERE t.tenant_id = %(tenant)s AND t.frequency > 0 AND t.text %% w.word AND t.text LIKE left(w.word, 1) || '%%'
      AND length(t.text) BETWEEN length(w.word) / 2 AND length(w.word) + 2
    ORDER BY similarity(t.text, w.word) DESC, t.frequency DESC, t.text
    LIMIT %(limit)s
) near
"""
PAIR_IDS = """
SELECT text, id FROM knowledge_term
WHERE tenant_id = %(tenant)s AND text = ANY(%(pairs)s) AND frequency > 0
"""
BETWEEN = """
SELECT found.groups[1] AS character, count(DISTINCT passage.id)
FROM (
    SELECT c.id, c.text
    FROM knowledge_indexentry e
    JOIN knowledge_document d ON d.live_version_id = e.version_id
    JOIN knowledge_chunk c ON c.id = e.chunk_id
    WHERE e.lexemes @@ %(terms)s::tsquery AND d.id IN ({visible})
    LIMIT %(read)s
) passage, regexp_matches(passage.text, %(pattern)s, 'g') AS found (groups)
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s
"""
NEAR_TITLES = """
WITH titled AS MATERIALIZED (
    SELECT id, live_version_id, word_similarity(%(text)s, title) AS score, length(title) AS length
    FROM knowledge_document
    WHERE title %%> %(text)s AND tenant_id = %(tenant)s
), near AS MATERIALIZED (
    SELECT d.id, d.live_version_id, d.score FROM titled d WHERE d.live_version_id IS NOT NULL AND d.id IN ({visible})
    ORDER BY d.score DESC, d.length, d.id LIMIT %(titles)s
)
SELECT p.chunk_id, near.id, near.score
FROM near CROSS JOIN LATERAL (
    SELECT DISTINCT c.ordinal, e.chunk_id FROM knowledge_indexentry e
    JOIN knowledge_chunk c ON c.id = e.chunk_id
    WHERE e.version_id = near.live_version_id ORDER BY c.ordinal LIMIT %(passages)s
) p
ORDER BY near.score DESC, near.id, p.ordinal
"""


def terms_unseen(*, scope: Scope, visible: Visible, words: Sequence[str]) -> set[str]:
    """The terms that occur in no passage that the asker may see."""
    if not words:
        return set()
    params = {**visible.params, "tenant": scope.tenant_id, "words": sorted(set(words)), "common": COMMON}
    return set(words) - {text for (text,) in fetch(visible.applied(SEEN), params)}


def terms_alike(*, scope: Scope, visible: Visible, words: Sequence[str], limit: int) -> dict[str, dict[str, float]]:
    """For each word up to `limit` terms that may have been meant, with their likeness in (0, 1), best first.

    All of them occur in a passage that the asker may see. Words without such a term are left out.
    """
    short = [word for word in words if len(word) <= SHORT_LETTERS]
    rows = _near(scope=scope, words=short, least=NEAR_SHORT)
    rows += _near(scope=scope, words=[word for word in words if word not in short], least=NEAR_LONG)
    alike: dict[str, dict[str, float]] = {}
    for word, text in rows:
        if (score := likeness(word, text)) > 0:
            alike.setdefault(word, {})[text] = score
    hidden = terms_unseen(scope=scope, visible=visible, words=[text for terms in alike.values() for text in terms])
    visible_terms = {
        word: {text: s for text, s in terms.items() if text not in hidden} for word, terms in alike.items()
    }
    return {word: _best(terms, limit) for word, terms in visible_terms.items() if terms}


def _near(*, scope: Scope, words: Sequence[str], least: float) -> list[tuple[str, str]]:
    """(word, term of the tenant) by trigrams, whoever may see it: not to be returned to anybody."""
    if not words:
        return []
    with _threshold("pg_trgm.similarity_threshold", least):
        rows = fetch(NEAR_TERMS, {"tenant": scope.tenant_id, "words": sorted(set(words)), "limit": NEAREST})
    return [(word, text) for word, text in rows]


def characters_between(
    *, scope: Scope, visible: Visible, pairs: Sequence[str], before: str, after: str, limit: int
) -> dict[str, int]:
    """Characters between `before` and `after` in visible passages, with their counts, most frequent first.

    Only the first READ passages are read that contain all of `pairs`, which are terms of two characters.
    """
    ids: dict[str, list[str]] = {}
    for text, term in fetch(PAIR_IDS, {"tenant": scope.tenant_id, "pairs": sorted(set(pairs))}):
        ids.setdefault(text, []).append(str(term))
    if not ids or len(ids) < len(set(pairs)):
        return {}
    params = {
        **visible.params,
        "terms": " & ".join(f"({' | '.join(same)})" for same in ids.values()),
        "pattern": f"{before}(\\w){after}",
        "read": READ,
        "limit": limit,
    }
    return dict(fetch(visible.applied(BETWEEN), params))


def titles_near(*, scope: Scope, visible: Visible, text: str, least: float) -> list[Hit]:
    """Passages of the documents whose title is nearest to a text; score: word similarity to the title, from `least`.

    The best TITLES documents, of each its first PASSAGES passages in reading order.
    """
    with _threshold("pg_trgm.word_similarity_threshold", least):
        params = {**visible.params, "tenant": scope.tenant_id, "text": text, "titles": TITLES, "passages": PASSAGES}
        rows = fetch(NEAR_TITLES.format(visible=visible.sql), params)
    return [Hit(chunk=chunk, document=document, score=float(score)) for chunk, document, score in rows]


@contextmanager
def _threshold(name: str, least: float) -> Iterator[None]:
    """A transaction in which the trigram operators of pg_trgm require at least this similarity."""
    with transaction.atomic(savepoint=False):
        fetch(SETTING, {"name": name, "least": str(least)})
        yield


def _best(terms: dict[str, float], limit: int) -> dict[str, float]:
    return dict(sorted(terms.items(), key=lambda item: -item[1])[:limit])
