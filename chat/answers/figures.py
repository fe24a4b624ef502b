"""Pictures and words of the passages that an answer cites."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from chat.models import MessageCitation
from knowledge.rendering import citation_texts
from knowledge.selectors.keeping import documents_openable
from ragcore.text.markdown import pictures_in

EXCERPT_CHARACTERS = 220
MAX_FIGURES = 4  # below one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """A picture that stands in a cited passage."""

    number: int  # of the source
    version_id: int
    name: str
    words: str


def figures_of(
    *, scope: Scope, by_message: Mapping[uuid.UUID, Sequence[MessageCitation]]
) -> dict[uuid.UUID, list[FigureLine]]:
    """The pictures of cited passages by message, as far as the asker may open them at this moment."""
    figures_of_message = {
        message: [
            FigureLine(number=citation.number, version_id=citation.version_id, name=name, words=words)
            for citation in citations
            if citation.cited
            for name, words in pictures_in(citation.chunk.text)
        ]
        for message, citations in by_message.items()
    }
    versions = {figure.version_id for figures in figures_of_message.values() for figure in figures}
    if not versions:
        return {}
    openable = documents_openable(scope=scope).filter(live_version__in=versions)
    versions_open = set(openable.values_list("live_version_id", flat=True))
    return {
        message: [figure for figure in figures if figure.version_id in versions_open][:MAX_FIGURES]
        for message, figures in figures_of_message.items()
    }


def excerpt_of(citation: MessageCitation) -> str:
    """What the answer takes from the source, else how its passage begins; in plain words."""
    texts = citation_texts(citation.chunk.text, claim=citation.segment)
    whole = " ".join(texts)
    return whole if len(whole) <= EXCERPT_CHARACTERS else f"{whole[:EXCERPT_CHARACTERS].rstrip()}…"
