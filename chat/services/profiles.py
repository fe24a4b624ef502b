"""What a person works on, as far as they let it take part in the ranking (D4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from accounts.models import User
from chat.models import Conversation
from ragcore.types import Profile

CONVERSATIONS = 10  # the last ones, whose knowledge sets count as recent
RECENT_SETS = 3


def profile_of(user: User, *, sets: Sequence[int] = ()) -> Profile | None:
    """The work profile and the RECENT_SETS knowledge sets that were asked last; None if it is empty or switched off.

    Who names the `sets` of a question has said where to look, so recent ones have no say then.
    """
    if not user.use_profile:
        return None
    profile = Profile(
        department=user.department,
        product=user.product,
        role=user.role,
        interests=tuple(user.interests),
        recent_sets=() if sets else _recent_sets(user),
    )
    return profile if profile != Profile() else None


def profile_key(profile: Profile | None) -> dict[str, Any] | None:
    """What of a profile tells answers apart. The order of recent sets does not matter to the ranking.

    Three sets at most, in no order: so the key of a person stays the same while they ask in the same sets.
    """
    return None if profile is None else {**asdict(profile), "recent_sets": sorted(profile.recent_sets)}


def _recent_sets(user: User) -> tuple[int, ...]:
    """The latest first, each once."""
    through = Conversation.sets.through
    last = Conversation.objects.filter(user_id=user.pk, tenant_id=user.tenant_id).order_by("-updated", "-pk")
    rows = through.objects.filter(conversation__in=last.values("pk")[:CONVERSATIONS])
    asked = rows.order_by("-conversation__updated", "knowledgeset_id").values_list("knowledgeset_id", flat=True)
    return tuple(dict.fromkeys(asked))[:RECENT_SETS]
