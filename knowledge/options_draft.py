"""What is tried without being published: options, prompt texts and lexicons, carried by a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Stored = Mapping[str, Mapping[str, Any]]  # options by group, as in KnowledgeSet.options

PROMPT_TEXTS = ("persona", "answer_template")  # fields of a knowledge set that are part of its prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsDraft:
    """What would be stored; a site or set that is not named keeps what it has."""

    sites: Mapping[int, Stored] = field(default_factory=dict)  # tenant -> options
    sets: Mapping[int, Stored] = field(default_factory=dict)  # knowledge set -> options
    texts: Mapping[int, Mapping[str, str]] = field(
        default_factory=dict
    )  # knowledge set -> field of PROMPT_TEXTS -> text
    # knowledge set, or None of the tenant -> version of the lexicon that is tried; None for no lexicon at all
    lexicons: Mapping[int | None, int | None] = field(default_factory=dict)

    def text(self, set_id: int, name: str, stored: str) -> str:
        """A text of PROMPT_TEXTS of a set; the stored one where the draft has none."""
        return self.texts.get(set_id, {}).get(name, stored)


NO_DRAFT = OptionsDraft()
