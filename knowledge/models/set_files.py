"""Files in which knowledge sets travel: exports that were made here, and files that were brought to be imported."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class SetFile(models.Model):
    """One file. Its background job says how far it is; the row says what people need of it afterwards.

    States: an export is WORKING, then DONE, until it expires; an import is OFFERED with its mapping, WORKING once
    somebody has confirmed it, then DONE. Both may be FAILED or CANCELLED, from where a job is tried again.
    """

    class Kind(models.TextChoices):
        EXPORT = "export", _("Export")
        IMPORT = "import", _("Import")

    class State(models.TextChoices):
        OFFERED = "offered", pgettext_lazy("state of a set file", "Waiting for confirmation")
        WORKING = "working", pgettext_lazy("state of a set file", "In progress")
        DONE = "done", pgettext_lazy("state of a set file", "Finished")
        FAILED = "failed", pgettext_lazy("state of a set file", "Failed")
        CANCELLED = "cancelled", pgettext_lazy("state of a set file", "Cancelled")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    state = models.CharField(_("state"), max_length=12, choices=State.choices)
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="set_files",
        verbose_name=_("knowledge set"),
    )  # that was exported, or made; null: not yet, or gone
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("started by")
    )
    name = models.CharField(_("file"), max_length=255)
    file = models.CharField(max_length=255, blank=True)  # in the default storage; "": deleted
    size_bytes = models.PositiveBigIntegerField(_("size"), default=0)
    clearance = models.PositiveSmallIntegerField(default=0)  # the highest of the documents in an export
    summary = models.JSONField(default=dict)  # of an import: what it would do; of both at the end: what was done
    choices = models.JSONField(default=dict)  # of an import: code, name and people, as they were confirmed
    ingest_job = models.ForeignKey("knowledge.IngestJob", null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("knowledge set file")
        verbose_name_plural = _("knowledge set files")
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def subject(self) -> str:
        """How background jobs name it."""
        return f"file:{self.pk}"

    @property
    def is_over(self) -> bool:
        """Whether nothing is done with it any more unless somebody tries again."""
        return self.state in (self.State.DONE, self.State.FAILED, self.State.CANCELLED)


class SetFileDocument(models.Model):
    """Which document came of which number in a file that is being imported. Rows go when the import is done."""

    set_file = models.ForeignKey(SetFile, on_delete=models.CASCADE, related_name="documents")
    number = models.BigIntegerField()  # id on the site that wrote the file
    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["set_file", "number"], name="knowledge_set_file_document_once")
        ]

    def __str__(self) -> str:
        return f"{self.set_file_id}: {self.number} → {self.document_id}"
