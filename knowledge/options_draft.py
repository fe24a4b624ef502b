"""Options that are tried without being published: what a site or a set would say, for what is computed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from knowledge.models import KnowledgeSet

Stored = Mapping[str, Mapping[str, Any]]  # options by group, as in KnowledgeSet.options


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsDraft:
    """What would be stored; a site or set that is not named keeps what it has."""

    sites: Mapping[int, Stored] = field(default_factory=dict)  # tenant -> options
    sets: Mapping[int, Stored] = field(default_factory=dict)  # knowledge set -> options


_draft: ContextVar[OptionsDraft | None] = ContextVar("options_draft", default=None)


@contextmanager
def options_draft(draft: OptionsDraft) -> Iterator[None]:
    """Searches and answers of this context, and of threads and tasks that it starts, use the draft's options."""
    token = _draft.set(draft)
    try:
        yield
    finally:
        _draft.reset(token)


def is_draft_in_force() -> bool:
    """Whether this context tries options that are not published."""
    return _draft.get() is not None


def set_options_in_force(row: KnowledgeSet) -> Stored:
    """The options of a set: those of the draft, if there is one, else the stored ones."""
    draft = _draft.get()
    stored: Stored = row.options
    return stored if draft is None else draft.sets.get(row.pk, stored)


def site_draft(tenant_id: int) -> Stored | None:
    """The site's options of the draft; None: the stored ones hold."""
    draft = _draft.get()
    return None if draft is None else draft.sites.get(tenant_id)
