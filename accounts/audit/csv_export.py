"""The audit log as CSV that spreadsheets open without running anything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from accounts.models import AuditEvent

HEADER = ("at", "tenant", "actor", "action", "target", "details")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
BOM = "\ufeff"  # spreadsheets read UTF-8 by it


def safe_cell(value: Any) -> str:
    """The text of a cell; what a spreadsheet would take for a formula begins with an apostrophe.

    Spaces before it do not help: some programs drop them.
    """
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA) else text


def escaped_cell(cell: str) -> str:
    """`safe_cell` for a file that is read again: `unescaped_cell` gives the cell back, whatever it begins with."""
    return f"'{cell}" if _is_escaped(cell) else safe_cell(cell)


def unescaped_cell(cell: str) -> str:
    """What `escaped_cell` has written."""
    return cell[1:] if _is_escaped(cell) else cell


def _is_escaped(cell: str) -> bool:
    """Whether the cell is a formula behind apostrophes, as a text that is written or as one that is read."""
    rest = cell.lstrip("'")
    return rest != cell and safe_cell(rest) != rest


def csv_lines(events: Iterable[AuditEvent]) -> Iterator[str]:
    """Header and rows, one at a time; times in ISO 8601."""
    yield BOM + _line(HEADER)
    for event in events:
        details = json.dumps(event.data, ensure_ascii=False, sort_keys=True) if event.data else ""
        names = (event.tenant.name, event.actor_name, event.action, event.target)
        yield _line([event.at.isoformat(), *names, details])


def _line(cells: Iterable[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow([safe_cell(cell) for cell in cells])
    return buffer.getvalue()
