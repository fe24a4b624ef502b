"""Counting who is at work, without two of them counting at once."""

from __future__ import annotations

from knowledge.indexes.rows import fetch

SINGLY = "SELECT pg_advisory_xact_lock(hashtextextended('ragsite.turns', 0))"


def turns_taken_singly() -> None:
    """Until the end of the transaction no other one passes here: what it counts stays true until its commit."""
    fetch(SINGLY, {})
