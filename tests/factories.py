"""Making people, sets and ingested documents for tests, through the services that production uses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import tenant_ensure_default
from knowledge.indexes.lexical_statistics import reweigh_begin, reweigh_step
from knowledge.model_setup import registry_changed, setup_forget, setup_now, setup_refresh
from knowledge.models import Document, IngestItem, KnowledgeSet, LanguageModel, LexicalStatistics, ModelServer
from knowledge.services import documents_bulk, ingestion_advance
from knowledge.services.model_exams import exam_store
from knowledge.services.open_items import items_free
from ragcore.llm.model_profile import ModelProfile
from ragcore.types import Query

numbers = itertools.count(1)


def make_user(username: str = "", *, tenant: Tenant | None = None, clearance: int = 4, **fields: Any) -> User:
    """A user of the default tenant unless told otherwise."""
    return User.objects.create_user(
        username=username or f"user{next(numbers)}",
        password=fields.pop("password", "correct horse battery"),
        tenant=tenant or tenant_ensure_default(),
        clearance=clearance,
        **fields,
    )


def make_admin(username: str = "", **fields: Any) -> User:
    """A superuser with staff rights."""
    return make_user(username, is_staff=True, is_superuser=True, **fields)


def make_tenant(name: str = "") -> Tenant:
    return Tenant.objects.create(name=name or f"tenant {next(numbers)}")


def make_set(
    code: str = "",
    *,
    owners: Sequence[User] = (),
    members: Sequence[User] = (),
    tenant: Tenant | None = None,
    visibility: str = "everyone",
    axis: str = "1",
    **fields: Any,
) -> KnowledgeSet:
    code = code or f"set{next(numbers)}"
    made = KnowledgeSet.objects.create(
        tenant=tenant or (owners[0].tenant if owners else tenant_ensure_default()),
        code=code,
        name=fields.pop("name", code),
        axis=axis,
        visibility=visibility,
        **fields,
    )
    made.owners.set(owners)
    made.members.set(members)
    return made


def scope_of(user: User) -> Scope:
    return scope_for(user)


def ingest(
    owner: User, *sets: KnowledgeSet, clearance: int = 0, written: str = "text", **texts: str
) -> dict[str, Document]:
    """Texts by external id, registered in bulk and taken live by the real pipeline. `written`: their format."""
    common = {"sets": [s.pk for s in sets], "clearance": clearance, "format": written}
    rows = [{"external_id": key, "title": key, "text": text, **common} for key, text in texts.items()]
    lines = [json.dumps(row).encode() for row in rows]
    accepted = documents_bulk(scope=scope_for(owner), actor=owner, lines=lines)
    assert not accepted.rejected, accepted.rejected
    run_job(accepted.job_id)
    return {d.external_id: d for d in Document.objects.filter(external_id__in=texts, deleted=None)}


def run_job(job_id: int) -> None:
    """Work on a job as workers of all queues would, until nothing is left to claim.

    A queue that holds nothing is not asked: that takes a fifth of the time of a small document.
    """
    while queues := set(_free_items(job_id).order_by().values_list("queue", flat=True)):
        for queue in IngestItem.Queue.values:
            if queue in queues:
                ingestion_advance(job_id=job_id, queue=queue)


def _free_items(job_id: int) -> QuerySet[IngestItem]:
    return IngestItem.objects.filter(items_free(timezone.now()), job_id=job_id)


def reweighed(totals: LexicalStatistics, *, limit: int = 1000) -> int:
    """Compute the document sides of a language anew with today's average; returns the number of batches."""
    which = {"tenant_id": totals.tenant_id, "language": totals.language}
    reweigh_begin(**which)
    batches = 1
    while not reweigh_step(**which, limit=limit).is_over:
        batches += 1
    return batches


def servers_pass(*models: LanguageModel) -> None:
    """As if the servers of these models had just passed a test: they are used."""
    now = timezone.now()
    ModelServer.objects.filter(model__in=models).update(tested=now, passed=now, test_code="ok")
    with transaction.atomic():
        registry_changed()
    setup_refresh(now=True)


@contextmanager
def examined(purpose: str, **profile: Any) -> Iterator[None]:
    """Within it the model of a purpose has this profile."""
    spec = setup_now().models[purpose]
    exam_store(fingerprint=spec.fingerprint, name=spec.name, results=(), profile=ModelProfile(**profile))
    setup_refresh(now=True)
    try:
        yield
    finally:
        setup_forget()


def question_with(vector: Any) -> Query:
    """A question of no words that has been embedded: float[768]."""
    return Query(text="", terms=(), vector=np.asarray(vector, dtype=np.float32))
