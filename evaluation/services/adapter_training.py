"""Starting and ending trainings of a set's query vectors; `evaluation.jobs.train_adapter` does the learning."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import AdapterTrainingError
from evaluation.queue import TRAIN_ADAPTER
from evaluation.services.adapter_pairs import ORIGINS
from evaluation.services.trainings import training_create, training_end
from knowledge.model_setup import setup_refresh
from knowledge.models import QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.query_adapters import adapter_get
from knowledge.selectors.training_vectors import space_name


@transaction.atomic
def training_start(*, scope: Scope, actor: User, set_id: int, origins: Sequence[str] = ORIGINS) -> QueryAdapter:
    """Queue a training of a set's query vectors with pairs of these origins.

    Raises NotFoundError, NotAllowedError, and AdapterTrainingError: one is under way, or no origin is chosen.
    """
    setup_refresh(now=True)
    home = set_owned(scope=scope, set_id=set_id)
    chosen = [name for name in ORIGINS if name in origins]
    if not chosen or set(origins) - set(ORIGINS):
        raise AdapterTrainingError("origins")
    row = training_create(
        QueryAdapter.objects.filter(knowledge_set=home),
        kind=TRAIN_ADAPTER,
        error=AdapterTrainingError("running"),
        tenant_id=home.tenant_id,
        knowledge_set=home,
        model=space_name(scope=scope),
        origins=chosen,
        author=actor,
    )
    audit_record(actor=actor, action="adapter.train", target=home.code, adapter=row.pk, origins=chosen)
    return row


@transaction.atomic
def training_cancel(*, scope: Scope, actor: User, adapter_id: int) -> QueryAdapter:
    """End a training; what it has learned is thrown away. Raises NotFoundError, AdapterTrainingError if it is over."""
    row = adapter_get(scope=scope, adapter_id=adapter_id)
    if not training_end(row, kind=TRAIN_ADAPTER):
        raise AdapterTrainingError("over")
    audit_record(actor=actor, action="adapter.cancel", target=row.knowledge_set.code, adapter=row.pk)
    return adapter_get(scope=scope, adapter_id=adapter_id)
