"""What a run has done so far: counts and messages, stored on its job (IngestJob.report)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import Any

from ragcore.errors import RagError

MAX_REFUSED = 500  # named items; the others are only counted

RESTARTED = ("found", "left_out", "refused", "refused_more", "faults", "notes")


@dataclass(slots=True)
class RunReport:
    """Counts of items, and messages about what was refused or went wrong."""

    found: int = 0
    new: int = 0
    changed: int = 0
    left_out: int = 0  # by rules of the handler
    deleted: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_more: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)  # of whole sources
    notes: list[dict[str, Any]] = field(default_factory=list)  # nothing is wrong, but somebody should know

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> RunReport:
        """From JSON; fields of other versions are dropped."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "unchanged": self.unchanged}

    @property
    def unchanged(self) -> int:
        """Items that were found and needed nothing. Counts of an interrupted run add up, too."""
        return max(0, self.found - self.new - self.changed - self.left_out - self.refused_total)

    def checkpoint(self) -> dict[str, Any]:
        """What is set back when a source has to be run again; what it registered stays counted."""
        return {name: copy(getattr(self, name)) for name in RESTARTED}

    def refuse(self, *, path: str, error: RagError) -> None:
        if len(self.refused) < MAX_REFUSED:
            self.refused.append({"path": path[:1024], **_stored(error)})
        else:
            self.refused_more += 1

    def fault(self, *, source: str, error: RagError) -> None:
        self.faults.append({"source": source, **_stored(error)})

    def note(self, *, source: str, error: RagError) -> None:
        self.notes.append({"source": source, **_stored(error)})

    @property
    def refused_total(self) -> int:
        return len(self.refused) + self.refused_more


def _stored(error: RagError) -> dict[str, Any]:
    data = error.message_data()
    return {"code": error.code, "message": error.message[:512], **({"data": data} if data else {})}
