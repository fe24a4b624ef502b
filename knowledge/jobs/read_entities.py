"""Reads documents that went live for the entities that they mention, a few at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import partial

from django.utils.translation import gettext_lazy as _

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.entities import readings_outdated
from knowledge.queue import READ_ENTITIES
from knowledge.selectors.facts import documents_without_entities, sets_read_for_entities
from knowledge.selectors.lexicon import lexicon_of_index
from knowledge.services.entities.reading import documents_read, readings_withdraw, rules_of
from knowledge.services.fill_jobs import site_work
from knowledge.services.upkeep import READ_WITHIN, put_off
from ragcore.graph.term_spans import TermSpans
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job

BATCH = 32  # documents
OUTDATED = 500  # versions that are taken out at once
TURN_SECONDS = 20.0  # of one tenant; then the others have theirs
REST_SECONDS = 60.0  # while ingestion goes on
Turn = Generator[Checkpoint, None, bool]


@job_kind
class ReadEntities(JobKind):
    """One job for all tenants; it begins anew each minute with what has not been read by the present rules.

    It waits while other documents are ingested, for READ_WITHIN at most. What is done is in the tables, so that its
    checkpoint says only whose turn is next.
    """

    name = READ_ENTITIES
    label = _("Reading of documents for entities")
    queue = "nightly"
    slice_seconds = 40.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        return site_work([""])

    def run(self, job: Job) -> Iterator[Checkpoint]:
        if put_off("entities", at_most=READ_WITHIN):
            yield Checkpoint(rest_seconds=REST_SECONDS)
        tenants = sets_read_for_entities()
        every = [pk for sets in tenants.values() for pk in sets]
        while versions := readings_outdated(sets=every, limit=OUTDATED):
            yield Checkpoint(write=partial(readings_withdraw, versions))
        unseen = job.checkpoint.get("unseen")  # a tenant whose answers do not know yet what was read
        if unseen in tenants:
            yield _answers_end(unseen, tenants[unseen])
        latest = job.checkpoint.get("after", 0)
        waiting = deque(sorted(tenants, key=lambda tenant: (tenant <= latest, tenant)))
        while waiting:
            tenant = waiting.popleft()
            if (yield from _turn(tenant, tenants[tenant])):
                waiting.append(tenant)


def _turn(tenant_id: int, sets: Sequence[int]) -> Turn:
    """Read documents of a tenant for a while; whether some still wait."""
    lexicon = lexicon_of_index(tenant_id=tenant_id)
    rules, terms = rules_of(lexicon), TermSpans.of(lexicon.all_names()) if lexicon else None
    has_read, until = False, time.monotonic() + TURN_SECONDS
    while rows := documents_without_entities(tenant_id=tenant_id, sets=sets, rules=rules, limit=BATCH):
        yield Checkpoint(data={"unseen": tenant_id}, write=partial(documents_read, rows, terms, rules))
        has_read = True
        if time.monotonic() >= until:
            break
    if has_read:
        yield _answers_end(tenant_id, sets)
    return bool(rows)


def _answers_end(tenant_id: int, sets: Sequence[int]) -> Checkpoint:
    """Answers that were made before these documents were read are stale; the next tenant has its turn."""
    return Checkpoint(data={"after": tenant_id}, write=partial(epoch_advance, tenant_id=tenant_id, sets=sets))
