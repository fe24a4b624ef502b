"""Which faults pass by themselves, and which are the verdict on a document, an attachment, a picture or a model.

Decided here for all background work. What passes is tried again and never stored as a verdict; what nobody knows is a
fault of this software, and its text says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from redis import RedisError

from ragcore.errors import RagError, TransientError

FaultReader = Callable[[BaseException], RagError | None]

# Something is not there, or is something else, however often one looks.
_LASTING = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
_READERS: Final[list[FaultReader]] = []


class StoreUnavailableError(TransientError):
    """Postgres or Redis did not answer, or Postgres chose this worker as the victim of a deadlock."""

    code = "store_unavailable"
    default_message = "The database or the queue did not answer. It is retried automatically."


class MachineBusyError(TransientError):
    """The machine had no memory, no disk space or no processes left, or a disk did not answer."""

    code = "machine_busy"
    default_message = "The server was short of memory, disk space or processes. It is retried automatically."


def fault_reader(reader: FaultReader) -> FaultReader:
    """Registers a function of an app above that reads errors only this app knows, e.g. those of a full disk."""
    if reader not in _READERS:
        _READERS.append(reader)
    return reader


def known_fault(error: BaseException) -> RagError | None:
    """The error that is to be stored or tried again; None: nobody knows it, and the log has to have it."""
    if isinstance(error, RagError):
        return error
    if isinstance(error, (OperationalError, InterfaceError, RedisError, BrokerError)):
        return StoreUnavailableError()
    for reader in _READERS:
        if fault := reader(error):
            return fault
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and not isinstance(error, _LASTING)):
        return MachineBusyError()
    return None
