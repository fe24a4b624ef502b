"""Stages and how they are run: State in, State out, every step timed and recorded (D29, B1).

A stage is a frozen dataclass whose fields are its options, registered under a dotted name. A pipeline is
a list of stages. A stage marked `optional` that raises is recorded with the error's code and skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

from ragcore.ports import Ports
from ragcore.registry import Attempt, Registry, StageInfo
from ragcore.types import EMPTY, StageRecord, State


class Stage(Protocol):
    """One step of a pipeline."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]

    def __call__(self, state: State, ports: Ports) -> State: ...


T = TypeVar("T")
_registry: Registry[Stage] = Registry()


def stage(
    name: str,
    *,
    label: str,
    optional: bool = False,
    timing: str = "",
    ranking: str = "",
    drop_reason: str = "",
    after: str = "",
) -> Callable[[type[T]], type[T]]:
    """Register a retrieval stage with what it declares of itself; see StageInfo."""
    info = StageInfo(
        name=name,
        label=label,
        optional=optional,
        timing=timing,
        ranking=ranking,
        drop_reason=drop_reason,
        after=after,
    )
    return _registry.register(info)


def stage_infos() -> Mapping[str, StageInfo]:
    """What the registered retrieval stages declare, by name."""
    return _registry.infos


def build(steps: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Stage]:
    """Stages from names and options. Raises InvalidOptionsError for an unknown name or option."""
    return _registry.build(steps)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A list of stages bound to ports."""

    stages: Sequence[Stage]
    ports: Ports

    def run(self, state: State, *, on_stage: Callable[[StageRecord], None] | None = None) -> State:
        """Run all stages in order; `on_stage` hears of each one when it is over."""
        for step in self.stages:
            state = run_stage(step, state, self.ports)
            if on_stage is not None:
                on_stage(state.records[-1])
        return state


def run_stage(step: Stage, state: State, ports: Ports) -> State:
    """Run one stage and append its record. Errors of an optional stage are recorded, others are raised."""
    after = state
    with Attempt(step) as attempt:
        after = step(replace(state, pending_note=EMPTY), ports)
    record = attempt.record(before=len(state.ids()), after=len(after.ids()), note=after.pending_note)
    return replace(after, records=(*state.records, record), pending_note=EMPTY)
