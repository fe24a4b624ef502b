"""Reads documents for facts, and makes the vectors of facts that have none."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial

from django.utils.translation import gettext_lazy as _

from knowledge import model_registry
from knowledge.queue import READ_FACTS
from knowledge.selectors.facts import documents_to_read, sets_of_equal_confidence, sets_read_for_facts
from knowledge.services.facts import document_read, facts_ask, facts_withdraw, readings_outdated
from knowledge.services.fill_jobs import site_work
from knowledge.services.triples import fact_vectors_embed
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job


@job_kind
class ReadFacts(JobKind):
    """One job for all tenants; it begins anew each minute. What is done is in the tables: it needs no checkpoint.

    By rules first, then by the language model; after each document or few passages some facts get their vectors.
    """

    name = READ_FACTS
    label = _("Reading of documents for facts")
    queue = "nightly"
    slice_seconds = 45.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        return site_work([""])

    def run(self, job: Job) -> Iterator[Checkpoint]:
        sets, equal, after = sets_read_for_facts(), sets_of_equal_confidence(), 0
        if readings_outdated(sets).exists():
            yield Checkpoint(write=partial(facts_withdraw, sets))
        while True:
            has_read = yield from _read(sets, equal)
            facts = fact_vectors_embed(after=after, embedder=model_registry.embedder())
            after = facts.last if facts is not None else 0
            if facts is not None:
                yield Checkpoint(write=facts.store)
            elif not has_read:
                return


def _read(sets: list[int], equal: list[int]) -> Generator[Checkpoint, None, bool]:
    """Read the next document by rules, or the next passages by the model; whether it goes on."""
    if not sets:
        return False
    document = documents_to_read(sets=sets, equal=equal).first()
    if document is not None:
        yield Checkpoint(write=partial(document_read, document, sets, equal))
        return True
    passages = facts_ask(sets)
    if passages is None:
        return False
    yield Checkpoint(write=passages.store)
    return passages.is_model_there
