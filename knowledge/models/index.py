"""The narrow index table and its statistics. SQL on them lives in `knowledge.indexes` only."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField, HnswIndex, SparseVectorField

COARSE_DIMENSIONS = 384
FINE_DIMENSIONS = 768


class IndexEntry(models.Model):
    """One searchable representation of a chunk. Insert-only; metadata lives on the document.

    `bm25` holds the document side of BM25 by term id, `lexemes` the same term ids as text for GIN.
    New rows are an unindexed tail (`merged` false) that is scanned exactly; a task moves them into the HNSW index.
    `coarse` is the first half of the vector of `embedding_model` after its rotation, whose number is `rotation`
    (`knowledge.indexes.rotations`). Whole vectors, of each model that is kept, are WholeVectors.
    """

    chunk = models.ForeignKey("knowledge.Chunk", on_delete=models.CASCADE, related_name="entries")
    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="entries")
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    representation = models.CharField(max_length=16, default="body")
    language = models.CharField(max_length=8)
    length = models.PositiveIntegerField()  # terms, for BM25
    coarse = HalfVectorField(dimensions=COARSE_DIMENSIONS)
    lexemes = SearchVectorField()
    bm25 = SparseVectorField()
    embedding_model = models.CharField(max_length=128)
    merged = models.BooleanField(default=False)
    rotation = models.IntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = _("index entry")
        verbose_name_plural = _("index entries")
        indexes: ClassVar = [
            GinIndex(fields=["lexemes"], name="knowledge_entry_lexemes", fastupdate=False),
            HnswIndex(
                name="knowledge_entry_coarse",
                fields=["coarse"],
                m=32,
                ef_construction=256,
                opclasses=["halfvec_cosine_ops"],
                condition=models.Q(merged=True),
            ),
            models.Index(fields=["tenant"], condition=models.Q(merged=False), name="knowledge_entry_tail"),
        ]

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.representation}"


class WholeVector(models.Model):
    """The 768 numbers of an entry, in a narrow table: comparing all of them with a question reads little else.

    An entry has those of the model in use, and of another one while the site changes its model or may go back.
    Rows go with their entry, by a foreign key of the database itself (decision 020). The other columns are copies of
    the entry's, which never change.
    """

    pk = models.CompositePrimaryKey("entry_id", "embedding_model")
    entry_id = models.BigIntegerField()
    chunk_id = models.BigIntegerField()
    version_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField()
    representation = models.CharField(max_length=16)
    embedding_model = models.CharField(max_length=128)
    vector = HalfVectorField(dimensions=FINE_DIMENSIONS)
    cell = models.IntegerField(default=0, db_default=0)  # of VectorCells; 0: none yet, every search looks at it

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["chunk_id"], name="knowledge_whole_chunk"),
            models.Index(fields=["version_id"], name="knowledge_whole_version"),
            models.Index(fields=["tenant_id", "cell"], name="knowledge_whole_cell"),
        ]

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.representation}"


class SetVector(models.Model):
    """The 768 numbers of an entry by the embedding model of a knowledge set (decision 041).

    A table of its own with the columns of WholeVector, so that searches of the site's model read nothing of it. An
    entry has one row for each model, however many sets with that model hold its document.
    """

    pk = models.CompositePrimaryKey("entry_id", "embedding_model")
    entry_id = models.BigIntegerField()
    chunk_id = models.BigIntegerField()
    version_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField()
    representation = models.CharField(max_length=16)
    embedding_model = models.CharField(max_length=128)
    vector = HalfVectorField(dimensions=FINE_DIMENSIONS)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["chunk_id"], name="knowledge_set_vector_chunk"),
            models.Index(fields=["version_id"], name="knowledge_set_vector_version"),
            models.Index(fields=["tenant_id", "embedding_model", "entry_id"], name="knowledge_set_vector_model"),
        ]

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.representation}"


class PassageSentences(models.Model):
    """The vectors of the sentences of a passage by an embedding model, found by the text of a sentence (decision 048).

    `keys` and `numbers` are what `SentenceVectors.packed` gives; of a passage without a sentence both are empty, so
    that it is not looked for again. Passages have rows while they have entries. Rows go with their passage, by a
    foreign key of the database itself. The other ids are copies of the passage's, which never change.
    """

    pk = models.CompositePrimaryKey("chunk_id", "embedding_model", "space")
    chunk_id = models.BigIntegerField()
    version_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField()
    embedding_model = models.CharField(max_length=128)
    space = models.CharField(max_length=64)  # `sentence_space` of the model: of another one, they cannot be compared
    keys = models.BinaryField()
    numbers = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.embedding_model} {self.space}"


class EntryText(models.Model):
    """The text of an entry that is not its passage's: what another embedding model reads. Goes with its entry."""

    entry_id = models.BigIntegerField(primary_key=True)
    text = models.TextField()

    def __str__(self) -> str:
        return str(self.entry_id)


class TenantVectors(models.Model):
    """With which rotation the coarse vectors of a tenant and model are made."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=128)
    rotation = models.IntegerField(default=0)  # of new entries
    former = ArrayField(models.IntegerField(), default=list, blank=True)  # others that entries may still have
    costs = ArrayField(models.FloatField(), default=list, blank=True)  # of searches, measured here; (): not yet
    is_behind = models.BooleanField(default=False, db_default=False)  # some entries' coarse ones are of another model

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "model"], name="knowledge_vectors_once")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.model} {self.rotation}"


class VectorCells(models.Model):
    """The cells that the vectors of a tenant are divided into, by k-means on a part of them (decision 039).

    `name` is the `embedding_model` of the vectors. Centres and counts are packed by `ragcore.embedding.cells`.
    `measured` says how far searches must look: see CellFigures.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=160)
    centres = models.BinaryField()
    projection = models.BinaryField()  # to the directions in which the cell of a vector is chosen
    counts = models.BinaryField()  # of the sample at first, of all vectors once they are divided
    passages = models.PositiveIntegerField()  # entries that there were at the fit
    measured = ArrayField(models.FloatField(), default=list, blank=True)  # (): not all vectors are divided yet
    measured_passages = models.PositiveIntegerField(default=0)  # entries that there were then
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["tenant", "name"], name="knowledge_cells_of")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.name} {self.pk}"


class EmbedderFit(models.Model):
    """How vectors of an embedding model become the 768 numbers that are stored (`ragcore.embedding.shortening`).

    Written when a model is used for the first time, and never changed: stored vectors were made with it.
    """

    model = models.CharField(max_length=128, primary_key=True)
    dimensions = models.PositiveIntegerField()  # that the model gives
    projection = models.BinaryField(null=True)  # float16[dimensions, 768], row by row; None: the first 768 numbers
    kept_whole = models.FloatField(null=True)  # shares of neighbours that 768 and 384 numbers find; None: not measured
    kept_prefix = models.FloatField(null=True)
    floor = models.FloatField(null=True)  # default of the option `min_cosine`; None: as for the packaged model
    trust_latin = models.FloatField(null=True)  # bounds of the weight of its search, by script; None: not measured
    trust_cjk = models.FloatField(null=True)
    probes = models.BinaryField(null=True)  # float16[3, dimensions]: vectors that tell these weights from others
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.model} {self.dimensions}"


class Term(models.Model):
    """A term of the lexical index with its document frequency, per tenant and language."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    language = models.CharField(max_length=8)
    text = models.CharField(max_length=128)
    frequency = models.PositiveIntegerField(default=0)  # live entries that contain it

    class Meta:
        verbose_name = _("term")
        verbose_name_plural = _("terms")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "text", "language"], name="knowledge_term_once")
        ]
        indexes: ClassVar = [GinIndex(fields=["text"], opclasses=["gin_trgm_ops"], name="knowledge_term_trgm")]

    def __str__(self) -> str:
        return self.text


class LexicalStatistics(models.Model):
    """Totals for BM25, per tenant and language.

    Document sides are computed with `reference_length`; when the live average has drifted more than 10 % from it,
    a task moves the reference and recomputes them in batches: entries in (`reweighed_to`, `reweigh_until`] still have
    the `former_reference`.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    language = models.CharField(max_length=8)
    entries = models.PositiveIntegerField(default=0)
    total_length = models.PositiveBigIntegerField(default=0)
    reference_length = models.FloatField(default=0)
    former_reference = models.FloatField(null=True, blank=True)  # None: no recomputing is under way
    reweighed_to = models.PositiveBigIntegerField(default=0, db_default=0)  # id of an entry
    reweigh_until = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = _("lexical statistics")
        verbose_name_plural = _("lexical statistics")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "language"], name="knowledge_statistics_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.language}"


class CorpusEpoch(models.Model):
    """Counts changes of what a tenant's people can find; answers cached under an older epoch are stale."""

    tenant = models.OneToOneField("accounts.Tenant", primary_key=True, on_delete=models.CASCADE, related_name="+")
    value = models.PositiveBigIntegerField(default=0)
    everywhere = models.PositiveBigIntegerField(default=0, db_default=0)  # value at the last change of all sets

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.value}"


class SetEpoch(models.Model):
    """The tenant's corpus epoch at the last change of what can be found in one set.

    Without a foreign key: who writes a row must not wait for who deletes the set, because that one waits for the epoch.
    """

    knowledge_set_id = models.BigIntegerField(primary_key=True)
    value = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.knowledge_set_id} {self.value}"


# ── another search backend ────────────────────────────────────────────────────────────────────────


class TenantBackend(models.Model):
    """A tenant whose passages are searched elsewhere, or are on their way there."""

    tenant = models.OneToOneField("accounts.Tenant", primary_key=True, on_delete=models.CASCADE, related_name="+")
    collection = models.CharField(max_length=128)
    after = models.PositiveBigIntegerField(default=0)  # the last index entry that was copied
    started = models.DateTimeField(default=timezone.now)
    ready = models.DateTimeField(null=True, blank=True)  # since then it is searched; None: it is being copied

    class Meta:
        verbose_name = _("search backend")
        verbose_name_plural = _("search backends")

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.collection}"


class BackendChange(models.Model):
    """A document about which another backend must be told; written by triggers, within the change's transaction.

    It says which document has changed, not how: whoever takes it brings the backend to what the document is by then.
    No foreign keys: the document may be gone.
    """

    tenant_id = models.BigIntegerField()
    document_id = models.BigIntegerField()
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(default=timezone.now)  # later than now after a refusal

    class Meta:
        verbose_name = _("change for a search backend")
        verbose_name_plural = _("changes for a search backend")

    def __str__(self) -> str:
        return f"{self.pk}: {self.document_id}"
