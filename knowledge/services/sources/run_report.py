"""What a run has done so far, as it is kept on its job (IngestJob.report)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragcore.errors import RagError

MAX_REFUSED = 500  # that are named; the others are counted

BEGUN_AGAIN = ("found", "left_out", "refused", "refused_more", "faults", "notes")

RunState = Literal["waiting", "running", "done"]


@dataclass(slots=True)
class RunReport:
    """Counts of items, and what was refused or went wrong, in words."""

    state: RunState = "waiting"
    trigger: str = ""  # person, schedule, command
    waiting: list[int] = field(default_factory=list)  # sources still to be run
    request: dict[str, Any] = field(default_factory=dict)  # one address to be fetched instead of sources
    found: int = 0
    new: int = 0
    changed: int = 0
    left_out: int = 0  # by rules of the handler
    deleted: int = 0
    refused: list[dict[str, str]] = field(default_factory=list)
    refused_more: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)  # of whole sources
    notes: list[dict[str, str]] = field(default_factory=list)  # nothing is wrong, but somebody should know
    heartbeat: float = 0.0  # seconds since 1970
    token: str = ""  # of the worker that has it
    before: dict[str, Any] = field(default_factory=dict)  # how it stood when the present source began

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> RunReport:
        """From JSON; fields of other versions are dropped."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "unchanged": self.unchanged}

    @property
    def unchanged(self) -> int:
        """What was found and needed nothing; so a run that was broken off adds up as well."""
        return max(0, self.found - self.new - self.changed - self.left_out - self.refused_total)

    def source_begins(self) -> None:
        """Remember where the next source starts, in case it has to be begun again."""
        self.before = {name: copy(getattr(self, name)) for name in BEGUN_AGAIN}

    def source_again(self) -> None:
        """Forget what an attempt that was broken off counted; what it registered stays counted."""
        for name, value in self.before.items():
            setattr(self, name, copy(value))

    def refuse(self, *, path: str, code: str, message: str) -> None:
        if len(self.refused) < MAX_REFUSED:
            self.refused.append({"path": path[:1024], "code": code, "message": message[:512]})
        else:
            self.refused_more += 1

    def fault(self, *, source: str, error: RagError) -> None:
        self.faults.append({"source": source, "code": error.code, "message": error.message[:512]})

    def note(self, *, source: str, code: str, message: str) -> None:
        self.notes.append({"source": source, "code": code, "message": message[:512]})

    @property
    def refused_total(self) -> int:
        return len(self.refused) + self.refused_more
