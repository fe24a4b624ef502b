"""What readers do with an answer (D35)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from accounts.models import User
from accounts.scope import Scope
from chat.selectors import message_get
from feedback.models import Signal


def signal_record(*, scope: Scope, user: User, message_id: UUID, kind: str, value: Any = None) -> Signal:
    """Add one signal; each is a row, so that repeated acts count. Raises NotFoundError."""
    message = message_get(scope=scope, message_id=message_id)
    return Signal.objects.create(message=message, user=user, kind=kind, value=value)
