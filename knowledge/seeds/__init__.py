"""What every tenant begins with: attributes of documents and handlers of usual sources, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def seed_attributes() -> list[dict[str, Any]]:
    """Values of Attribute, in the order in which they are shown."""
    return _read("attributes.json")


def seed_handlers() -> list[dict[str, Any]]:
    """Values of SourceHandler, each with its `rules`."""
    return _read("handlers.json")


def seed_security_levels() -> dict[str, list[str]]:
    """Clearance → the names that source systems give it."""
    levels: dict[str, list[str]] = json.loads((FOLDER / "security_levels.json").read_text(encoding="utf-8"))
    return levels


def _read(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return rows
