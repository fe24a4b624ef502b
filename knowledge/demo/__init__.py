"""The sample sets of the 1+X+Y axes and sample documents, as data: sets.toml and documents/."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DOCUMENTS = FOLDER / "documents"
GOLDEN = FOLDER / "golden.jsonl"  # questions on the sample documents, for `manage.py evaluate`


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """A sample file and where it belongs."""

    path: Path
    external_id: str
    title: str
    sets: tuple[str, ...]  # codes
    tags: tuple[str, ...] = ()


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "sets.toml").read_text(encoding="utf-8"))


def demo_sets() -> list[dict[str, Any]]:
    """Values for `set_create`: names and descriptions in English and Chinese."""
    return [
        {
            "code": row["code"],
            "axis": row["axis"],
            "name": row["en"],
            "name_zh": row["zh"] if row["zh"] != row["en"] else "",
            "description": f"{row['description_en']}\n{row['description_zh']}",
            "persona": row.get("persona", ""),
            "example_questions": row.get("questions", []),
        }
        for row in _data()["sets"]
    ]


def demo_documents() -> list[DemoDocument]:
    """The sample documents in the order of the data file."""
    return [
        DemoDocument(
            path=DOCUMENTS / row["file"],
            external_id=f"demo/{Path(row['file']).stem}",
            title=row["title"],
            sets=tuple(row["sets"]),
            tags=tuple(row.get("tags", ())),
        )
        for row in _data()["documents"]
    ]
