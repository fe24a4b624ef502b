"""Jobs in words: what they are about, how far they are, and what went wrong."""

from __future__ import annotations

from django.utils.translation import gettext as _

from accounts.error_messages import code_message, stored_message
from work.errors import UnknownKindError
from work.kinds import kind_get
from work.models import Job


def kind_words(name: str) -> str:
    """The label of a kind; its name where this version does not have it."""
    try:
        return str(kind_get(name).label)
    except UnknownKindError:
        return name


def subject_words(job: Job) -> str:
    """What the job is about; "" where its kind has one subject only."""
    try:
        return kind_get(job.kind).subject_words(job)
    except UnknownKindError:
        return job.subject


def progress_words(job: Job) -> str:
    """`3 of 12`; "" where nothing is counted."""
    return _("%(done)d of %(total)d") % {"done": job.done, "total": job.total} if job.total else ""


def error_words(job: Job) -> str:
    """What went wrong last; "" where nothing did."""
    if job.error_data:
        return stored_message(job.error_code, job.error_code, job.error_data)
    return code_message(job.error_code) if job.error_code else ""
