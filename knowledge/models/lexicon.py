"""The lexicon of a tenant and of a knowledge set: terms, what is published and what was changed."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

NAME_CHARACTERS = 200


class OfSetOrTenant(models.Model):
    """Rows of a set, or without one of its tenant: terms of a lexicon, decisions about names."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("knowledge set"),
    )

    class Meta:
        abstract = True


class LexiconTerm(OfSetOrTenant):
    """A term with its other names. Only approved terms are published."""

    class Kind(models.TextChoices):
        TERM = "term", _("Term")
        ABBREVIATION = "abbreviation", _("Abbreviation")
        NAME = "name", _("Name")

    class Status(models.TextChoices):
        CANDIDATE = "candidate", _("Suggested")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")

    class Language(models.TextChoices):
        CHINESE = "zh", _("Chinese")
        ENGLISH = "en", _("English")
        OTHER = "other", _("Other")

    class Origin(models.TextChoices):
        PERSON = "person", _("Entered")
        IMPORT = "import", _("Imported")
        MINED = "mined", _("Found in documents")
        REMEDY = "remedy", _("From a feedback case")

    text = models.CharField(_("term"), max_length=NAME_CHARACTERS)
    key = models.CharField(max_length=NAME_CHARACTERS, editable=False)  # normalised, lower case
    language = models.CharField(_("language"), max_length=8, choices=Language.choices, default=Language.OTHER)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices, default=Kind.TERM)
    long_form = models.CharField(_("long form"), max_length=NAME_CHARACTERS, blank=True)
    synonyms = ArrayField(
        models.CharField(max_length=NAME_CHARACTERS), default=list, blank=True, verbose_name=_("synonyms")
    )
    translations = ArrayField(
        models.CharField(max_length=NAME_CHARACTERS), default=list, blank=True, verbose_name=_("translations")
    )
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.APPROVED)
    origin = models.CharField(_("origin"), max_length=16, choices=Origin.choices, default=Origin.PERSON)
    score = models.FloatField(_("confidence"), null=True, blank=True)  # of a candidate: 0 surely none, 1 surely one
    # the same as a language model judges it; None: none was asked
    model_score = models.FloatField(_("score of the language model"), null=True, blank=True, editable=False)
    evidence = models.CharField(_("evidence"), max_length=500, blank=True)  # where it was found
    # the DocumentVersion that it quotes, with which it goes; no key: a purge must not wait for suggestions
    evidence_version = models.BigIntegerField(null=True, editable=False)
    clearance = models.PositiveSmallIntegerField(default=0)  # of the lowest document that has it; for others it is not
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("lexicon term")
        verbose_name_plural = _("lexicon")
        ordering: ClassVar = ["key", "pk"]
        constraints: ClassVar = [
            # an abbreviation may have several long forms
            models.UniqueConstraint(
                fields=["tenant", "knowledge_set", "key", "long_form"],
                nulls_distinct=False,
                name="knowledge_lexicon_term_once",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "knowledge_set", "status"], name="knowledge_lexicon_status"),
        ]

    def __str__(self) -> str:
        return self.text


class LexiconVersion(OfSetOrTenant):
    """A published state of one lexicon. `entries` never change; the terms behind them may."""

    class State(models.TextChoices):
        BUILDING = "building", _("Being published")
        LIVE = "live", _("In use")
        RETIRED = "retired", _("Previous version")
        FAILED = "failed", _("Not published")

    number = models.PositiveIntegerField(_("version"))
    entries = models.JSONField(default=list)
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.BUILDING)
    # names whose passages are indexed with the whole name before the version is used
    names = models.PositiveIntegerField(default=0)
    names_done = models.PositiveIntegerField(default=0)
    passages = models.PositiveIntegerField(default=0)  # that got a whole name
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    live_since = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=200, blank=True)
    measured = models.JSONField(default=dict, blank=True)  # before and after on golden cases, see evaluation

    class Meta:
        verbose_name = _("lexicon version")
        verbose_name_plural = _("lexicon versions")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "knowledge_set", "number"],
                nulls_distinct=False,
                name="knowledge_lexicon_version_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "knowledge_set"],
                condition=models.Q(state="live"),
                nulls_distinct=False,
                name="knowledge_lexicon_one_live",
            ),
        ]

    def __str__(self) -> str:
        return str(self.number)


class LexiconChange(OfSetOrTenant):
    """What somebody did with a term: its values before and after; None where there was no term."""

    term_id = models.BigIntegerField(null=True)  # no key: a deleted term comes back by undoing
    text = models.CharField(_("term"), max_length=NAME_CHARACTERS)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    batch = models.UUIDField(null=True)  # changes that were made, and are undone, together
    file_name = models.CharField(max_length=200, blank=True, db_default="")  # that it was imported from
    undone = models.DateTimeField(null=True, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("change of the lexicon")
        verbose_name_plural = _("changes of the lexicon")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [models.Index(fields=["tenant", "knowledge_set", "-id"], name="knowledge_lexicon_changes")]

    def __str__(self) -> str:
        return self.text
