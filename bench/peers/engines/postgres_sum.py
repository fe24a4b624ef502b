"""Cosine similarity plus ts_rank_cd, summed as they are: what the closest Django system does.

Its steps (MaxKB 2, "blend" search): words cut by jieba in full mode, configuration `simple`, the nearest ten times
as many passages as are wanted, to these the rank for the question's words (scaled to 0..1) is added. No vector index,
so that the neighbours are exact.
"""

from __future__ import annotations

import logging
import os

import jieba
import psycopg
from pgvector.psycopg import register_vector

from bench.peers.exchange import TOP_K, Task
from bench.peers.worker import Search

DISTRIBUTIONS = ("psycopg", "pgvector", "jieba")
NEAREST = 10 * TOP_K
SCHEMA = "bench_peer"
SEARCH = f"""
    WITH nearest AS (
        SELECT id, words, vector <=> %(vector)s AS distance FROM {SCHEMA}.passage ORDER BY distance LIMIT {NEAREST}
    )
    SELECT id FROM nearest
    ORDER BY 1 - distance + ts_rank_cd(words, websearch_to_tsquery('simple', %(words)s), 32) DESC, id
    LIMIT {TOP_K}
"""


def build(task: Task, variant: str) -> Search:
    jieba.setLogLevel(logging.WARNING)
    connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    register_vector(connection)
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    dimensions = task.passage_vectors.shape[1]
    connection.execute(
        f"CREATE TABLE {SCHEMA}.passage (id text PRIMARY KEY, words tsvector, vector vector({dimensions}))"
    )
    rows = zip(task.ids, map(_words, task.passages), task.passage_vectors, strict=True)
    with connection.cursor() as cursor:
        insert = f"INSERT INTO {SCHEMA}.passage VALUES (%s, to_tsvector('simple', %s), %s)"
        cursor.executemany(insert, list(rows))
    connection.execute(f"CREATE INDEX ON {SCHEMA}.passage USING gin (words)")
    connection.execute(f"ANALYZE {SCHEMA}.passage")

    def search(number: int) -> list[str]:
        asked = {"vector": task.question_vectors[number], "words": _words(task.questions[number])}
        return [row[0] for row in connection.execute(SEARCH, asked)]

    return search


def _words(text: str) -> str:
    return " ".join(jieba.lcut(text, cut_all=True))
