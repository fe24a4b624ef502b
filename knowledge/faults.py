"""How the failure of background work is stored in the columns of its row; which faults pass says `work.faults`."""

from __future__ import annotations

from typing import Any

from knowledge.errors import error_columns
from work.faults import known_fault


def failure_columns(error: Exception) -> dict[str, Any]:
    """How any failure is stored: one that nobody knows is "internal", and its text is for the log only."""
    fault = known_fault(error)
    if fault is not None:
        return error_columns(fault)
    return {
        "error_code": "internal",
        "error_message": "Something went wrong. It has been logged.",
        "error_data": {},
    }
