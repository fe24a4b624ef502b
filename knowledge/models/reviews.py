"""When documents are to be looked at again."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class DocumentReview(models.Model):
    """Until when a document is to be reviewed, and when it last was; only of documents that have such a date.

    Not in the document's row: that one is read for every hit of a search.
    """

    document = models.OneToOneField(
        "knowledge.Document", primary_key=True, on_delete=models.CASCADE, related_name="review"
    )
    review_by = models.DateField(_("review by"), null=True, blank=True)
    reviewed = models.DateTimeField(_("last reviewed"), null=True, blank=True)
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    told = models.DateTimeField(null=True, blank=True)  # when its owners were told that it is due

    class Meta:
        verbose_name = _("review of a document")
        verbose_name_plural = _("reviews of documents")
        indexes: ClassVar = [
            models.Index(fields=["review_by"], condition=models.Q(review_by__isnull=False), name="knowledge_review_due")
        ]

    def __str__(self) -> str:
        return f"{self.document_id} {self.review_by}"

    @property
    def is_due(self) -> bool:
        """Whether the day has come; the day itself counts."""
        return self.review_by is not None and self.review_by <= timezone.localdate()
