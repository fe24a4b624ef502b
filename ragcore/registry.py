"""Stages by name: both pipelines register, build, time and record them in the same way (D29)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from time import perf_counter
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from ragcore.errors import InvalidOptionsError, RagError
from ragcore.types import StageRecord

logger = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registry(Generic[S]):
    """Stage classes, frozen dataclasses whose fields are their options, under unique dotted names."""

    classes: dict[str, type[S]] = field(default_factory=dict)

    def register(self, name: str, *, optional: bool) -> Callable[[type[T]], type[T]]:
        """A decorator that gives a stage class its name, and says whether it may be skipped."""

        def add(cls: type[T]) -> type[T]:
            cls.stage_name = name  # type: ignore[attr-defined]
            cls.optional = optional  # type: ignore[attr-defined]
            self.classes[name] = cast("type[S]", cls)
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
