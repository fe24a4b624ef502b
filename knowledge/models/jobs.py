"""Ingestion jobs: the truth about what is being ingested. Celery only carries ids."""

from __future__ import annotations

from typing import ClassVar, Literal

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from work.models import State


class IngestJob(models.Model):
    """One request to ingest, of one file or of many."""

    class Kind(models.TextChoices):
        UPLOAD = "upload", _("Upload")
        BULK = "bulk", _("Load")
        SYNC = "sync", _("Synchronisation")
        REBUILD = "rebuild", _("Re-process")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("started by")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices, default=Kind.UPLOAD)
    source = models.ForeignKey(
        "knowledge.Source",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="jobs",
        verbose_name=_("source"),
    )
    paused = models.DateTimeField(_("paused"), null=True, blank=True)
    cancelled = models.DateTimeField(_("cancelled"), null=True, blank=True)
    report = models.JSONField(default=dict, blank=True)  # what a run found, added, changed, deleted, refused
    swept = models.DateTimeField(null=True, blank=True)  # when the sweeper last called workers to it

    class Meta:
        verbose_name = _("processing job")
        verbose_name_plural = _("processing jobs")
        ordering: ClassVar = ["-created", "-id"]

    def __str__(self) -> str:
        return f"#{self.pk}"


class IngestItem(models.Model):
    """One document version on its way to being searchable, which one worker at a time holds (`work.leases`)."""

    FENCE: ClassVar = "attempt"

    class Stage(models.TextChoices):
        RECEIVED = "received", _("Waiting")
        PARSED = "parsed", _("Read")
        RECOGNISED = "recognised", _("Images read (OCR)")
        CLEANED = "cleaned", _("Cleaned")
        CHUNKED = "chunked", _("Chunked")
        REPRESENTED = "represented", _("Enriched")
        EMBEDDED = "embedded", _("Embedded")
        LIVE = "live", _("Searchable")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    class Queue(models.TextChoices):
        INGEST = "ingest", _("Reading")
        OCR = "ocr", _("Character recognition (OCR)")
        EMBED = "embed", _("Enriching and embedding")

    job = models.ForeignKey(IngestJob, on_delete=models.CASCADE, related_name="items", verbose_name=_("job"))
    version = models.ForeignKey(
        "knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="items", verbose_name=_("version")
    )
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=0)  # claims; (row, attempt) names one holder
    lease_until = models.DateTimeField(_("locked until"), null=True, blank=True)  # a worker holds it until then
    heartbeat = models.DateTimeField(_("last update"), null=True, blank=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)
    stage = models.CharField(_("stage"), max_length=16, choices=Stage.choices, default=Stage.RECEIVED)
    queue = models.CharField(_("queue"), max_length=8, choices=Queue.choices, default=Queue.INGEST)
    progress_done = models.PositiveIntegerField(default=0)  # pages read or passages embedded, within the stage
    progress_total = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)  # workers that ended while they held it
    faults = models.PositiveSmallIntegerField(default=0)  # passing faults in a row, such as a busy model server
    waiting_since = models.DateTimeField(null=True, blank=True)  # the first of these faults
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)  # back-off after a passing fault
    error_code = models.CharField(_("error"), max_length=64, blank=True)
    error_message = models.CharField(_("message"), max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True, editable=False)  # see RagError.message_data

    class Meta:
        verbose_name = _("document in processing")
        verbose_name_plural = _("document processing")
        ordering: ClassVar = ["job", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["job", "version"], name="knowledge_item_once")]
        indexes: ClassVar = [
            models.Index(fields=["not_before", "id"], condition=models.Q(finished=None), name="knowledge_item_open")
        ]

    def __str__(self) -> str:
        return f"#{self.job_id} · {self.get_stage_display()}"


class QueueTurn(models.Model):
    """When a tenant had its last turn in a queue, in its virtual time (`knowledge.services.ingestion.shares`)."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    queue = models.CharField(max_length=8, choices=IngestItem.Queue.choices)
    start = models.FloatField(default=0)
    finish = models.FloatField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["queue", "tenant"], name="knowledge_turn_once")]

    def __str__(self) -> str:
        return f"{self.queue} {self.tenant_id}"


class SyncRun(models.Model):
    """The run that brings the documents of a job: of sources one after another, or of one address.

    Its life is that of a background job; what it brings is counted in the report of the ingestion job.
    """

    job = models.OneToOneField(IngestJob, on_delete=models.CASCADE, primary_key=True, related_name="run")
    work = models.OneToOneField("work.Job", null=True, on_delete=models.SET_NULL, related_name="+")  # null: long over
    trigger = models.CharField(max_length=16)  # person, schedule, command, webhook
    request = models.JSONField(default=dict)  # one address to be fetched instead of sources

    def __str__(self) -> str:
        return f"#{self.job_id}"

    @property
    def state(self) -> Literal["waiting", "running", "done"]:
        """Running as long as a worker holds it, also where its lease has ended."""
        if self.work is None or not self.work.is_open:
            return "done"
        return "running" if self.work.state == State.RUNNING else "waiting"
