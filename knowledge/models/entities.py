"""Entities that documents mention, where they stand, their other names, and what owners decided about them.

Entities, sentences and passages with their containment are the relation-free graph of LinearRAG (arXiv 2510.10114).
An entity belongs to a tenant and to nobody's rights: who may read none of the passages that mention it is told
nothing of it, neither its name nor any number.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from knowledge.models.graph import KEY_CHARACTERS, ShortTextVector, vector_index
from knowledge.models.lexicon import OfSetOrTenant


class EntityKind(models.TextChoices):
    """How a mention was recognised."""

    NAME = "name", _("Name")
    TERM = "term", _("Term")
    ABBREVIATION = "abbreviation", _("Abbreviation")
    IDENTIFIER = "identifier", _("Identifier")
    QUANTITY = "quantity", _("Quantity")
    TITLE = "title", _("Title")


class Entity(models.Model):
    """Something that documents of a tenant call by one name; spellings with the same key are one. Insert-only."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=KEY_CHARACTERS)  # knowledge.indexes.graph_triples.entity_key
    name = models.CharField(_("name"), max_length=KEY_CHARACTERS)  # as it was first written
    kind = models.CharField(_("kind"), max_length=12, choices=EntityKind.choices, default=EntityKind.NAME)

    class Meta:
        verbose_name = _("entity")
        verbose_name_plural = _("entities")
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "key"], name="knowledge_entity_once")]
        indexes: ClassVar = [GinIndex(name="knowledge_entity_alike", fields=["key"], opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.name


class EntityVector(ShortTextVector):
    """The vector of an entity's name."""

    pk = models.CompositePrimaryKey("entity_id", "embedding_model")
    entity_id = models.BigIntegerField()

    class Meta:
        indexes: ClassVar = [vector_index("knowledge_entity_vector")]


class Mention(models.Model):
    """A place in a passage that names an entity. It has the rights of its passage and goes with it.

    Offsets count characters of the passage; a mention in the title or the headings of a passage has none (`start` is
    -1), and its sentence is the beginning of the passage.
    """

    tenant_id = models.BigIntegerField()
    # rows go with their entity and their passage, by the database itself
    entity = models.ForeignKey(
        Entity, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="mentions"
    )
    document = models.ForeignKey(
        "knowledge.Document", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    version = models.ForeignKey(
        "knowledge.DocumentVersion", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    chunk = models.ForeignKey(
        "knowledge.Chunk", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="mentions"
    )
    kind = models.CharField(max_length=12, choices=EntityKind.choices)
    start = models.IntegerField()
    end = models.IntegerField()
    sentence_start = models.IntegerField()
    sentence_end = models.IntegerField()

    class Meta:
        verbose_name = _("mention")
        verbose_name_plural = _("mentions")
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [
            models.Index(fields=["entity", "chunk"], name="knowledge_mention_entity"),
            models.Index(fields=["chunk"], name="knowledge_mention_chunk"),
        ]

    def __str__(self) -> str:
        return f"{self.chunk_id}:{self.start}"


class EntityAlias(models.Model):
    """A passage says that two names are one thing, such as an abbreviation beside its long form.

    It has the rights of its passage and goes with it.
    """

    class Kind(models.TextChoices):
        ABBREVIATION = "abbreviation", _("Abbreviation")
        BRACKET = "bracket", _("Name in brackets")

    tenant_id = models.BigIntegerField()
    entity = models.ForeignKey(
        Entity, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="aliases"
    )
    other = models.ForeignKey(
        Entity, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="alias_of"
    )
    document = models.ForeignKey(
        "knowledge.Document", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    version = models.ForeignKey(
        "knowledge.DocumentVersion", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    chunk = models.ForeignKey(
        "knowledge.Chunk", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)

    class Meta:
        verbose_name = _("other name")
        verbose_name_plural = _("other names")
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [
            models.Index(fields=["entity"], name="knowledge_alias_entity"),
            models.Index(fields=["other"], name="knowledge_alias_other"),
            models.Index(fields=["chunk"], name="knowledge_alias_chunk"),
        ]

    def __str__(self) -> str:
        return f"{self.entity_id} = {self.other_id}"


class EntityDecision(OfSetOrTenant):
    """What an owner decided about names, for searches in one set, or in all sets of the tenant.

    Names are kept, not rows of entities: a decision holds for documents that are read later, too. The latest decision
    about the same names counts; one that was undone does not.
    """

    class Kind(models.TextChoices):
        MERGE = "merge", _("Same entity")  # both names mean the entity `other`
        SPLIT = "split", _("Different entities")
        REJECT = "reject", _("Not an entity")
        CONFIRM = "confirm", _("Confirmed")

    kind = models.CharField(_("decision"), max_length=12, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=KEY_CHARACTERS)
    key = models.CharField(max_length=KEY_CHARACTERS, editable=False)
    other = models.CharField(_("other name"), max_length=KEY_CHARACTERS, blank=True)
    other_key = models.CharField(max_length=KEY_CHARACTERS, blank=True, editable=False)
    clearance = models.PositiveSmallIntegerField(default=0)  # who may know of both names, as the lexicon has it
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    undone = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("decision about entities")
        verbose_name_plural = _("decisions about entities")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "key"], name="knowledge_decision_key"),
            models.Index(fields=["tenant", "other_key"], name="knowledge_decision_other"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class EntityReading(models.Model):
    """A version whose entities were read, and by which rules and lexicon. Rows go with their version."""

    version = models.OneToOneField(
        "knowledge.DocumentVersion",
        primary_key=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="entity_reading",
    )
    tenant_id = models.BigIntegerField()
    rules = models.CharField(max_length=64)
    mentions = models.PositiveIntegerField(default=0)
    made = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.version_id} {self.rules}"
