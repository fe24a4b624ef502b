"""From a training that found a gain to query vectors in use, through the golden sets that guard the set (D34, D7)."""

from __future__ import annotations

from accounts.models import User
from accounts.scope import Scope
from evaluation.services.gates import change_of_adapter
from knowledge.errors import MeasuredFirstError
from knowledge.models import QueryAdapter
from knowledge.selectors.query_adapters import adapter_get
from knowledge.services.query_adapters import adapter_switch_on


def adapter_publish(*, scope: Scope, actor: User, adapter_id: int) -> QueryAdapter:
    """Switch a version on that has never been in use; one that has been comes back at once.

    Where golden sets guard the set, they are asked first with the live vectors and with these. Raises NotFoundError,
    NotAllowedError, AdapterSwitchError, and MeasuredFirstError with the change that is being measured.
    """
    row = adapter_get(scope=scope, adapter_id=adapter_id)
    if row.state == QueryAdapter.State.READY:
        change = change_of_adapter(actor=actor, adapter=row)
        if change is not None:
            raise MeasuredFirstError(change=change.pk)
    return adapter_switch_on(scope=scope, actor=actor, adapter_id=adapter_id)
