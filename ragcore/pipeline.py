"""Stages by name, and what both pipelines do with each of them: build it, time it, record it.

A stage is a frozen dataclass whose fields are its options, registered under a dotted name. A pipeline is a list of
stages: state in, state out. A stage marked `optional` that raises is recorded with the error's code and skipped.
`ragcore.retrieval.pipeline` runs stages that compute, `ragcore.answering.pipeline` those that wait for models.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from time import perf_counter
from types import ModuleType, TracebackType
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from ragcore.errors import InvalidOptionsError, RagError
from ragcore.types import StageRecord

logger = logging.getLogger(__name__)

PlannedStage = tuple[str, Mapping[str, Any]]  # the name of a stage and its options
S = TypeVar("S")
T = TypeVar("T")


class NamedStage(Protocol):
    """What the registry gives a stage class."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]


class PipelineState(Protocol):
    """What a state must offer so that a run of a stage can be recorded in it."""

    def item_count(self) -> int:
        """How many candidates or passages are left."""
        ...

    def stage_note(self, stage: str) -> Mapping[str, Any]:
        """What this stage noted of its run, in plain values."""
        ...

    def with_record(self, record: StageRecord) -> Any:
        """The state with one more record."""
        ...


P = TypeVar("P", bound=PipelineState)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageInfo:
    """What a stage declares of itself; traces, timings, the lab and the documentation read it from here."""

    name: str  # unique and dotted; the stage's name in traces, scores and notes
    label: str  # what people read: an English message id (ragcore.labels)
    optional: bool = False  # an error is recorded and the stage is skipped
    timing: str = ""  # the figure to which its seconds are added; "": only to the total
    ranking: str = ""  # the column of the lab that shows its scores
    drop_reason: str = ""  # why passages leave the pipeline here: an English message id
    after: str = ""  # joins every plan with this stage, right behind it; "": plans name it themselves


@dataclass(frozen=True, slots=True)
class Registry(Generic[S]):
    """Stage classes under unique dotted names."""

    classes: dict[str, type[S]] = field(default_factory=dict)
    infos: dict[str, StageInfo] = field(default_factory=dict)

    def register(self, info: StageInfo) -> Callable[[type[T]], type[T]]:
        """A decorator that registers a stage class under its name."""

        def add(cls: type[T]) -> type[T]:
            cls.stage_name = info.name  # type: ignore[attr-defined]
            cls.optional = info.optional  # type: ignore[attr-defined]
            self.classes[info.name] = cast("type[S]", cls)
            self.infos[info.name] = info
            return cls

        return add

    def with_joining(self, steps: Iterable[PlannedStage]) -> list[PlannedStage]:
        """The plan with every stage that declares `after` one of its steps, with its default options."""
        joining = [info for info in self.infos.values() if info.after]
        return [each for step in steps for each in (step, *((i.name, {}) for i in joining if i.after == step[0]))]

    def build(self, steps: Iterable[PlannedStage]) -> list[S]:
        """Stages from names and options. Raises InvalidOptionsError for an unknown name or option."""
        built: list[S] = []
        for name, options in steps:
            cls = self.classes.get(name)
            if cls is None:
                raise InvalidOptionsError("unknown_stage", stage=name, known=sorted(self.classes))
            option_names = {f.name for f in fields(cast(Any, cls))}
            if unknown := set(options) - option_names:
                raise InvalidOptionsError(
                    "unknown_stage_option", stage=name, known=sorted(option_names), unknown=", ".join(sorted(unknown))
                )
            built.append(cls(**options))
        return built


def import_stages(package: ModuleType) -> None:
    """Import every module of a package, so that its stages are registered."""
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        import_module(module.name)


@dataclass(slots=True)
class StageRun(Generic[P]):
    """One run of a stage: `with StageRun(stage, state) as run: run.after = …`, then `run.recorded()`.

    An error of an optional stage is logged and recorded, and the state before it stays; other errors are raised.
    """

    stage: NamedStage
    before: P
    error: str | None = None  # code of an expected error, class name of another one
    after: P = field(init=False)
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self.after = self.before

    def __enter__(self) -> StageRun[P]:
        self._start = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(problem, Exception) or not self.stage.optional:
            return False
        is_expected = isinstance(problem, RagError)
        self.error = problem.code if isinstance(problem, RagError) else type(problem).__name__
        unexpected = None if is_expected else (type(problem), problem, traceback)
        logger.warning("stage %s skipped: %s", self.stage.stage_name, problem, exc_info=unexpected)
        return True

    def recorded(self) -> P:
        """The state after the run, which ends now, with its record; a skipped stage has no note."""
        name = self.stage.stage_name
        record = StageRecord(
            stage=name,
            seconds=perf_counter() - self._start,
            before=self.before.item_count(),
            after=self.after.item_count(),
            note={} if self.error else dict(self.after.stage_note(name)),  # a plain dict: it is stored
            error=self.error,
        )
        return cast(P, self.after.with_record(record))
