"""Near-duplicate documents: compared in the background after they go live, reported to owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby

import numpy as np
import numpy.typing as npt
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.minhash_bands import bands_replace, oldest_copies, versions_sharing_a_band
from knowledge.indexes.statements import comparison_try_lock
from knowledge.models import DocumentVersion, DuplicatePair, SketchBand
from knowledge.queue import RECORD_DUPLICATES, enqueue_on_commit
from knowledge.selectors.comparisons import pair_get
from knowledge.selectors.keeping import kept_among
from knowledge.services.open_items import ingestion_is_active
from ragcore.text.near_duplicates import SIZE, bands, similarities_of_sketches, sketch

NEAR_FROM = 0.8  # estimated Jaccard of the shingles
CANDIDATES = 500  # versions whose sketches are compared: those with most common bands
PAIRS_A_DOCUMENT = 20  # documents of one template would otherwise pair all with all

Found = dict[int, tuple[str, float]]  # by the other document: kind and similarity
BATCH = 500  # versions a task
NOTHING = sketch("").tobytes()  # of a text without letters and digits: it has no bands and is similar to none
MAX_DELAY = timedelta(minutes=10)  # how long a comparison may wait for running ingestion


@transaction.atomic
def duplicates_record(*, tenant_id: int, version_ids: Sequence[int]) -> int:
    """Compare live versions with all others of the tenant and store the pairs; returns how many are new.

    Each document is paired with its PAIRS_A_DOCUMENT most similar others. Idempotent. Open pairs of documents that are
    no longer similar are deleted.
    """
    fresh = list(
        _live(tenant_id).filter(pk__in=version_ids).only("document_id", "text_sha256", "sketch").order_by("pk")
    )
    documents = [version.document_id for version in fresh]
    bands_replace(
        tenant_id=tenant_id,
        documents=documents,
        bands={version.pk: bands(_sketch(version)) for version in fresh if version.sketch},
    )
    pairs = _Pairs.of(documents)
    similar = _similar(tenant_id, fresh)
    new = sum(pairs.replace(document, similar[document]) for document in documents)
    pairs.store(tenant_id)
    return new


@transaction.atomic
def pair_keep(*, scope: Scope, actor: User, pair_id: int) -> DuplicatePair:
    """Marks a pair of near-duplicates as kept; who manages only one of both hides the pair for themselves only.

    Raises NotFoundError.
    """
    pair = pair_get(scope=scope, pair_id=pair_id)
    both = {pair.first_id, pair.second_id}
    if kept_among(scope=scope, document_ids=both) == both:
        pair.state = DuplicatePair.State.KEPT
        pair.save(update_fields=["state"])
    else:
        pair.dismissed_by.add(actor)
    audit_record(actor=actor, action="duplicates.keep", target=str(pair), pair=pair.pk)
    return pair


def _live(tenant_id: int) -> QuerySet[DocumentVersion]:
    return DocumentVersion.objects.filter(live_for__tenant_id=tenant_id, live_for__deleted=None)


@dataclass(slots=True)
class _Pairs:
    """Pairs of some documents by their ids, the lower one first: what is stored, and what shall be."""

    stored: dict[tuple[int, int], DuplicatePair]
    paired_documents: dict[int, set[int]]  # of each document, those that it has a pair with
    gone: set[int] = field(default_factory=set)  # ids of stored pairs
    pairs: dict[tuple[int, int], tuple[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Sequence[int]) -> _Pairs:
        """All stored pairs of the documents."""
        rows = DuplicatePair.objects.filter(Q(first__in=documents) | Q(second__in=documents))
        pairs = cls(stored={(row.first_id, row.second_id): row for row in rows}, paired_documents=defaultdict(set))
        for first, second in pairs.stored:
            pairs._join(first, second)
        return pairs

    def replace(self, document: int, similar: Found) -> int:
        """Make these the pairs of one document; its other ones go unless somebody keeps them. How many are new."""
        documents = set(self.paired_documents[document])
        for other in documents - set(similar):
            pair = _ordered(document, other)
            row = self.stored.get(pair)
            if row is not None and row.state != DuplicatePair.State.OPEN:
                continue
            if row is not None:
                self.gone.add(row.pk)
            self.pairs.pop(pair, None)
            self.paired_documents[document].discard(other)
            self.paired_documents[other].discard(document)
        for other, value in similar.items():
            self.pairs[_ordered(document, other)] = value
            self._join(document, other)
        return len(set(similar) - documents)

    def store(self, tenant_id: int) -> None:
        """Write what has changed."""
        if self.gone:
            DuplicatePair.objects.filter(pk__in=self.gone, state=DuplicatePair.State.OPEN).delete()
        rows = [
            DuplicatePair(tenant_id=tenant_id, first_id=first, second_id=second, kind=kind, similarity=value)
            for (first, second), (kind, value) in self.pairs.items()
        ]
        DuplicatePair.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["first", "second"], update_fields=["kind", "similarity"]
        )

    def _join(self, first: int, second: int) -> None:
        self.paired_documents[first].add(second)
        self.paired_documents[second].add(first)


def _ordered(first: int, other: int) -> tuple[int, int]:
    return (first, other) if first < other else (other, first)


def _similar(tenant_id: int, fresh: Sequence[DocumentVersion]) -> dict[int, Found]:
    """By document of the versions, the documents that are similar to it.

    Of many with the same text only the oldest one, and the oldest that shares a set, so that n copies make few pairs
    and a copy that others keep hides none.
    """
    versions = [version.pk for version in fresh]
    copies = oldest_copies(versions, tenant_id=tenant_id)
    sharing = versions_sharing_a_band([version.pk for version in fresh if version.sketch], limit=CANDIDATES)
    candidates = _Candidates.of(
        tenant_id, {other for versions_of_band in sharing.values() for other in versions_of_band}
    )
    similar: dict[int, Found] = {}
    for version in fresh:
        exact: Found = dict.fromkeys(copies.get(version.document_id, ()), (DuplicatePair.Kind.EXACT, 1.0))
        similar[version.document_id] = exact | candidates.near(version, sharing.get(version.pk, ()))
    return similar


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Live versions that some others are compared with, row by row: their documents, texts and sketches."""

    rows: dict[int, int]  # by version
    documents: npt.NDArray[np.int64]
    texts: npt.NDArray[np.object_]  # SHA-256
    sketches: npt.NDArray[np.uint32]  # [n, 128]

    @classmethod
    def of(cls, tenant_id: int, versions: Collection[int]) -> _Candidates:
        """Those of the versions that are live and have a sketch."""
        live = _live(tenant_id).filter(pk__in=versions).order_by("pk") if versions else DocumentVersion.objects.none()
        rows = [row for row in live.values_list("pk", "document_id", "text_sha256", "sketch") if row[3]]
        return cls(
            rows={row[0]: place for place, row in enumerate(rows)},
            documents=np.array([row[1] for row in rows], np.int64),
            texts=np.array([row[2] for row in rows], object),
            sketches=np.frombuffer(b"".join(bytes(row[3] or b"") for row in rows), np.uint32).reshape(-1, SIZE),
        )

    def near(self, version: DocumentVersion, sharing: Iterable[int]) -> Found:
        """Of the versions that share a band, the most similar ones whose text is not the same."""
        if not version.sketch:
            return {}
        rows = np.array([row for other in sharing if (row := self.rows.get(other)) is not None], np.intp)
        rows = rows[(self.documents[rows] != version.document_id) & (self.texts[rows] != version.text_sha256)]
        values = similarities_of_sketches(_sketch(version), self.sketches[rows])
        close = values >= NEAR_FROM
        near = sorted(zip(values[close].tolist(), self.documents[rows][close].tolist(), strict=True), reverse=True)
        return {document: (DuplicatePair.Kind.NEAR, value) for value, document in near[:PAIRS_A_DOCUMENT]}


def _sketch(version: DocumentVersion) -> npt.NDArray[np.uint32]:
    return np.frombuffer(bytes(version.sketch or b""), dtype=np.uint32)


# ── comparing in the background ───────────────────────────────────────────────────────────────────


@transaction.atomic
def versions_compare() -> int:
    """Store near-duplicates of live versions that were not compared yet; returns how many versions were compared.

    Bands of a sketch exist once it was compared, so a lost message leaves no version out. Only one task compares at a
    time: two would do the same work and wait for each other. Running ingestion goes first, because both need the
    processors; the comparison then runs when a job goes live, or at the next call of the scheduler.
    """
    if not comparison_try_lock():
        return 0
    compared = SketchBand.objects.filter(version=OuterRef("pk"))
    waiting = DocumentVersion.objects.filter(~Exists(compared), live_for__deleted=None, live_for__isnull=False)
    rows = (
        waiting.exclude(sketch=None)
        .exclude(sketch=NOTHING)
        .order_by("live_for__tenant_id", "pk")
        .values_list("live_for__tenant_id", "pk")
    )
    if ingestion_is_active() and not waiting.filter(live_since__lt=timezone.now() - MAX_DELAY).exists():
        return 0
    pairs_waiting = list(rows[:BATCH])
    for tenant_id, pairs in groupby(pairs_waiting, key=lambda pair: pair[0]):
        duplicates_record(tenant_id=tenant_id, version_ids=[pk for _, pk in pairs])
    if len(pairs_waiting) == BATCH:
        enqueue_on_commit(RECORD_DUPLICATES)
    return len(pairs_waiting)
