"""Kinds of background work, and the registry that finds them.

A kind is one class in one file of the folder `jobs` of an app. It says what a job does, as an iterator of checkpoints;
claims, leases, fences, retries, pausing and cancelling are the business of `work.runner`.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, TypeVar

from django.apps import apps

from work.errors import UnknownKindError
from work.models import Job

Kind = TypeVar("Kind", bound="type[JobKind]")
_KINDS: dict[str, JobKind] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a job has reached. All of it is stored in one transaction with what `write` writes, or none of it."""

    data: Mapping[str, Any] | None = None  # from which the job goes on; None: as before
    done: int | None = None
    total: int | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)  # added to those that the job has
    write: Callable[[], Mapping[str, Any] | None] | None = None  # called first; may give more figures
    is_last: bool = False  # the job is done with it
    rest_seconds: float = 0.0  # in which no worker has the job; the slice ends with the checkpoint


class JobKind(ABC):
    """One kind of background work.

    `run` may be killed between any two instructions, and begins again with the checkpoint that was stored last. It
    writes rows only in `Checkpoint.write`, or inside `work.fencing.job_writing`.
    """

    name: ClassVar[str]  # stored with its jobs: never changed
    label: ClassVar[Any]  # for people, translated
    queue: ClassVar[str]  # of Celery; the only place that says it
    slice_seconds: ClassVar[float] = 60.0  # after which a job lets others of its queue go first
    hang_seconds: ClassVar[float] = 3600.0  # longer than any honest way from one checkpoint to the next
    most_failures: ClassVar[int] = 6  # tries without a new checkpoint, after which it has failed
    most_unknown_failures: ClassVar[int] = 1  # the same of faults that nobody knows, which seldom pass
    retry_seconds: ClassVar[float] = 60.0  # before the second try; doubled with each
    needs_author: ClassVar[bool] = False  # it works with the rights of its author: without one it fails
    ends_with_author: ClassVar[bool] = True  # False: it goes on for everybody when the account of its author is closed

    @abstractmethod
    def run(self, job: Job) -> Iterator[Checkpoint]:
        """Go on from `job.checkpoint`. The job is done when the iterator ends, or with a last checkpoint."""

    def state_changed(self, job: Job) -> None:
        """Called in the transaction in which a job fails or a person has acted on it, for what else shows its state."""
        return

    def subject_words(self, job: Job) -> str:
        """What the job is about, for people who may see it."""
        return job.subject

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        """Further (label, value) rows of the page of a job."""
        return []


def job_kind(kind: Kind) -> Kind:
    """Registers a kind by its name. Raises ValueError where another class has the name."""
    other = _KINDS.setdefault(kind.name, kind())
    if type(other).__qualname__ != kind.__qualname__:
        raise ValueError(f"two kinds of work are called {kind.name}")
    return kind


def kind_get(name: str) -> JobKind:
    """The kind of this name. Raises UnknownKindError."""
    kinds_load()
    try:
        return _KINDS[name]
    except KeyError:
        raise UnknownKindError(kind=name) from None


def kinds() -> list[JobKind]:
    """All kinds, by name."""
    kinds_load()
    return [_KINDS[name] for name in sorted(_KINDS)]


@cache
def kinds_load() -> None:
    """Import every module of the folder `jobs` of each app, once a process."""
    for app in apps.get_app_configs():
        folder = f"{app.name}.jobs"
        if find_spec(folder) is None:
            continue
        for module in pkgutil.iter_modules(import_module(folder).__path__):
            import_module(f"{folder}.{module.name}")
