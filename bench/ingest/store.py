"""Part c: binary COPY against `bulk_create`, into the index table without its vector indexes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from django.db import connection, transaction
from pgvector import SparseVector

from accounts.models import Tenant
from bench.ingest.figures import Figure
from knowledge.indexes.copy import EntryRow, entries_copy
from knowledge.indexes.lexical import TERM_SPACE
from knowledge.models import IndexEntry, WholeVector

TERMS = 80  # different ones of an entry
GOAL_RATIO = 5.0
WITHOUT = ("knowledge_entry_coarse",)


def store_figures(*, rows: int, repeat: int) -> list[Figure]:
    """Rows a second of both ways, and how many times as fast COPY is; nothing is kept."""
    made = _rows(rows)
    copy = [rows / _seconds(lambda: entries_copy(made)) for _ in range(repeat)]
    bulk = [rows / _seconds(lambda: _bulk_create(made)) for _ in range(repeat)]
    return [
        Figure(part="c", name="COPY without HNSW", unit="rows/s", values=copy),
        Figure(part="c", name="bulk_create without HNSW", unit="rows/s", values=bulk),
        Figure(
            part="c",
            name="COPY over bulk_create",
            unit="times",
            values=[a / b for a, b in zip(copy, bulk, strict=True)],
            goal=GOAL_RATIO,
        ),
    ]


def _seconds(insert: Callable[[], None]) -> float:
    """How long an insert takes without the vector indexes, in a transaction that is rolled back."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            for index in WITHOUT:
                cursor.execute(f"DROP INDEX {index}")
        start = time.perf_counter()
        insert()
        seconds = time.perf_counter() - start
        transaction.set_rollback(True)
    return seconds


def _rows(count: int) -> list[EntryRow]:
    random = np.random.default_rng(4)
    tenant_id = Tenant.objects.values_list("pk", flat=True)[0]
    return [
        EntryRow(
            chunk_id=number,
            version_id=number,
            tenant_id=tenant_id,
            representation="body",
            language="en",
            length=120,
            vector=random.standard_normal(768).astype(np.float32),
            weights={int(term): 1.5 for term in np.unique(random.zipf(1.2, TERMS) % 50_000 + 1)},
            embedding_model="bench",
        )
        for number in range(1, count + 1)
    ]


def _bulk_create(rows: Sequence[EntryRow]) -> None:
    entries = IndexEntry.objects.bulk_create(
        [
            IndexEntry(
                chunk_id=row.chunk_id,
                version_id=row.version_id,
                tenant_id=row.tenant_id,
                representation=row.representation,
                language=row.language,
                length=row.length,
                coarse=row.vector[:384],
                lexemes=" ".join(map(str, sorted(row.weights))),
                bm25=SparseVector({term - 1: weight for term, weight in row.weights.items()}, TERM_SPACE),
                embedding_model=row.embedding_model,
            )
            for row in rows
        ],
        batch_size=500,
    )
    WholeVector.objects.bulk_create(
        [
            WholeVector(
                entry_id=entry.pk,
                chunk_id=row.chunk_id,
                version_id=row.version_id,
                tenant_id=row.tenant_id,
                representation=row.representation,
                embedding_model=row.embedding_model,
                vector=row.vector,
            )
            for entry, row in zip(entries, rows, strict=True)
        ],
        batch_size=500,
    )
