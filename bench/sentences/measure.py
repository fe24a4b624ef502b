"""One set after the other: ingested, emptied of its vectors of sentences, filled again, and looked up."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from django.core.management import call_command
from django.db import connection

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import note, work_off
from knowledge.model_registry import embedder
from knowledge.models import Chunk, KnowledgeSet, PassageSentences
from knowledge.queue import FILL_SENTENCES
from knowledge.search_profile import search_profile
from knowledge.services import documents_bulk
from knowledge.types import RetrievalRequest
from knowledge.wiring import retrieval_pipeline
from ragcore.ports import SentenceEmbedder, SentenceIndex
from ragcore.types.sentence_vectors import KEY_BYTES
from work.upkeep import due_run

LOOKED_UP = 50  # passages of a question
LOOK_UPS = 100


def measure_sets(folders: Sequence[Path], *, limit: int) -> dict[str, Any]:
    """Figures of each set by its name."""
    if not isinstance(embedder(), SentenceEmbedder):
        raise SystemExit("the embedding model gives no vectors of sentences: EMBEDDER=embedded_e5")
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.create(
        username="bench-sentences",
        tenant=Tenant.objects.get(is_default=True),
        is_staff=True,
        is_superuser=True,
        clearance=4,
    )
    figures: dict[str, Any] = {}
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        figures[name] = _measured(folder, name, admin, limit)
        note(f"{name}: {json.dumps(figures[name])}")
    return figures


def _measured(folder: Path, name: str, admin: User, limit: int) -> dict[str, float]:
    scope = scope_for(admin)
    made = KnowledgeSet.objects.create(tenant=admin.tenant, code=name, name=name)
    made.owners.add(admin)
    lines = [json.dumps(row).encode() for row in _documents(folder, made.pk, limit)]
    start = time.process_time()
    work_off(documents_bulk(scope=scope, actor=admin, lines=lines).job_id)
    ingested = time.process_time() - start
    mine = PassageSentences.objects.filter(
        chunk_id__in=Chunk.objects.filter(version__live_for__sets=made, retired=None).values("pk")
    )
    mine.delete()
    before, start = _table_bytes(), time.process_time()
    due_run(kind=FILL_SENTENCES)
    filled, passages = time.process_time() - start, mine.count()
    sentences = sum(len(keys) // KEY_BYTES for keys in mine.values_list("keys", flat=True))
    look_up = _look_up(scope, list(mine.values_list("chunk_id", flat=True)))
    return {
        "passages": passages,
        "sentences a passage": round(sentences / passages, 2),
        "bytes a passage": round((_table_bytes() - before) / passages),
        "ms of ingestion a passage": round(1000 * ingested / passages, 2),
        "of these for sentences": round(1000 * filled / passages, 2),
        f"ms to look up and compare {LOOKED_UP}": round(look_up, 2),
    }


def _documents(folder: Path, set_id: int, limit: int) -> list[dict[str, Any]]:
    with (folder / "corpus.jsonl").open(encoding="utf-8") as rows:
        return [
            {
                "external_id": f"{set_id}-{row['id']}",
                "title": row.get("title") or str(row["id"]),
                "text": row["text"],
                "sets": [set_id],
            }
            for row in map(json.loads, islice(rows, limit))
        ]


def _table_bytes() -> int:
    """With what stands outside of its rows, and the index, without room that is free."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL knowledge_passagesentences")
        cursor.execute("SELECT pg_total_relation_size('knowledge_passagesentences')")
        return int(cursor.fetchone()[0])


def _look_up(scope: Scope, chunks: Sequence[int]) -> float:
    """Milliseconds of the median question."""
    index = _index(scope)
    question = index.question_vector("How is it connected?")
    times = []
    for number in range(LOOK_UPS):
        wanted = [chunks[(number * LOOKED_UP + n) % len(chunks)] for n in range(LOOKED_UP)]
        start = time.perf_counter()
        for vectors in index.vectors(wanted).values():
            vectors.cosines(question)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


def _index(scope: Scope) -> SentenceIndex:
    ports = retrieval_pipeline(search_profile(scope=scope, request=RetrievalRequest(query=""))).ports
    if ports.sentences is None:
        raise RuntimeError("the pipeline looks up no sentences")
    return ports.sentences
