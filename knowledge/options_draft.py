"""What is tried without being published: options, prompt texts and lexicon of a set, for what is computed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from knowledge.models import KnowledgeSet

Stored = Mapping[str, Mapping[str, Any]]  # options by group, as in KnowledgeSet.options

PROMPT_TEXTS = ("persona", "answer_template")  # fields of a knowledge set that are part of its prompts
_draft: ContextVar[OptionsDraft | None] = ContextVar("options_draft", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsDraft:
    """What would be stored; a site or set that is not named keeps what it has."""

    sites: Mapping[int, Stored] = field(default_factory=dict)  # tenant -> options
    sets: Mapping[int, Stored] = field(default_factory=dict)  # knowledge set -> options
    texts: Mapping[int, Mapping[str, str]] = field(
        default_factory=dict
    )  # knowledge set -> field of PROMPT_TEXTS -> text
    lexicons: Mapping[int | None, int | None] = field(
        default_factory=dict
    )  # knowledge set, or None of the tenant -> version of its lexicon, or None for no lexicon


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


def prompt_text_in_force(row: KnowledgeSet, name: str) -> str:
    """A text of PROMPT_TEXTS of a set: that of the draft, if it has one, else the stored one."""
    draft = _draft.get()
    stored = str(getattr(row, name))
    return stored if draft is None else draft.texts.get(row.pk, {}).get(name, stored)


def lexicons_draft() -> Mapping[int | None, int | None]:
    """Knowledge set (None: the tenant) -> version of the lexicon that is tried in the place of its published one; no
    lexicon at all where that is None.
    """
    draft = _draft.get()
    return {} if draft is None else draft.lexicons


def site_draft(tenant_id: int) -> Stored | None:
    """The site's options of the draft; None: the stored ones hold."""
    draft = _draft.get()
    return None if draft is None else draft.sites.get(tenant_id)
