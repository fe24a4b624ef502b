"""From an embedding model that was prepared to one that is in use, through the golden sets that guard its set."""

from __future__ import annotations

from accounts.models import User
from accounts.scope import Scope
from evaluation.services.gates import change_of_set_embedder
from knowledge.errors import MeasuredFirstError
from knowledge.models import SetEmbedder
from knowledge.selectors.set_embedders import set_embedder_get
from knowledge.services.set_embedders import set_embedder_check, set_embedder_switch_on


def set_embedder_publish(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """Switch an embedding model of a set on; one that was switched off comes back at once.

    Raises NotFoundError, NotAllowedError, SetEmbedderError, and MeasuredFirstError.
    """
    row = set_embedder_get(scope=scope, embedder_id=embedder_id)
    set_embedder_check(row=row)
    if row.state == SetEmbedder.State.READY:
        change = change_of_set_embedder(actor=actor, embedder=row)
        if change is not None:
            raise MeasuredFirstError(change=change.pk)
    return set_embedder_switch_on(scope=scope, actor=actor, embedder_id=embedder_id)
