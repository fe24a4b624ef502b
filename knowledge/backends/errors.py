"""Errors of search backends besides Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence, TransientError


class BackendUnavailableError(TransientError):
    """The search backend besides Postgres does not answer, or not in time."""

    code = "backend_unavailable"
    default_message = "The search backend does not answer."


class BackendRefusedError(PermanentError):
    """The search backend answers, and does not do what it is asked for."""

    code = "backend_refused"
    default_message = "The search backend refused a request."
    reasons: ClassVar[Mapping[str, Sentence]] = {"milvus": "Milvus refused %(method)s: %(problem)s"}


class BackendTooDeepError(PermanentError):
    """What the asker may find lies deeper than the backend looks; Postgres has no such limit."""

    code = "backend_too_deep"
    default_message = "The search backend does not look deep enough for these filters."


class BackendBusyError(TransientError):
    """One writer at a time."""

    code = "backend_busy"
    default_message = "Another process is writing to the search backend. Try again when it is done."


class BackendNotConfiguredError(PermanentError):
    """SEARCH_BACKEND names another one."""

    code = "backend_not_configured"
    default_message = "Set SEARCH_BACKEND=milvus and MILVUS_URI first."
