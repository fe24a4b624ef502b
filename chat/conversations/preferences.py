"""How a person likes to ask, remembered by the composer."""

from __future__ import annotations

from typing import Any

from accounts.scope import Scope
from chat.models import AskingPreferences
from chat.types import AnswerForm, Depth


def preferences_get(*, scope: Scope) -> AskingPreferences:
    """The person's own; one that is not stored yet has the defaults."""
    row = AskingPreferences.objects.filter(user_id=scope.user_id).first()
    return row or AskingPreferences(user_id=scope.user_id)


def preferences_save(
    *, scope: Scope, style: AnswerForm | None = None, depth: Depth | None = None, hints_seen: bool | None = None
) -> None:
    """Remember what is given; the rest stays."""
    changes: dict[str, Any] = {"style": style, "depth": depth, "hints_seen": hints_seen}
    values = {name: value for name, value in changes.items() if value is not None}
    AskingPreferences.objects.update_or_create(user_id=scope.user_id, defaults=values)
