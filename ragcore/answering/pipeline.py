"""The pipeline of an answer: stages that may wait for models and searches, run in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Protocol, TypeVar

from ragcore.llm.client import StoppedError, run_unless_stopped
from ragcore.pipeline import PlannedStage, Registry, StageInfo, StageRun
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState

T = TypeVar("T")

_registry: Registry[AnswerStage] = Registry()


class AnswerStage(Protocol):
    """One step between question and text."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]
    hears_stop: ClassVar[bool]  # ends by itself with what it has; others are cancelled

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState: ...


def answer_stage(
    name: str, *, label: str, optional: bool = True, hears_stop: bool = False, timing: str = "", after: str = ""
) -> Callable[[type[T]], type[T]]:
    """Register an answering stage with what it declares of itself; see StageInfo."""
    register = _registry.register(StageInfo(name=name, label=label, optional=optional, timing=timing, after=after))

    def add(cls: type[T]) -> type[T]:
        cls.hears_stop = hears_stop  # type: ignore[attr-defined]
        return register(cls)

    return add


def answer_stage_infos() -> Mapping[str, StageInfo]:
    """What the registered answering stages declare, by name."""
    return _registry.infos


def build_stages(steps: Iterable[PlannedStage]) -> list[AnswerStage]:
    """Stages from names and options, with those that declare `after` one of them.

    Raises InvalidOptionsError for an unknown name or option.
    """
    return _registry.build(_registry.with_joining(steps))


async def run_stages(stages: Sequence[AnswerStage], state: AnswerState, ports: StagePorts) -> AnswerState:
    """Run all stages in order; once the reader has stopped the answer, no further one: the state so far comes back.

    A stage that the reader has stopped is recorded with the error "stopped" where it is optional.
    """
    for stage in stages:
        if ports.stop is not None and ports.stop.is_set():
            break
        try:
            with StageRun(stage, state) as run:
                work = _run(stage, state, ports)
                run.after = await run_unless_stopped(None if stage.hears_stop else ports.stop, work)
        except StoppedError:
            break
        state = run.recorded()
    return state


async def _run(stage: AnswerStage, state: AnswerState, ports: StagePorts) -> AnswerState:
    return await stage(state, ports)
