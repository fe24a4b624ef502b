"""What is kept in step with another search backend than Postgres (D39)."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


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
