"""Counts what a source would bring in, where its list takes longer than a page can wait."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from knowledge.connectors import Item, UnreadableItem
from knowledge.connectors.base import EXAMPLES
from knowledge.models import Source
from knowledge.queue import COUNT_SOURCE
from knowledge.services.sources.connectors import listed_items
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.sync_runs import stored_error
from knowledge.services.sources.trials import MOST_PREVIEWED
from ragcore.errors import RagError
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job

STORE_SECONDS = 2.0
MOST_SECONDS = 1800.0
clock = time.monotonic


@job_kind
class CountSource(JobKind):
    """One list from its beginning; nothing is read or stored but the count and examples."""

    name = COUNT_SOURCE
    label = _("Counting of what a source would bring in")
    queue = "nightly"
    slice_seconds = math.inf
    at_once = 1

    def run(self, job: Job) -> Iterator[Checkpoint]:
        source = Source.objects.select_related("owner__service_owner").filter(pk=job.arguments["source"]).first()
        if source is None:
            yield Checkpoint(is_last=True)
            return
        try:
            yield from self._counts(source)
        except RagError as error:
            yield Checkpoint(figures={"fault": stored_error(error)}, is_last=True)

    def _counts(self, source: Source) -> Iterator[Checkpoint]:
        owner_check(source)
        source.cursor = {}
        values: dict[str, Any] = {"count": 0, "examples": [], "unreadable": [], "is_complete": True}
        begun = stored = clock()
        for place, listed in enumerate(listed_items(source)):
            if place >= MOST_PREVIEWED or clock() - begun > MOST_SECONDS:
                values["is_complete"] = False
                break
            if isinstance(listed, Item):
                values["count"] += 1
                _add(values["examples"], listed.external_id)
            elif isinstance(listed, UnreadableItem):
                values["is_complete"] &= not listed.hides
                _add(values["unreadable"], listed.path)
            if clock() - stored >= STORE_SECONDS:
                stored = clock()
                yield Checkpoint(done=values["count"], figures={"preview": {**values, "is_complete": False}})
        yield Checkpoint(done=values["count"], figures={"preview": values}, is_last=True)

    def subject_words(self, job: Job) -> str:
        """The name of the source."""
        return Source.objects.filter(pk=job.arguments.get("source")).values_list("name", flat=True).first() or ""


def _add(names: list[str], name: str) -> None:
    if len(names) < EXAMPLES:
        names.append(name)
