"""Texts for the candidates that are left."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import State


@stage("load.passages", label=_("load texts"), timing="fine", drop_reason=_("no longer exists"))
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPassages:
    """Attach passages; a candidate that vanished or became invisible since the search is dropped."""

    def __call__(self, state: State, ports: Ports) -> State:
        passages = ports.passages.load(state.ids())
        kept = [replace(c, passage=passages[c.chunk]) for c in state.candidates if c.chunk in passages]
        return state.narrowed(kept, stage="load.passages", reason="no longer there")
