"""Conversations, messages and citations, announcements, and figures of strategies by day."""

from __future__ import annotations

import uuid
from datetime import datetime
from pathlib import PurePath
from typing import ClassVar, Literal

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Conversation(models.Model):
    """Turns between one person and the assistant."""

    class Channel(models.TextChoices):
        WEB = "web", _("Web chat")
        API = "api", _("API")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations", verbose_name=_("user")
    )
    channel = models.CharField(_("channel"), max_length=8, choices=Channel.choices, default=Channel.API)
    title = models.CharField(_("title"), max_length=200, blank=True)
    sets = models.ManyToManyField("knowledge.KnowledgeSet", blank=True, related_name="+", verbose_name=_("asked in"))
    pinned = models.BooleanField(_("pinned"), default=False)
    folder = models.CharField(_("folder"), max_length=64, blank=True, default="", db_default="")
    archived = models.BooleanField(_("archived"), default=False, db_default=False)
    summary = models.TextField(_("summary of earlier turns"), blank=True, default="", db_default="")
    summarised_until = models.DateTimeField(null=True, blank=True, editable=False)  # `created` of the last turn in it
    # the last turn of the branch that is shown; null: no turn was placed in a branch yet (chat.branches)
    leaf = models.ForeignKey(
        "chat.Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    embed = models.ForeignKey(  # the chat on another page in which it began
        "chat.Embed",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("embedded chat"),
    )
    # whether it goes on there: not after the person has asked in it on the site itself, where all their sets answer
    goes_on_in_embed = models.BooleanField(default=False, db_default=False, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering: ClassVar = ["-updated"]
        indexes: ClassVar = [models.Index(fields=["user", "channel", "-updated"], name="chat_conversation_recent")]

    def __str__(self) -> str:
        return self.title or str(self.pk)


class Message(models.Model):
    """One question with its answer.

    `state` tells whether the turn is over; `status` is the kind of answer (docs/api-questions.md) once it is.
    """

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        STOPPED = "stopped", _("Stopped by the user")
        FAILED = "failed", _("Failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    # the turn that it follows; several that follow the same one are versions of each other (chat.branches)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    question = models.TextField(_("question"))
    answer = models.TextField(_("answer"), blank=True)  # Markdown with [n] markers
    answer_html = models.TextField(blank=True)  # rendered and sanitised
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.RUNNING)
    status = models.CharField(_("status"), max_length=16, blank=True)
    confidence = models.FloatField(_("confidence"), null=True, blank=True)
    sentences = models.JSONField(default=list, blank=True)  # [{text, support, reason, risk, citations}]
    # how many sources it was made from; rows of citations may go (purged documents, removed files), these stay
    document_sources = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    file_sources = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    request = models.JSONField(default=dict, blank=True)  # the validated request, for replay
    metadata = models.JSONField(default=dict, blank=True)  # timings, usage, model, options_sha256, …
    trace = models.JSONField(default=dict, blank=True)  # stage records, scores, drops
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True)  # see RagError.message_data
    created = models.DateTimeField(_("asked"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("question and answer")
        verbose_name_plural = _("questions and answers")
        ordering: ClassVar = ["created"]
        indexes: ClassVar = [
            models.Index(fields=["conversation", "created"], name="chat_message_order"),
            models.Index(fields=["-created"], name="chat_message_created"),  # numbers of the last days
        ]

    def __str__(self) -> str:
        return self.question[:80]


class CitationValues(models.Model):
    """What citations of documents and of attached files have in common."""

    number = models.PositiveIntegerField(_("number"))
    excerpt = models.TextField(_("excerpt"), blank=True)
    segment = models.TextField(blank=True)  # the sentence of the answer that carries the first marker
    position = models.PositiveIntegerField(default=0)
    score = models.FloatField(default=0)
    confidence = models.FloatField(_("confidence"), default=0)
    weak = models.BooleanField(default=False)
    cited = models.BooleanField(default=True)  # False: shown as a source, not pointed to by the answer
    relevance = models.FloatField(null=True, blank=True)  # that it answers the question, 0 to 1; null: not judged

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"[{self.number}]"


class MessageCitation(CitationValues):
    """A citation bound to a chunk of an immutable version: it never shifts."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="citations")
    chunk = models.ForeignKey("knowledge.Chunk", on_delete=models.PROTECT, related_name="citations")
    document = models.ForeignKey("knowledge.Document", on_delete=models.PROTECT, related_name="citations")
    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.PROTECT, related_name="citations")

    class Meta:
        verbose_name = _("citation")
        verbose_name_plural = _("citations")
        ordering: ClassVar = ["message", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["message", "number"], name="chat_citation_number_once")
        ]


def attachment_path(attachment: Attachment, name: str) -> str:
    """By its own key: nobody else's file has the same place, whatever its content."""
    return f"attachments/{attachment.tenant_id}/{attachment.key}{PurePath(name).suffix.lower()}"


class Attachment(models.Model):
    """A file that one person has attached to one conversation. Nobody else reads it, whatever their role."""

    class State(models.TextChoices):
        READING = "reading", _("Being read")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # by which clients know it
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(  # null: no question has been asked with it yet
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="attachments"
    )
    name = models.CharField(_("file name"), max_length=255)
    file = models.FileField(upload_to=attachment_path, max_length=256)
    size_bytes = models.PositiveBigIntegerField(_("size"))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.READING)
    can_retry = models.BooleanField(default=False, db_default=False)  # a passing fault has kept it from being read
    progress_done = models.PositiveIntegerField(default=0)  # pages and pictures that OCR has read
    progress_total = models.PositiveIntegerField(default=0)
    pages = models.PositiveIntegerField(null=True, blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True)  # see RagError.message_data
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("attached file")
        verbose_name_plural = _("attached files")
        ordering: ClassVar = ["created", "pk"]

    def __str__(self) -> str:
        return self.name


class AttachmentPassage(models.Model):
    """A passage of an attached file."""

    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="passages")
    ordinal = models.PositiveIntegerField()  # 0-based, reading order
    text = models.TextField()  # Markdown
    heading_path = models.JSONField(default=list, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    tokens = models.PositiveIntegerField(default=0)
    vector = models.BinaryField()  # float32[768], normalised
    model = models.CharField(max_length=255, default="", db_default="")  # that made the vector; "": not known

    class Meta:
        verbose_name = _("passage of an attached file")
        verbose_name_plural = _("passages of attached files")
        ordering: ClassVar = ["attachment", "ordinal"]

    def __str__(self) -> str:
        return f"{self.attachment_id}/{self.ordinal}"


class AttachmentCitation(CitationValues):
    """A citation of an attached file. Numbers are shared with the message's other citations."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="attachment_citations")
    passage = models.ForeignKey(AttachmentPassage, on_delete=models.CASCADE, related_name="citations")

    class Meta:
        verbose_name = _("citation of an attached file")
        verbose_name_plural = _("citations of attached files")
        ordering: ClassVar = ["message", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["message", "number"], name="chat_attachment_citation_once")
        ]


class FactCitation(CitationValues):
    """A citation of an imported fact, with its text as `excerpt`. Numbers are shared with the other ones.

    Facts come and go by the thousand: nothing is bound to them. Who may not see the fact at the moment of reading, or
    where it is gone, sees the number only.
    """

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="fact_citations")
    triple_id = models.BigIntegerField()
    knowledge_set_id = models.BigIntegerField()
    file = models.CharField(max_length=255)  # that it was imported from

    class Meta:
        verbose_name = _("citation of an imported fact")
        verbose_name_plural = _("citations of imported facts")
        ordering: ClassVar = ["message", "number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["message", "number"], name="chat_fact_citation_once")]


class SharedLink(models.Model):
    """A link under which colleagues read an answer, or a conversation up to it, within their own rights."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # random: the address of the link
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="links")
    is_whole = models.BooleanField(default=False)  # also the turns before the answer in its branch
    created = models.DateTimeField(_("created"), auto_now_add=True)
    expires = models.DateTimeField(_("expires"))
    revoked = models.DateTimeField(_("revoked"), null=True, blank=True)
    opened = models.PositiveIntegerField(_("opened"), default=0)  # by others
    last_opened = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("shared link")
        verbose_name_plural = _("shared links")
        ordering: ClassVar = ["-created", "-pk"]

    def __str__(self) -> str:
        return str(self.key)

    @property
    def is_open(self) -> bool:
        """Whether it still shows anything."""
        return self.revoked is None and self.expires > timezone.now()


class AskingPreferences(models.Model):
    """How a person likes to ask: remembered by the composer, on every device."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="asking_preferences"
    )
    style = models.CharField(max_length=16, blank=True)  # "" as the knowledge sets say; see chat.types.AnswerForm
    depth = models.CharField(max_length=16, blank=True)  # see chat.types.Depth
    hints_seen = models.BooleanField(default=False)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("asking preferences")
        verbose_name_plural = _("asking preferences")

    def __str__(self) -> str:
        return str(self.user_id)


class Announcement(models.Model):
    """A message of administrators above the chat of everybody in their tenant."""

    class Level(models.TextChoices):
        INFO = "info", _("Information")
        WARNING = "warning", _("Warning")
        URGENT = "urgent", _("Urgent")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    text = models.TextField(
        _("text"),
        max_length=1000,
        blank=True,
        help_text=_("One or two sentences. Markdown: **bold**, *italic*, `code`, lists and [links](https://…)."),
    )
    text_zh = models.TextField(
        _("Chinese text"),
        max_length=1000,
        blank=True,
        help_text=_("Shown in the Chinese interface. If empty, the other text is shown in both."),
    )
    level = models.CharField(_("level"), max_length=8, choices=Level.choices, default=Level.INFO)
    begins = models.DateTimeField(_("shown from"), null=True, blank=True, help_text=_("If empty, at once."))
    ends = models.DateTimeField(
        _("shown until"), null=True, blank=True, help_text=_("If empty, until it is switched off.")
    )
    is_active = models.BooleanField(_("switched on"), default=True)
    is_dismissible = models.BooleanField(
        _("can be dismissed"),
        default=True,
        help_text=_("Each user hides it for themselves. A changed text comes back."),
    )
    edition = models.PositiveIntegerField(default=1, editable=False)  # grows when the words or the level change
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("announcement")
        verbose_name_plural = _("announcements")
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return (self.text or self.text_zh)[:80]

    def state_at(self, now: datetime) -> Literal["shown", "planned", "over", "off"]:
        """Whether it is shown at a moment, and if not, why."""
        if not self.is_active:
            return "off"
        if self.begins is not None and self.begins > now:
            return "planned"
        return "over" if self.ends is not None and self.ends <= now else "shown"


class AnnouncementDismissal(models.Model):
    """That somebody has dismissed an announcement, in the words that it had then."""

    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="dismissals")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    edition = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["announcement", "user"], name="chat_dismissal_once_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.announcement_id} {self.user_id}"


class StrategyStatistics(models.Model):
    """Sums over the answers of one tenant that one strategy has given on one day (UTC)."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    strategy = models.CharField(_("strategy"), max_length=32)
    day = models.DateField(_("day"))
    answers = models.PositiveIntegerField(_("answers"), default=0)
    total_seconds = models.FloatField(default=0)
    confidence_sum = models.FloatField(default=0)
    refused = models.PositiveIntegerField(_("refused"), default=0)
    degraded = models.PositiveIntegerField(_("extractive (no LLM)"), default=0)

    class Meta:
        verbose_name = _("answer statistics")
        verbose_name_plural = _("answer statistics")
        ordering: ClassVar = ["-day", "strategy"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "strategy", "day"], name="chat_strategy_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.strategy} {self.day}"
