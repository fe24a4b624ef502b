"""Versions of lexicons, built as a worker would."""

from __future__ import annotations

from tests.work.contract import due, work_off
from work.models import Job


def build_of(version_id: int) -> Job:
    """The job that builds a version."""
    return Job.objects.get(kind="knowledge.build_lexicon", subject=f"version:{version_id}")


def lexicon_build(*, version_id: int) -> Job:
    """Build a version, at once if its build was put off."""
    job = build_of(version_id)
    due(job)
    return work_off(job)
