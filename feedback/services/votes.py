"""What readers say about an answer (D35)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from chat.selectors import message_get
from feedback.models import Vote
from feedback.queue import RATE_DOCUMENTS, queue_of
from feedback.services.cases import case_open
from knowledge.queue import enqueue_on_commit


@transaction.atomic
def vote_record(
    *,
    scope: Scope,
    user: User,
    message_id: UUID,
    vote: str,
    rating: int | None = None,
    reasons: Sequence[str] = (),
    comment: str = "",
) -> Vote:
    """Keep a reader's judgement in place of their earlier one; a vote down opens a case, also a closed one again.

    A later vote up leaves the case to its reviewer. The documents that the answer cites are rated anew (U15).
    Raises NotFoundError.
    """
    message = message_get(scope=scope, message_id=message_id)
    values = {"vote": vote, "rating": rating, "reasons": list(dict.fromkeys(reasons)), "comment": comment}
    recorded, _ = Vote.objects.update_or_create(message=message, user=user, defaults=values)
    if vote == Vote.Direction.DOWN:
        case_open(message=message, actor=user)
    enqueue_on_commit(RATE_DOCUMENTS, queue=queue_of(RATE_DOCUMENTS), message_id=str(message.pk))
    return recorded
