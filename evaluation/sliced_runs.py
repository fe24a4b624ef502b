"""What runs have in common that workers take a slice at a time (`evaluation.services.worker_calls`)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class SlicedRun(models.Model):
    """A run that one worker at a time holds by a lease."""

    FENCE: ClassVar = "takes"

    leased_until = models.DateTimeField(null=True)  # by the worker that holds it
    called = models.DateTimeField(null=True, editable=False)  # when a worker was called that has not come yet
    takes = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # by workers

    class Meta:
        abstract = True
