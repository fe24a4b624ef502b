"""Facts of knowledge sets as triples, their vectors, and the imports that brought them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from pgvector.django import HalfVectorField, HnswIndex

TRIPLE_DIMENSIONS = 384
NAME_CHARACTERS = 2000  # of a subject, relation or object
KEY_CHARACTERS = 240


def vector_index(name: str) -> HnswIndex:
    """The index by which vectors of short texts are searched."""
    return HnswIndex(name=name, fields=["vector"], m=16, ef_construction=64, opclasses=["halfvec_cosine_ops"])


class ShortTextVector(models.Model):
    """A short text by one embedding model, made in the background. Goes with its owner, by the database itself."""

    tenant_id = models.BigIntegerField()
    embedding_model = models.CharField(max_length=128)
    vector = HalfVectorField(dimensions=TRIPLE_DIMENSIONS)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return " ".join(map(str, self.pk))


class TripleImport(models.Model):
    """One file of triples for one knowledge set, and how far it is."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Finished")
        PARTIAL = "partial", _("Finished with faulty lines")
        FAILED = "failed", _("Failed")

    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        NTRIPLES = "ntriples", "N-Triples"
        JSONL = "jsonl", "JSONL"

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        on_delete=models.CASCADE,
        related_name="triple_imports",
        verbose_name=_("knowledge set"),
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("imported by")
    )
    name = models.CharField(_("file"), max_length=255)
    format = models.CharField(_("format"), max_length=12, choices=Format.choices)
    file = models.CharField(max_length=255, blank=True)  # in the default storage; "" when it is read
    size_bytes = models.PositiveBigIntegerField(_("size"), default=0)
    read_bytes = models.PositiveBigIntegerField(default=0)
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.QUEUED)
    accepted = models.PositiveIntegerField(_("imported"), default=0)
    duplicates = models.PositiveIntegerField(_("already there"), default=0)
    rejected = models.PositiveIntegerField(_("faulty lines"), default=0)
    faults = models.JSONField(default=list, blank=True)  # [{"line", "code", "message"}], the first 100
    created = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("import of triples")
        verbose_name_plural = _("imports of triples")
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def progress(self) -> int:
        """How much of the file is read, in percent."""
        if self.finished is not None or not self.size_bytes:
            return 100 if self.finished is not None else 0
        return min(99, 100 * self.read_bytes // self.size_bytes)


class FactState(models.TextChoices):
    """What an owner decided about a fact."""

    OPEN = "", pgettext_lazy("state of a fact", "Not checked")
    CONFIRMED = "confirmed", pgettext_lazy("state of a fact", "Confirmed")
    REJECTED = "rejected", pgettext_lazy("state of a fact", "Rejected")  # found by nobody


class Triple(models.Model):
    """One fact of a knowledge set. Rows are written by COPY (`knowledge.indexes.graph_triples`); only `state` changes.

    An imported fact has the rights of its set. A fact from a passage has those of its document: it is visible while
    `version` is the live one of a document that the asker may read. Keys make spellings of one name equal.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", db_index=False)
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        on_delete=models.CASCADE,
        related_name="triples",
        verbose_name=_("knowledge set"),
        db_index=False,  # the constraint has one
    )
    subject = models.TextField(_("subject"))
    relation = models.TextField(_("relation"))
    object = models.TextField(_("object"))
    subject_type = models.CharField(_("subject type"), max_length=200, blank=True)
    object_type = models.CharField(_("object type"), max_length=200, blank=True)
    subject_key = models.CharField(max_length=KEY_CHARACTERS)
    object_key = models.CharField(max_length=KEY_CHARACTERS)
    digest = models.BigIntegerField()  # of set, keys, relation and passage: the same fact is stored once
    lexemes = SearchVectorField()
    length = models.PositiveSmallIntegerField()  # different terms, for BM25
    confidence = models.FloatField(_("confidence"), default=1.0)  # 0 to 1
    source = models.ForeignKey(
        TripleImport, null=True, blank=True, on_delete=models.CASCADE, related_name="triples", verbose_name=_("import")
    )
    # documents, versions and passages are deleted in many places: the database lets their facts go with them
    document = models.ForeignKey(
        "knowledge.Document",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="triples",
    )
    version = models.ForeignKey(
        "knowledge.DocumentVersion",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="triples",
    )
    chunk = models.ForeignKey(
        "knowledge.Chunk",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="triples",
    )
    sentence = models.TextField(blank=True)  # of the passage that says it
    rule = models.CharField(max_length=16, blank=True, db_default="")  # that read it; "model"; "": imported
    state = models.CharField(
        _("decision"), max_length=10, blank=True, choices=FactState.choices, default=FactState.OPEN, db_default=""
    )

    class Meta:
        verbose_name = _("triple")
        verbose_name_plural = _("triples")
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["knowledge_set", "digest"], name="knowledge_triple_once")
        ]
        indexes: ClassVar = [
            # an import writes many facts with the same words: they come into the index together
            GinIndex(fields=["lexemes"], name="knowledge_triple_lexemes", fastupdate=True, gin_pending_list_limit=512),
            models.Index(fields=["tenant", "subject_key"], name="knowledge_triple_subject"),
            models.Index(fields=["tenant", "object_key"], name="knowledge_triple_object"),
            *(
                models.Index(
                    fields=[name], condition=models.Q(**{f"{name}__isnull": False}), name=f"knowledge_triple_{name}"
                )
                for name in ("document", "version", "chunk")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} | {self.relation} | {self.object}"[:200]


class TripleDecision(models.Model):
    """What an owner decided about a fact of a set, by its names: it holds for versions that are read later, too.

    The latest one about a fact counts; one that was undone does not.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        verbose_name=_("knowledge set"),
    )
    # that says it: who may not read it is told nothing of the decision; None: imported
    document = models.ForeignKey(
        "knowledge.Document", null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    kind = models.CharField(_("decision"), max_length=10, choices=FactState.choices)
    subject = models.TextField(_("subject"))
    relation = models.TextField(_("relation"))
    object = models.TextField(_("object"))
    subject_key = models.CharField(max_length=KEY_CHARACTERS)
    object_key = models.CharField(max_length=KEY_CHARACTERS)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    undone = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("decision about a fact")
        verbose_name_plural = _("decisions about facts")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(fields=["knowledge_set", "subject_key", "object_key"], name="knowledge_triple_decided")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} | {self.relation} | {self.object}"[:200]


class TripleName(models.Model):
    """A name at an end of some fact of the tenant, for finding names that are misspelt in a question.

    It says nothing about who may know of it: what is found here is looked up among the facts that the asker may see.
    """

    tenant_id = models.BigIntegerField()
    key = models.CharField(max_length=KEY_CHARACTERS)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant_id", "key"], name="knowledge_triplename_once")]
        indexes: ClassVar = [GinIndex(name="knowledge_triplename_alike", fields=["key"], opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.key


class TripleNameVector(ShortTextVector):
    """The vector of a name."""

    pk = models.CompositePrimaryKey("name_id", "embedding_model")
    name_id = models.BigIntegerField()

    class Meta:
        indexes: ClassVar = [vector_index("knowledge_triplename_vector")]


class FactReading(models.Model):
    """A version whose facts were read for a set, and by which rules. Rows go with their version.

    Where a language model reads, too: passages up to `ordinal` are read, `asked` of them by it. `tries` counts how
    often it answered others and not for the next one; `tried` is when it was last asked without an answer for that.
    """

    version = models.OneToOneField(
        "knowledge.DocumentVersion",
        primary_key=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="fact_reading",
    )
    knowledge_set = models.ForeignKey("knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="+")
    rules = models.CharField(max_length=32)
    facts = models.PositiveIntegerField(default=0)
    model = models.CharField(max_length=32, blank=True, db_default="")  # version of the prompt
    ordinal = models.IntegerField(default=-1, db_default=-1)
    asked = models.PositiveIntegerField(default=0, db_default=0)
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    tried = models.DateTimeField(null=True)
    made = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.version_id} {self.rules}"


class TripleVector(ShortTextVector):
    """The vector of a fact."""

    pk = models.CompositePrimaryKey("triple_id", "embedding_model")
    triple_id = models.BigIntegerField()

    class Meta:
        indexes: ClassVar = [vector_index("knowledge_triple_vector")]
