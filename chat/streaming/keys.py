"""Names of what a turn keeps in Redis."""

from __future__ import annotations

import uuid

EXPIRE_AFTER_END_SECONDS = 3600
EXPIRE_RUNNING_SECONDS = 6 * 3600  # in case the process dies
ALIVE_SECONDS = 15


def events_key(message_id: uuid.UUID | str) -> str:
    return f"turn:{message_id}:events"


def alive_key(message_id: uuid.UUID | str) -> str:
    """Exists while a process works on the turn."""
    return f"turn:{message_id}:alive"


def stop_key(message_id: uuid.UUID | str) -> str:
    """Set by whoever wants the turn to stop, in any process."""
    return f"turn:{message_id}:stop"
