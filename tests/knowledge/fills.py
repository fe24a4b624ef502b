"""Jobs that fill indexes, run to their end in this process as workers would; each tells how many rows it has stored."""

from __future__ import annotations

from django.db.models import Model

from knowledge.models import PassageSentences, SetVector, WholeVector
from knowledge.queue import (
    FILL_NAMES,
    FILL_SENTENCES,
    FILL_SET_VECTORS,
    FILL_VECTORS,
    IMPORT_TRIPLES,
    READ_ENTITIES,
    READ_FACTS,
    set_embedder_subject,
    switch_subject,
)
from knowledge.services.fill_jobs import fill_of
from work.models import OPEN, Job
from work.runner import slice_run
from work.upkeep import due_run


def vectors_tend() -> int:
    return _stored(FILL_VECTORS, WholeVector)


def set_vectors_tend() -> int:
    return _stored(FILL_SET_VECTORS, SetVector)


def sentences_tend() -> int:
    return _stored(FILL_SENTENCES, PassageSentences)


def entities_tend() -> None:
    _run(READ_ENTITIES)


def names_tend() -> None:
    """Vectors of names."""
    _run(FILL_NAMES)


def triples_tend() -> None:
    """Files that wait, then documents and vectors."""
    for job in Job.objects.filter(kind=IMPORT_TRIPLES, state__in=OPEN):
        slice_run(job_id=job.pk)
    _run(READ_FACTS)


def _stored(kind: str, model: type[Model]) -> int:
    before = set(model._default_manager.values_list("pk", flat=True))
    _run(kind)
    return len(set(model._default_manager.values_list("pk", flat=True)) - before)


def _run(kind: str) -> None:
    Job.objects.filter(kind=kind).update(not_before=None)  # the time of the next try has come
    due_run(kind=kind)


def switch_fill(row) -> Job:
    return _job(FILL_VECTORS, switch_subject(row.pk))


def set_fill(row) -> Job:
    return _job(FILL_SET_VECTORS, set_embedder_subject(row.pk))


def _job(kind: str, subject: str) -> Job:
    job = fill_of(kind, subject)
    assert job is not None
    return job
