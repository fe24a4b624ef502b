"""Public sets in halves by document. Needs neither Django nor a database, so that it also runs where the GPU is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ragcore.text.question_pairs import document_group

Rows = Sequence[dict[str, Any]]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def first_half(corpus: Rows) -> set[str]:
    """Ids of about half of the passages: whole documents, in an order that does not follow that of the file."""
    groups: dict[str, list[str]] = {}
    for row in corpus:
        name = row.get("doc_id") or document_group(row.get("title") or "", 0) or row["id"]
        groups.setdefault(str(name), []).append(row["id"])
    seen: set[str] = set()
    for name in sorted(groups, key=lambda one: sha256(one.encode()).digest()):
        if len(seen) >= len(corpus) / 2:
            break
        seen.update(groups[name])
    return seen
