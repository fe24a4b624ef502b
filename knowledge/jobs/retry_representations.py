"""Asks the language model again for summaries and questions that rules wrote while it was down."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from knowledge.queue import RETRY_REPRESENTATIONS
from knowledge.services.model_slots import background_model
from knowledge.services.representation_retries import retries_ask, retries_next
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job


@job_kind
class RetryRepresentations(JobKind):
    """What is due in a tenant, until nothing is or the model does not answer. Each passage is stored by itself."""

    name = RETRY_REPRESENTATIONS
    label = _("Asking the language model again")
    queue = "nightly"
    slice_seconds = 20.0
    at_once = 1  # a model that is down is asked by one worker
    ends_with_author = False

    def run(self, job: Job) -> Iterator[Checkpoint]:
        model = background_model(is_patient=False)
        while model is not None and (batch := retries_next(tenant_id=job.tenant_id)):
            outcome = retries_ask(job, batch, model)
            yield Checkpoint(done=job.done + outcome.total, is_last=outcome.is_silent)
