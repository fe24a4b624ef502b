"""Documents that another one replaces."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.replaced_editions import asks_for_replaced
from ragcore.types import Candidate, State


@stage("drop.replaced", label=_("older editions"), optional=True, drop_reason=_("another document replaces it"))
@dataclass(frozen=True, slots=True, kw_only=True)
class DropReplaced:
    """Drop passages of documents that another one of the same search replaces, unless the question asks for them.

    It does by naming the edition, a day on which it held or the file, or where it compares editions. A document whose
    successor the asker may not read, or which filters leave out, stays.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        if all(candidate.passage is None or candidate.passage.replaced_by is None for candidate in state.candidates):
            return state
        rest = [candidate for candidate in state.candidates if is_wanted(candidate, state)]
        return state.narrowed(rest, stage="drop.replaced", code="replaced")


def is_wanted(candidate: Candidate, state: State) -> bool:
    """Whether nothing replaces the document of a candidate, or the question asks for it."""
    replaced = candidate.passage.replaced_by if candidate.passage is not None else None
    if replaced is None or candidate.document in state.named_documents:
        return True
    return asks_for_replaced(state.query.text, replaced)
