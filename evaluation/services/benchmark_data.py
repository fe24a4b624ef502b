"""Public retrieval sets in the usual three files, as a knowledge set with golden cases.

`corpus.jsonl` {id, title, text}, `queries.jsonl` {id, text, answers}, `qrels.tsv` (query, document, 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from evaluation.models import GoldenCase, GoldenSet
from knowledge.models import KnowledgeSet
from knowledge.services import BulkAccepted, documents_bulk


def benchmark_load(*, scope: Scope, actor: User, folder: Path, name: str) -> tuple[GoldenSet, BulkAccepted]:
    """Make the set and its golden cases, and queue its documents; loading again changes nothing."""
    with transaction.atomic():
        knowledge_set, _ = KnowledgeSet.objects.get_or_create(
            tenant_id=scope.tenant_id, code=f"bench-{name}".replace("_", "-")[:64], defaults={"name": name}
        )
        knowledge_set.owners.add(actor)
        golden, is_new = GoldenSet.objects.get_or_create(tenant_id=scope.tenant_id, name=name)
        golden.sets.set([knowledge_set])
        if is_new:
            GoldenCase.objects.bulk_create(_cases(golden, folder, name))
    return golden, documents_bulk(scope=scope, actor=actor, lines=_documents(folder, name, knowledge_set.pk))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _documents(folder: Path, name: str, set_id: int) -> Iterator[bytes]:
    for row in _rows(folder / "corpus.jsonl"):
        document = {
            "external_id": f"{name}/{row['id']}",
            "title": row.get("title") or "",
            "text": row["text"],
            "sets": [set_id],
        }
        yield json.dumps(document).encode()


def _cases(golden: GoldenSet, folder: Path, name: str) -> Iterator[GoldenCase]:
    relevant: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        relevant.setdefault(query, []).append(f"{name}/{document}")
    for row in _rows(folder / "queries.jsonl"):
        if str(row["id"]) in relevant:
            yield GoldenCase(
                golden_set=golden,
                question=row["text"],
                answers=row.get("answers") or [],
                relevant=relevant[str(row["id"])],
            )
