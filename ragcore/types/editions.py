"""Editions of documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedBy:
    """The document that holds in the place of an older edition, and by what a question names the older one."""

    document: int
    title: str
    names: frozenset[str] = frozenset()  # of the older edition alone, in lower case: 2024, rel-15
    since: str = ""  # days, ISO 8601, between which the older one held; "" where it is not known
    until: str = ""
