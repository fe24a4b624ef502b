"""Where documents come from, how they are treated, and which sets they go into."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


def source_kinds() -> list[tuple[str, Any]]:
    """Every kind of source with its name for people: those of Source.Kind, and the connectors."""
    from knowledge.connectors import connector_kinds  # their settings are read from files

    fixed = list(Source.Kind.choices)
    names = {name for name, _label in fixed}
    return fixed + [(name, kind.label) for name, kind in connector_kinds().items() if name not in names]


class SourceHandler(models.Model):
    """How documents of one kind of source are treated; its rules say what is read from names and texts."""

    class Splitting(models.TextChoices):
        INHERIT = "", _("As set for the knowledge set")
        SECTIONS = "sections", _("By heading")
        WHOLE = "whole", _("Do not split")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="source_handlers", verbose_name=_("tenant")
    )
    code = models.SlugField(_("code"), max_length=64)
    name = models.CharField(_("name"), max_length=128)
    description = models.TextField(_("description"), blank=True)
    splitting = models.CharField(
        _("chunking"), max_length=16, choices=Splitting.choices, default=Splitting.INHERIT, blank=True
    )
    keep_latest = models.BooleanField(
        _("keep only the latest"),
        default=False,
        help_text=_("Of documents of one series, only the highest version is kept."),
    )
    series_template = models.CharField(
        _("series"),
        max_length=256,
        blank=True,
        help_text=_("Identifier shared by all versions of a document, such as {spec}."),
    )
    version_template = models.CharField(
        _("version in the series"), max_length=256, blank=True, help_text=_("Used to determine the latest version.")
    )
    title_template = models.CharField(
        _("title"),
        max_length=256,
        blank=True,
        help_text=_("For example {product}: {title}. If empty, the title of the file."),
    )
    field_map = models.JSONField(
        _("field map"), default=dict, blank=True, help_text=_("Maps names of the source system to attributes here.")
    )

    class Meta:
        verbose_name = _("source handler")
        verbose_name_plural = _("source handlers")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "code"], name="knowledge_handler_code_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.name


class HandlerRule(models.Model):
    """One rule: where a pattern matches, something is written on the document. Rules run in order."""

    class Looks(models.TextChoices):
        PATH = "path", _("Path")
        NAME = "name", _("File name")
        TITLE = "title", _("Title")
        TEXT = "text", _("Text")
        STYLE = "style", _("Paragraph style")
        LINE = "line", _("Line")

    class Match(models.TextChoices):
        CONTAINS = "contains", _("contains")
        GLOB = "glob", _("matches the wildcard (* and ?)")
        REGEX = "regex", _("matches the regular expression")

    class Action(models.TextChoices):
        ADD_TAG = "tag", _("add the tag")
        SET_ATTRIBUTE = "attribute", _("set the attribute")
        SPLIT_WHOLE = "whole", _("do not split into passages")
        SKIP = "skip", _("skip the document")
        INDENTATION = "indentation", _("nest in a list (indentation)")
        RELATE = "relate", _("relate to another document")

    handler = models.ForeignKey(SourceHandler, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    looks = models.CharField(_("where"), max_length=8, choices=Looks.choices, default=Looks.PATH)
    match = models.CharField(_("how"), max_length=8, choices=Match.choices, default=Match.CONTAINS)
    pattern = models.CharField(_("pattern"), max_length=512)
    action = models.CharField(
        _("then"),
        max_length=16,
        choices=Action.choices,
        default=Action.ADD_TAG,
        help_text=_("Nesting needs a paragraph style or line, and the level as value, such as {1} or {0|depth}."),
    )
    attribute = models.CharField(
        _("attribute"),
        max_length=64,
        blank=True,
        help_text=_("To relate: the kind of relation, such as replaces or tested_by."),
    )
    value = models.CharField(
        _("value"),
        max_length=256,
        blank=True,
        help_text=_(
            "Text with groups of the expression, such as TS {1}.{2}. To relate: which document, such as "
            "path: tests/{1}_test.md, name: {1}.md, number: HR-{1}, title: {1}, link: {0} or spec={1}."
        ),
    )

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        ordering: ClassVar = ["handler", "position", "id"]

    def __str__(self) -> str:
        return f"{self.get_looks_display()} {self.get_match_display()} {self.pattern}"


class Source(models.Model):
    """A system or folder whose external ids are unique within it."""

    class Kind(models.TextChoices):
        """Kinds that code names; others come from connectors, see source_kinds."""

        UPLOAD = "upload", _("Uploads")
        FOLDER = "folder", _("Folder")
        URL = "url", _("Web pages")
        SITEMAP = "sitemap", _("Site map")
        WEBHOOK = "webhook", _("Webhook")
        API = "api", _("API")
        GIT = "git", _("Git repository")
        DATABASE = "database", _("Database")
        STORAGE = "storage", _("Storage (S3, Azure, WebDAV, SFTP, SMB, HDFS)")
        MAIL = "mail", _("Mail (IMAP)")
        CRAWL = "crawl", _("Website (follows links)")
        FEED = "feed", _("News feed (RSS, Atom)")

    class Schedule(models.TextChoices):
        MANUAL = "manual", _("Manual")
        HOURLY = "hourly", _("Every hour")
        DAILY = "daily", _("Every day")
        WEEKLY = "weekly", _("Every week")

    class Outcome(models.TextChoices):
        NEVER = "", _("Never")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Succeeded")
        FAILED = "failed", _("Failed")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="sources", verbose_name=_("tenant")
    )
    name = models.CharField(_("name"), max_length=128)
    kind = models.CharField(_("kind"), max_length=16, choices=source_kinds, default=Kind.UPLOAD)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="owned_sources",
        verbose_name=_("owner"),
    )
    handler = models.ForeignKey(
        SourceHandler,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="sources",
        verbose_name=_("source handler"),
    )
    location = models.CharField(_("location"), max_length=2048, blank=True)  # a folder, or one URL a line
    credentials = models.TextField(blank=True, editable=False)  # encrypted; written, never shown
    schedule = models.CharField(_("schedule"), max_length=16, choices=Schedule.choices, default=Schedule.MANUAL)
    options = models.JSONField(_("options"), default=dict, blank=True)  # knowledge.types.SourceOptions
    settings = models.JSONField(_("settings"), default=dict, blank=True, db_default={})  # of its kind of connector
    cursor = models.JSONField(default=dict, blank=True, editable=False, db_default={})  # where the next list goes on
    enabled = models.BooleanField(_("enabled"), default=True)
    outcome = models.CharField(_("last sync"), max_length=16, choices=Outcome.choices, default="", blank=True)
    message = models.CharField(_("message"), max_length=512, blank=True)
    message_data = models.JSONField(default=dict, blank=True, editable=False)  # see RagError.message_data
    last_run = models.DateTimeField(_("last sync time"), null=True, blank=True)
    next_run = models.DateTimeField(_("next sync time"), null=True, blank=True)  # when it is due
    run = models.ForeignKey(
        "knowledge.SyncRun", null=True, on_delete=models.SET_NULL, editable=False, related_name="+"
    )  # that reads it, as long as `outcome` is running, or has read it last
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="knowledge_source_name_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.name


class SetSource(models.Model):
    """A set is composed of sources, each with a filter."""

    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="set_sources", verbose_name=_("knowledge set")
    )
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="set_sources", verbose_name=_("source"))
    filter = models.JSONField(_("filter"), default=dict, blank=True)  # knowledge.types.SourceFilter

    class Meta:
        verbose_name = _("source of a set")
        verbose_name_plural = _("sources of a set")
        ordering: ClassVar = ["knowledge_set", "source"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["knowledge_set", "source"], name="knowledge_set_source_once")
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.knowledge_set}"


class Attribute(models.Model):
    """What documents of a tenant may say about themselves, as data. Values stand in Document.metadata."""

    class Group(models.TextChoices):
        BASIC = "basic", _("Basic")
        MANAGEMENT = "management", _("Management")
        KNOWLEDGE = "knowledge", _("Knowledge")
        RECALL = "recall", _("Retrieval")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="attributes", verbose_name=_("tenant")
    )
    code = models.CharField(_("code"), max_length=64)
    name = models.CharField(_("name"), max_length=128)
    name_zh = models.CharField(_("Chinese name"), max_length=128, blank=True)
    group = models.CharField(_("group"), max_length=16, choices=Group.choices, default=Group.MANAGEMENT)
    choices = models.JSONField(_("choices"), default=list, blank=True, help_text=_("If empty, any text."))
    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        verbose_name = _("attribute")
        verbose_name_plural = _("attributes")
        ordering: ClassVar = ["group", "position", "code"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "code"], name="knowledge_attribute_code_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.name
