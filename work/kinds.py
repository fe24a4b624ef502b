"""Kinds of background work, and the registry that finds them.

A kind is one class in one file of the folder `jobs` of an app. It says what a job does, as an iterator of checkpoints;
claims, leases, fences, retries, pausing and cancelling are the business of `work.runner`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from work.models import Job
from work.registry import KindRegistry

KINDS: KindRegistry[JobKind] = KindRegistry("jobs", what="work")
job_kind, kind_get, kinds = KINDS.register, KINDS.get, KINDS.all


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWork:
    """A subject that is to be worked on now, although nobody has asked for it."""

    tenant_id: int
    subject: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class JobKind(ABC):
    """One kind of background work.

    `run` may be killed between any two instructions, and begins again with the checkpoint that was stored last. It
    writes rows only in `Checkpoint.write`, or inside `work.fencing.job_writing`.
    """

    name: ClassVar[str]  # stored with its jobs: never changed
    label: ClassVar[Any]  # for people, translated
    queue: ClassVar[str]  # of Celery; the only place that says it
    slice_seconds: ClassVar[float] = 60.0  # after which a job lets others of its queue go first
    counts_loading: ClassVar[bool] = True  # False: the slice begins with its first checkpoint
    at_once: ClassVar[int | None] = None  # jobs of the kind that workers run at the same time; None: as many as come
    hang_seconds: ClassVar[float] = 3600.0  # longer than any honest way from one checkpoint to the next
    most_failures: ClassVar[int] = 6  # tries without a new checkpoint, after which it has failed
    most_unknown_failures: ClassVar[int] = 1  # the same of faults that nobody knows, which seldom pass
    retry_seconds: ClassVar[float] = 60.0  # before the second try; doubled with each
    longest_retry_seconds: ClassVar[float] = 3600.0
    needs_author: ClassVar[bool] = False  # it works with the rights of its author: without one it fails
    ends_with_author: ClassVar[bool] = True  # False: it goes on for everybody when the account of its author is closed

    @abstractmethod
    def run(self, job: Job) -> Iterator[Checkpoint]:
        """Go on from `job.checkpoint`. The job is done when the iterator ends, or with a last checkpoint."""

    def state_changed(self, job: Job) -> None:
        """Called in the transaction in which a job fails or a person has acted on it, for what else shows its state."""
        return

    def due(self) -> Iterable[DueWork]:
        """What is to be done now without being asked for, e.g. to keep an index complete; `work.upkeep` looks each
        minute. Each subject has one job, which begins anew from its checkpoint.
        """
        return ()

    def subject_words(self, job: Job) -> str:
        """What the job is about, for people who may see it."""
        return job.subject

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        """Further (label, value) rows of the page of a job."""
        return []
