"""From what was trained or prepared to what is in use, through the golden sets that guard it."""

from __future__ import annotations

from accounts.models import User
from accounts.scope import Scope
from evaluation.services.gates import change_of_adapter, change_of_set_embedder
from evaluation.services.golden_gate import fit_hold
from knowledge.errors import MeasuredFirstError
from knowledge.models import QueryAdapter, RerankerFit, SetEmbedder
from knowledge.selectors.query_adapters import adapter_get
from knowledge.selectors.reranker_fits import fit_get
from knowledge.selectors.set_embedders import set_embedder_get
from knowledge.services.query_adapters import adapter_switch_on
from knowledge.services.reranker_fits import fit_switch_on
from knowledge.services.set_embedders import set_embedder_check, set_embedder_switch_on


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


def fit_publish(*, scope: Scope, actor: User, fit_id: int) -> RerankerFit:
    """The same of fitted weights of the reranker, measured on each set of the tenant that golden sets guard.

    Raises NotFoundError, NotAllowedError, RerankerFitSwitchError, WeightsRefusedError, and MeasuredFirstError.
    """
    row = fit_get(scope=scope, fit_id=fit_id)
    if row.state == RerankerFit.State.READY:
        change = fit_hold(actor=actor, fit=row)
        if change is not None:
            raise MeasuredFirstError(change=change)
    return fit_switch_on(scope=scope, actor=actor, fit_id=fit_id)


def set_embedder_publish(*, scope: Scope, actor: User, embedder_id: int) -> SetEmbedder:
    """The same of an embedding model of a set: one that was switched off comes back at once.

    Raises NotFoundError, NotAllowedError, SetEmbedderError, and MeasuredFirstError.
    """
    row = set_embedder_get(scope=scope, embedder_id=embedder_id)
    set_embedder_check(row=row)
    if row.state == SetEmbedder.State.READY:
        change = change_of_set_embedder(actor=actor, embedder=row)
        if change is not None:
            raise MeasuredFirstError(change=change.pk)
    return set_embedder_switch_on(scope=scope, actor=actor, embedder_id=embedder_id)
