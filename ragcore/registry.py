"""Stages by name: both pipelines register their classes and build lists of them in the same way (D29)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar, cast

from ragcore.errors import InvalidOptionsError

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
