"""The pipeline of a search: stages that compute, run in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from ragcore.pipeline import PlannedStage, Registry, StageInfo, StageRun
from ragcore.ports import Ports
from ragcore.types import StageRecord, State

T = TypeVar("T")
_registry: Registry[Stage] = Registry()


class Stage(Protocol):
    """One step of a search."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]

    def __call__(self, state: State, ports: Ports) -> State: ...


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


def with_joining(steps: Iterable[PlannedStage]) -> list[PlannedStage]:
    """The plan with every registered stage that declares `after` one of its steps."""
    return _registry.with_joining(steps)


def build(steps: Iterable[PlannedStage]) -> list[Stage]:
    """Stages from names and options. Raises InvalidOptionsError for an unknown name or option."""
    return _registry.build(steps)


@dataclass(frozen=True, slots=True)
class PipelineRetriever:
    """Runs a list of stages for one question, within the rights that its ports are bound to."""

    stages: Sequence[Stage]
    ports: Ports

    def run(self, state: State, *, on_stage: Callable[[StageRecord], None] | None = None) -> State:
        """Run all stages in order; `on_stage` gets the record of each one after it has run."""
        for step in self.stages:
            with StageRun(step, state) as run:
                run.after = step(state, self.ports)
            state = run.recorded()
            if on_stage is not None:
                on_stage(state.records[-1])
        return state
