"""The 1+X+Y knowledge sets."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _


class KnowledgeSet(models.Model):
    """A named collection of documents on one of the three axes. Everyone in the tenant sees that it exists."""

    class Axis(models.TextChoices):
        COMMON = "1", _("Common")
        CAPABILITY = "X", _("Capability")
        ORGANISATION = "Y", _("Organisation")

    class Visibility(models.TextChoices):
        EVERYONE = "everyone", _("Everyone in the organisation")
        MEMBERS = "members", _("Members only")

    class Originals(models.TextChoices):
        READERS = "readers", _("Everyone who may read the set")
        KEEPERS = "keepers", _("Owners only; users see the cited passages")

    class Rights(models.TextChoices):
        BOTH = "both", _("Both: the set and the source must let somebody in")
        SET = "set", _("Those of the set; what the source says is ignored")
        SOURCE = "source", _("Those of the source; who is named there reads, also without the set")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="knowledge_sets", verbose_name=_("tenant")
    )
    name = models.CharField(_("name"), max_length=128)
    name_zh = models.CharField(
        _("Chinese name"),
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text=_("Shown in the Chinese interface. If empty, the name is used."),
    )
    code = models.SlugField(_("code"), max_length=64, help_text=_("Unique identifier used by the API."))
    axis = models.CharField(_("category"), max_length=1, choices=Axis.choices, default=Axis.COMMON)
    visibility = models.CharField(
        _("visibility"), max_length=16, choices=Visibility.choices, default=Visibility.EVERYONE
    )
    originals = models.CharField(
        _("originals"),
        max_length=16,
        choices=Originals.choices,
        default=Originals.READERS,
        help_text=_("Who may open, page through and download the documents. Questions are answered in either case."),
    )
    rights = models.CharField(
        _("whose rights count"),
        max_length=8,
        choices=Rights.choices,
        default=Rights.BOTH,
        db_default=Rights.BOTH,
        help_text=_("Where the source says who may read a document."),
    )
    description = models.TextField(_("description"), blank=True)
    persona = models.CharField(_("persona"), max_length=256, blank=True)
    answer_template = models.TextField(
        _("answer template"),
        max_length=2000,
        blank=True,
        default="",
        db_default="",
        help_text=_("Headings and order of answers when this set is asked alone. Needs a language model."),
    )
    example_questions = ArrayField(
        models.CharField(max_length=256), default=list, blank=True, verbose_name=_("example questions")
    )
    options = models.JSONField(_("options"), default=dict, blank=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="member_sets", verbose_name=_("members")
    )
    member_groups = models.ManyToManyField(
        "accounts.UserGroup", blank=True, related_name="member_sets", verbose_name=_("member groups")
    )
    owners = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="owned_sets", verbose_name=_("owners")
    )
    editors = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="edited_sets",
        verbose_name=_("editors"),
        help_text=_("May change documents and passages, nothing else."),
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("knowledge set")
        verbose_name_plural = _("knowledge sets")
        ordering: ClassVar = ["axis", "name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "code"], name="knowledge_set_code_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.shown_name

    @property
    def shown_name(self) -> str:
        """The name in the reader's language."""
        return self.name_zh if self.name_zh and is_chinese() else self.name

    @property
    def told_names(self) -> dict[str, str]:
        """The names as details of a notification, which is shown in the language of who reads it."""
        return {"set": self.name, "set_zh": self.name_zh}


def is_chinese() -> bool:
    """Whether the reader's language is Chinese."""
    return (get_language() or "").startswith("zh")


def name_in_language() -> Coalesce:
    """`KnowledgeSet.shown_name` as an expression over rows of sets."""
    names = [NullIf("name_zh", models.Value(""))] if is_chinese() else []
    return Coalesce(*names, "name", "name")


class SiteOptions(models.Model):
    """Options of a tenant that its sets inherit: by group, as in ragcore.options."""

    tenant = models.OneToOneField("accounts.Tenant", primary_key=True, on_delete=models.CASCADE, related_name="+")
    options = models.JSONField(_("options"), default=dict, blank=True)
    updated = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("default settings")
        verbose_name_plural = _("default settings")

    def __str__(self) -> str:
        return f"{self.tenant_id}"


class OptionsChange(models.Model):
    """One change of the options of a set, or of a site (no set). Rows are added, never changed."""

    class Kind(models.TextChoices):
        EDIT = "edit", _("Edited")
        IMPORT = "import", _("Imported")
        UNDO = "undo", _("Undone")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        null=True,
        on_delete=models.CASCADE,
        related_name="options_changes",
        verbose_name=_("knowledge set"),
    )
    at = models.DateTimeField(_("time"), auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("actor")
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.EDIT)
    note = models.CharField(_("note"), max_length=256, blank=True)
    before = models.JSONField(_("before"), default=dict)  # own options by group, as in KnowledgeSet.options
    after = models.JSONField(_("after"), default=dict)

    class Meta:
        verbose_name = _("settings change")
        verbose_name_plural = _("configuration history")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [models.Index(fields=["tenant", "knowledge_set", "-id"], name="knowledge_options_changes")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} #{self.pk}"


class RefusalLine(models.Model):
    """How far a set's own line of refusals lies below the shipped one.

    Drawn in the background from questions made of the set's own sentences; see ragcore.answerability.own_line.
    """

    knowledge_set = models.OneToOneField(
        "knowledge.KnowledgeSet", primary_key=True, on_delete=models.CASCADE, related_name="refusal_line"
    )
    lowered = models.FloatField(default=0)  # log-odds, never negative; 0: the shipped line
    questions = models.PositiveIntegerField(default=0)  # made ones whose passage was found
    passages = models.PositiveIntegerField(default=0)  # of the set at that time
    documents = models.PositiveIntegerField(default=0)
    embedder = models.CharField(max_length=128, blank=True)  # whose cosines were seen
    drawn = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.knowledge_set_id} {self.lowered:.2f}"
