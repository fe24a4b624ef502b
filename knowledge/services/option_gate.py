"""What may stand between saved options of a set and their publication. Apps above register it; none: nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.models import User
from knowledge.models import KnowledgeSet

Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateNotice:
    """What people who change the options of a set are told of its gate."""

    guards: tuple[str, ...]  # names of what is measured; empty: options are published at once
    change: int | None = None  # the change that is open


class OptionGate(Protocol):
    """Measures options before they are published."""

    def hold(self, *, actor: User, row: KnowledgeSet, options: Given, replaces: bool, note: str) -> int | None:
        """Id of the change that is measured now; None: publish them."""
        ...

    def notice(self, *, row: KnowledgeSet) -> GateNotice:
        """What guards a set."""
        ...


_gates: list[OptionGate] = []


def option_gate_register(gate: OptionGate) -> None:
    """The gate of all sets; a later one takes the place of an earlier one."""
    _gates[:] = [gate]


def option_gate() -> OptionGate | None:
    """The gate, if there is one."""
    return _gates[0] if _gates else None


def gate_notice(row: KnowledgeSet) -> GateNotice:
    """What guards a set."""
    gate = option_gate()
    return gate.notice(row=row) if gate is not None else GateNotice(guards=())
