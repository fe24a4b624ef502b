"""The registry of stages: both pipelines declare, build, time and record their stages in the same way (D29)."""

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
S = TypeVar("S")
T = TypeVar("T")


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
    """Stage classes, frozen dataclasses whose fields are their options, under unique dotted names."""

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

    def build(self, steps: Iterable[tuple[str, Mapping[str, Any]]]) -> list[S]:
        """Stages from names and options. Raises InvalidOptionsError for an unknown name or option."""
        built: list[S] = []
        for name, options in steps:
            cls = self.classes.get(name)
            if cls is None:
                raise InvalidOptionsError(f"There is no stage {name!r}.", stage=name, known=sorted(self.classes))
            known = {f.name for f in fields(cast(Any, cls))}
            if unknown := set(options) - known:
                raise InvalidOptionsError(
                    f"Stage {name!r} has no option {', '.join(sorted(unknown))}.", stage=name, known=sorted(known)
                )
            built.append(cls(**options))
        return built


def import_stages(package: ModuleType) -> None:
    """Import every module of a package, so that its stages are registered."""
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        import_module(module.name)


class Named(Protocol):
    """What the registry gives a class."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]


@dataclass(slots=True)
class Attempt:
    """`with Attempt(stage) as attempt:` around one run: an error of an optional stage is noted, others are raised."""

    stage: Named
    error: str | None = None  # code of an expected error, class name of another one
    _start: float = 0.0

    def __enter__(self) -> Attempt:
        self._start = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(problem, Exception) or not self.stage.optional:
            return False
        is_expected = isinstance(problem, RagError)
        self.error = problem.code if isinstance(problem, RagError) else type(problem).__name__
        told = None if is_expected else (type(problem), problem, traceback)
        logger.warning("stage %s skipped: %s", self.stage.stage_name, problem, exc_info=told)
        return True

    def record(self, *, before: int, after: int, note: Mapping[str, Any]) -> StageRecord:
        """What is kept of the run, which ends now; a skipped stage has no note."""
        return StageRecord(
            stage=self.stage.stage_name,
            seconds=perf_counter() - self._start,
            before=before,
            after=after,
            note={} if self.error else dict(note),  # a plain one: it is stored
            error=self.error,
        )
