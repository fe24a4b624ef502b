"""Writing a large corpus the way ingestion does: COPY into the index, statistics under their lock, sets by share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.scale.corpus import MAX_PASSAGES, SEED, Draft, Pool, document_lengths, draft_made, vectors_made
from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.copy import EntryRow, chunk_ids, entries_copy
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical import document_side
from knowledge.indexes.lexical_statistics import reference_length_set, statistics_lock, term_ids, versions_count
from knowledge.indexes.statements import fetch
from knowledge.models import Chunk, Document, DocumentVersion, KnowledgeSet
from knowledge.services.deletion import documents_withdraw
from knowledge.services.registration import DEFAULT_SOURCE, source_ensure
from ragcore.ports import FloatArray

BATCH = 200  # documents a transaction
READ = 20_000  # passages at a time of a loaded database
SHARES = (0.5, 0.1, 0.01, 0.001, 0.0001)  # of the documents that are in a set of their own

PASSAGES_AFTER = """
SELECT v.chunk_id, d.id, halfvec_send(v.vector)
FROM knowledge_wholevector v JOIN knowledge_document d ON d.live_version_id = v.version_id
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND v.chunk_id > %(after)s AND d.deleted IS NULL
ORDER BY v.chunk_id LIMIT %(limit)s
"""


@dataclass
class Corpus:
    """What was loaded so far: the desk, and what exact search is computed from."""

    pool: Pool
    user: User
    model: str
    everything: KnowledgeSet
    narrow: dict[float, KnowledgeSet]
    words: bool = True  # False: vectors alone are loaded, in a tenth of the time
    documents: int = 0
    made: int = 0  # passages so far, also those that are gone again
    owners: list[int] = field(default_factory=list)  # document of passage n
    chunks: list[int] = field(default_factory=list)  # id of passage n
    vectors: list[FloatArray] = field(default_factory=list)

    @property
    def scope(self) -> Scope:
        return scope_for(self.user)

    @classmethod
    def opened(cls, pool: Pool, *, model: str, words: bool = True) -> Corpus:
        """What a bootstrapped database holds: nothing, or what a former run has loaded from the same pool."""
        user = User.objects.get(username="admin")
        sets = [
            KnowledgeSet.objects.get_or_create(tenant=user.tenant, code=code, defaults={"name": code})[0]
            for code in ("everything", *(f"share-{share:g}".replace(".", "-") for share in SHARES))
        ]
        corpus = cls(pool, user, model, sets[0], dict(zip(SHARES, sets[1:], strict=True)), words)
        corpus._read()
        return corpus

    def _read(self) -> None:
        """Passages are numbered in the order of their ids."""
        for chunks, owners, vectors in loaded_passages(tenant_id=self.user.tenant_id, model=self.model):
            self.chunks += chunks
            self.owners += owners
            self.vectors.append(vectors.astype(np.float16))
        self.made, self.documents = len(self.chunks), len(set(self.owners))

    def grow(self, passages: int) -> float:
        """Load until there are this many passages; returns the seconds."""
        start = time.perf_counter()
        for lengths in _batches(list(document_lengths(passages - self.made, documents=self.documents))):
            self._load(lengths)
        return time.perf_counter() - start

    def replace(self, share: float) -> None:
        """Delete this share of the documents, the oldest ones, with the product's own service, and load as many."""
        kept = sorted(set(self.owners))
        gone = set(kept[: int(share * len(kept))])
        documents_withdraw(tenant_id=self.user.tenant_id, document_ids=sorted(gone))
        stay = np.array([owner not in gone for owner in self.owners])
        self.vectors = [np.concatenate(self.vectors)[stay]]
        self.chunks = [chunk for chunk, is_kept in zip(self.chunks, stay, strict=True) if is_kept]
        self.owners = [owner for owner, is_kept in zip(self.owners, stay, strict=True) if is_kept]
        random = np.random.default_rng((SEED, self.documents))
        for lengths in _batches([int(random.integers(1, MAX_PASSAGES + 1)) for _ in gone]):
            self._load(lengths)

    def _load(self, lengths: Sequence[int]) -> None:
        first = self.made
        drafts = [draft_made(self.pool, first + n, words=self.words) for n in range(sum(lengths))]
        vectors = vectors_made(self.pool, drafts, first=first)
        with transaction.atomic():
            totals = statistics_lock(tenant_id=self.user.tenant_id, languages={d.language for d in drafts})
            versions = self._documents(len(lengths))
            owners = [version for version, length in zip(versions, lengths, strict=True) for _ in range(length)]
            ids = _chunks(drafts, owners)
            for language, total in totals.items():
                mine = [n for n, draft in enumerate(drafts) if draft.language == language]
                if not mine:
                    continue
                reference = total.reference_length or float(np.mean([drafts[n].terms.total() for n in mine])) or 1.0
                if not total.reference_length:
                    reference_length_set(tenant_id=self.user.tenant_id, language=language, reference=reference)
                terms = {term for n in mine for term in drafts[n].terms}
                known = term_ids(tenant_id=self.user.tenant_id, language=language, texts=terms)
                entries_copy([self._row(drafts[n], ids[n], owners[n], vectors[n], known, reference) for n in mine])
            versions_count(tenant_id=self.user.tenant_id, versions=[v.pk for v in versions], sign=+1)
            epoch_advance(tenant_id=self.user.tenant_id)
        self.documents += len(lengths)
        self.made += len(ids)
        self.owners += [version.document_id for version in owners]
        self.chunks += ids
        self.vectors.append(vectors.astype(np.float16))

    def _documents(self, count: int) -> list[DocumentVersion]:
        """Live documents without passages, in the sets that their numbers fall into."""
        source = source_ensure(tenant_id=self.user.tenant_id, name=DEFAULT_SOURCE)
        numbers = range(self.documents, self.documents + count)
        documents = Document.objects.bulk_create(
            [
                Document(
                    tenant=self.user.tenant,
                    source=source,
                    external_id=f"scale-{number}",
                    sha256=f"{number:064x}",
                    title=f"Document {number}",
                    state=Document.State.LIVE,
                )
                for number in numbers
            ]
        )
        versions = DocumentVersion.objects.bulk_create(
            [
                DocumentVersion(document=d, number=1, sha256=d.sha256, file_name=d.external_id, size_bytes=0)
                for d in documents
            ]
        )
        for document, version in zip(documents, versions, strict=True):
            document.live_version = version
        Document.objects.bulk_update(documents, ["live_version"])
        member = Document.sets.through
        member.objects.bulk_create(
            member(document_id=document.pk, knowledgeset_id=chosen.pk)
            for number, document in zip(numbers, documents, strict=True)
            for chosen in self._sets_of(number)
        )
        return versions

    def _sets_of(self, number: int) -> Iterator[KnowledgeSet]:
        """The first document is in all sets, so that none is empty."""
        yield self.everything
        drawn = np.random.default_rng((SEED, number, 2)).random(len(self.narrow))
        for value, (share, chosen) in zip(drawn, self.narrow.items(), strict=True):
            if value < share or number == 0:
                yield chosen

    def _row(
        self,
        draft: Draft,
        chunk_id: int,
        version: DocumentVersion,
        vector: FloatArray,
        ids: dict[str, int],
        reference: float,
    ) -> EntryRow:
        length = draft.terms.total()
        frequencies = {ids[term]: count for term, count in draft.terms.items()}
        return EntryRow(
            chunk_id=chunk_id,
            version_id=version.pk,
            tenant_id=self.user.tenant_id,
            representation="body",
            language=draft.language,
            length=length,
            vector=vector,
            weights=document_side(frequencies, length=length, average_length=reference),
            embedding_model=self.model,
        )


def _chunks(drafts: Sequence[Draft], owners: Sequence[DocumentVersion]) -> list[int]:
    ids = chunk_ids(len(drafts))
    ordinals: dict[int, int] = {}
    rows = []
    for number, draft, version in zip(ids, drafts, owners, strict=True):
        ordinal = ordinals.setdefault(version.pk, 0)
        ordinals[version.pk] += 1
        rows.append(Chunk(pk=number, version=version, ordinal=ordinal, text=draft.text, tokens=len(draft.text) // 4))
    Chunk.objects.bulk_create(rows)
    return ids


def loaded_passages(*, tenant_id: int, model: str) -> Iterator[tuple[list[int], list[int], FloatArray]]:
    """Chunks, documents and whole vectors of the live passages of a tenant, in the order of their ids."""
    after = 0
    while rows := fetch(PASSAGES_AFTER, {"tenant": tenant_id, "model": model, "after": after, "limit": READ}):
        after = rows[-1][0]
        yield [row[0] for row in rows], [row[1] for row in rows], halfvecs_read([row[2] for row in rows])


def _batches(lengths: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(lengths), BATCH):
        yield lengths[start : start + BATCH]
