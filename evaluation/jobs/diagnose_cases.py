"""Diagnoses the cases of a tenant that have no diagnosis.

Each diagnosis is stored together with the number of its case, so that a worker that is killed loses no case and does
none twice. A run of the night works a quarter of the time, so that it slows nobody who asks meanwhile; one that
somebody has asked for works all the time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.queue import DIAGNOSE_CASES
from evaluation.services.bearing import Wanted
from evaluation.services.case_diagnosis import cases_without_diagnosis, diagnoses_by_rights, known_answer
from evaluation.services.diagnosis import DiagnosedAnswer, diagnosis_store
from feedback.models import BadCase
from ragcore.errors import RagError
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job

logger = logging.getLogger(__name__)
clock = time.monotonic

NIGHT_SHARE = 0.25  # of the time, that a run which nobody waits for works: people who ask meanwhile have the rest
LONGEST_PAUSE_SECONDS = 5.0  # after a case
Diagnosed = Sequence[tuple[DiagnosedAnswer, Wanted]]


@job_kind
class DiagnoseCases(JobKind):
    """One walk over the cases of a tenant, in the order of their numbers. A job without an author is of the night."""

    name = DIAGNOSE_CASES
    label = _("Diagnosis of feedback cases")
    queue = "diagnosis"
    slice_seconds = 10.0  # some cases, or one with a judge; scans that wait on the same worker come between two slices
    hang_seconds = 300.0  # more than any single case takes, with the judge

    def run(self, job: Job) -> Iterator[Checkpoint]:
        while (case := _next_case(job)) is not None:
            began = clock()
            diagnosed = case_diagnosed(case)
            outcome = "diagnosed" if diagnosed else "failed"
            yield Checkpoint(
                data={"last_case": case.pk},
                done=job.done + 1,
                figures={outcome: job.figures.get(outcome, 0) + 1},
                write=partial(_store, diagnosed),
                rest_seconds=_pause_seconds(clock() - began) if job.author_id is None else 0.0,
            )

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        words = (("diagnosed", _("diagnosed")), ("failed", _("failed")))
        return [(label, job.figures[name]) for name, label in words if name in job.figures]


def _next_case(job: Job) -> BadCase | None:
    rows = cases_without_diagnosis(tenant_id=job.tenant_id).filter(pk__gt=job.checkpoint.get("last_case", 0))
    return rows.select_related("message__conversation__user__tenant").first()


def case_diagnosed(case: BadCase) -> Diagnosed:
    """What goes wrong with one case is logged, and gives nothing; the next night tries it again."""
    try:
        return list(diagnoses_by_rights(case, known_answer(case)))
    except RagError as error:
        logger.warning("case %s was not diagnosed: %s", case.pk, error.code)
    except Exception:
        logger.exception("case %s was not diagnosed", case.pk)
    return []


def _store(diagnosed: Diagnosed) -> None:
    for answer, wanted in diagnosed:
        diagnosis_store(actor=None, diagnosed=answer, wanted=wanted)


def _pause_seconds(worked: float) -> float:
    """After a case of a run at night."""
    return min(worked * (1 / NIGHT_SHARE - 1), LONGEST_PAUSE_SECONDS)
