"""What an owner estimates of the time that answers save."""

from __future__ import annotations

from django.db import transaction

from accounts.models import User
from accounts.selectors import scope_for
from accounts.services import audit_record
from feedback.errors import EstimateError
from feedback.models import SetEstimate
from knowledge.selectors.sets import set_owned

MOST_MINUTES = 480


@transaction.atomic
def estimate_set(*, actor: User, set_id: int, minutes: int) -> SetEstimate:
    """Keep the minutes that an answer from a set saves, 0 to 480.

    Raises NotFoundError, NotAllowedError for a set that the actor does not own; EstimateError.
    """
    knowledge_set = set_owned(scope=scope_for(actor), set_id=set_id)
    if not 0 <= minutes <= MOST_MINUTES:
        raise EstimateError(most=MOST_MINUTES)
    estimate, _ = SetEstimate.objects.update_or_create(knowledge_set=knowledge_set, defaults={"minutes": minutes})
    audit_record(actor=actor, action="set.estimate", target=knowledge_set.name, minutes=minutes)
    return estimate
