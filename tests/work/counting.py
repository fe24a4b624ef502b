"""A kind of work that counts: each number is a row, written with the checkpoint of its number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from django.contrib.auth.models import Group

from accounts.models import Tenant
from work.kinds import Checkpoint, JobKind
from work.models import Job
from work.services import work_start


class Counting(JobKind):
    """Counts to `job.total`."""

    name = "test.count"
    label = "Counting"
    queue = "nightly"
    meanwhile: ClassVar[dict[int, Callable[[], object]]] = {}  # called once, before a number is written

    def run(self, job: Job) -> Iterator[Checkpoint]:
        for number in range(job.checkpoint.get("number", 0) + 1, job.total + 1):
            if act := self.meanwhile.pop(number, None):
                act()
            yield Checkpoint(data={"number": number}, done=number, write=partial(number_write, job.pk, number))


def number_write(job_id: int, number: int) -> dict[str, int]:
    """Fails for a number that is there already."""
    Group.objects.create(name=f"{job_id} {number:05}")
    return {"last": number}


def numbers(job: Job) -> list[int]:
    """What a job has written, in order."""
    names = Group.objects.filter(name__startswith=f"{job.pk} ").order_by("pk").values_list("name", flat=True)
    return [int(name.split()[1]) for name in names]


def count_to(total: int, *, subject: str = "", author=None) -> Job:
    """A job that has not begun."""
    tenant = author.tenant if author is not None else Tenant.objects.get_or_create(name="counting")[0]
    return work_start(kind=Counting.name, tenant_id=tenant.pk, author=author, subject=subject, total=total).job
