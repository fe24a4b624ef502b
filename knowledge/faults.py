"""Which faults pass by themselves, and which are the verdict on a document, an attachment, a picture or a model.

Decided here for all background work. What passes is tried again and never stored as a verdict; what nobody knows is a
fault of this software, and its text says so.
"""

from __future__ import annotations

from typing import Any

from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from redis import RedisError

from knowledge.disk_space import disk_fault
from knowledge.errors import error_columns
from ragcore.errors import RagError, TransientError

# Something is not there, or is something else, however often one looks.
_LASTING = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


class StoreUnavailableError(TransientError):
    """Postgres or Redis did not answer, or Postgres chose this worker as the victim of a deadlock."""

    code = "store_unavailable"
    default_message = "The database or the queue did not answer. It is retried automatically."


class MachineBusyError(TransientError):
    """The machine had no memory, no disk space or no processes left, or a disk did not answer."""

    code = "machine_busy"
    default_message = "The server was short of memory, disk space or processes. It is retried automatically."


def known_fault(error: BaseException) -> RagError | None:
    """The error that is to be stored or tried again; None: nobody knows it, and the log has to have it."""
    if isinstance(error, RagError):
        return error
    if isinstance(error, (OperationalError, InterfaceError, RedisError, BrokerError)):
        return StoreUnavailableError()
    if fault := disk_fault(error):
        return fault
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and not isinstance(error, _LASTING)):
        return MachineBusyError()
    return None


def failure_columns(error: Exception) -> dict[str, Any]:
    """How any failure is stored: one that nobody knows is "internal", and its text is for the log only."""
    fault = known_fault(error)
    if fault is not None:
        return error_columns(fault)
    return {
        "error_code": "internal",
        "error_message": "Something went wrong. It has been logged.",
        "error_data": {},
    }
