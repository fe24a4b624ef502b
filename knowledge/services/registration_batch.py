"""Register many documents at once: a handful of queries for all new ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from accounts.models import User
from accounts.scope import Scope
from knowledge.access_errors import QuotaExceededError
from knowledge.indexes.statements import files_lock_shared
from knowledge.models import Document, DocumentVersion, Source
from knowledge.services.composition import documents_settle
from knowledge.services.names import names_store
from knowledge.services.quotas import Quota, quota_hold
from knowledge.services.registration import (
    Arrival,
    Registration,
    arrival_check,
    arrival_names,
    document_new,
    document_register,
    identity_home,
    is_composed,
    version_new,
)
from ragcore.errors import PermanentError

Identity = tuple[int, str]  # source, external id


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """An arrival and its source."""

    arrival: Arrival
    source: Source

    @property
    def identity(self) -> Identity:
        return self.source.pk, self.arrival.external_id


def documents_register(
    *, scope: Scope, actor: User | None, arrivals: Sequence[Addressed]
) -> list[Registration | PermanentError]:
    """The result of `document_register` for each arrival, in order; permanent errors are returned, not raised.

    Call in a transaction. New documents whose source has no handler are written together; the others one by one
    afterwards: each of them may merge with a row or be refused.
    """
    outcomes: dict[int, Registration | PermanentError] = {}
    for number, addressed in enumerate(arrivals):
        try:
            arrival_check(scope=scope, arrival=addressed.arrival, source=addressed.source)
        except PermanentError as error:
            outcomes[number] = error
    tenants = sorted({addressed.source.tenant_id for addressed in arrivals})
    quotas = {tenant_id: quota_hold(tenant_id=tenant_id) for tenant_id in tenants}
    new = _new(arrivals, without=outcomes)
    outcomes.update(zip(new, _together(actor, [arrivals[number] for number in new], quotas), strict=False))
    for number, addressed in enumerate(arrivals):
        if number not in outcomes:
            outcomes[number] = _alone(scope, actor, addressed)
    return [outcomes[number] for number in range(len(arrivals))]


def _new(arrivals: Sequence[Addressed], *, without: Mapping[int, object]) -> list[int]:
    """Positions of arrivals that create new documents, independent of the others."""
    identities = _known(arrivals)
    chosen = []
    for number, addressed in enumerate(arrivals):
        if number not in without and addressed.arrival.external_id and addressed.identity not in identities:
            identities.add(addressed.identity)  # the next one under the same id merges with this one
            if not addressed.source.handler_id:
                chosen.append(number)
    return chosen


def _known(arrivals: Iterable[Addressed]) -> set[Identity]:
    """Identities that exist, whoever keeps them; their rows are locked in the same order by everyone."""
    by_source: dict[tuple[int, int], list[str]] = defaultdict(list)
    for addressed in arrivals:
        by_source[addressed.source.tenant_id, addressed.source.pk].append(addressed.arrival.external_id)
    identities: set[Identity] = set()
    for (tenant_id, source_id), external_ids in sorted(by_source.items()):
        rows = Document.objects.select_for_update().filter(
            tenant_id=tenant_id, source_id=source_id, external_id__in=external_ids, deleted=None
        )
        identities |= set(rows.order_by("pk").values_list("source_id", "external_id"))
    return identities


def _together(actor: User | None, arrivals: Sequence[Addressed], quotas: Mapping[int, Quota]) -> list[Registration]:
    """Create new documents with first versions; none if another request has registered one of them meanwhile, or
    where a quota has no place for all of them: then each is tried by itself.
    """
    try:
        _quotas_check(arrivals, quotas)
        with transaction.atomic():
            documents = _documents_create(actor, arrivals)
            versions = _versions_create(documents, arrivals)
            moved = _settle(documents)
    except (IntegrityError, QuotaExceededError):
        return []
    return [
        Registration(document, version, duplicate=False, merged=document.source_id in moved)
        for document, version in zip(documents, versions, strict=True)
    ]


def _quotas_check(arrivals: Sequence[Addressed], quotas: Mapping[int, Quota]) -> None:
    """Raise QuotaExceededError where the new documents of a tenant are too much together."""
    sizes: dict[int, list[int]] = defaultdict(list)
    for addressed in arrivals:
        sizes[addressed.source.tenant_id].append(addressed.arrival.size_bytes)
    for tenant_id, sizes_of_tenant in sizes.items():
        quotas[tenant_id].check(documents=len(sizes_of_tenant), size_bytes=sum(sizes_of_tenant))


def _documents_create(actor: User | None, arrivals: Sequence[Addressed]) -> list[Document]:
    documents = Document.objects.bulk_create(
        [
            document_new(
                actor=actor,
                arrival=addressed.arrival,
                source=addressed.source,
                home=identity_home(arrival=addressed.arrival, source=addressed.source),
            )
            for addressed in arrivals
        ]
    )
    names_store(
        [arrival_names(document, addressed.arrival) for document, addressed in zip(documents, arrivals, strict=True)]
    )
    through = Document.sets.through
    through.objects.bulk_create(
        [
            through(document_id=document.pk, knowledgeset_id=chosen.pk)
            for document, addressed in zip(documents, arrivals, strict=True)
            for chosen in addressed.arrival.sets
        ]
    )
    return documents


def _versions_create(documents: Sequence[Document], arrivals: Sequence[Addressed]) -> list[DocumentVersion]:
    for tenant_id in sorted({document.tenant_id for document in documents}):
        files_lock_shared(tenant_id=tenant_id)
    return DocumentVersion.objects.bulk_create(
        [
            version_new(document=document, arrival=addressed.arrival)
            for document, addressed in zip(documents, arrivals, strict=True)
        ]
    )


def _settle(documents: Sequence[Document]) -> set[int]:
    """Add them to sets by composition; returns the sources whose documents changed their sets."""
    by_source: dict[int, list[Document]] = defaultdict(list)
    for document in documents:
        if is_composed(document.source):
            by_source[document.source_id].append(document)
    return {
        source_id
        for source_id, documents_of_source in sorted(by_source.items())
        if documents_settle(document_ids=[document.pk for document in documents_of_source])
    }


def _alone(scope: Scope, actor: User | None, addressed: Addressed) -> Registration | PermanentError:
    try:
        with transaction.atomic():
            return document_register(scope=scope, actor=actor, arrival=addressed.arrival, source=addressed.source)
    except PermanentError as error:
        return error
