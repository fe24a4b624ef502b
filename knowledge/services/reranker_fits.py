"""Switching a tenant's fitted weights of the linear reranker on, to another version, and back to the packaged.

Passages keep all they have, so each of these is one transaction: within a second every process orders the new way, and
answers in the cache become stale. Whether a version is better was measured before (`evaluation.services`).
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_errors import RerankerFitSwitchError
from knowledge.model_setup import registry_changed
from knowledge.models import RerankerFit
from knowledge.selectors.reranker_fits import fit_get, fits_managed
from ragcore.reranking.linear import LinearReranker

State = RerankerFit.State


@transaction.atomic
def fit_switch_on(*, scope: Scope, actor: User, fit_id: int, reason: str = "") -> RerankerFit:
    """Order the searches of a tenant with these weights; those that were in use are kept.

    Raises NotFoundError, NotAllowedError, WeightsRefusedError where they are of other features, and
    RerankerFitSwitchError: there is nothing to switch on, or it is in use.
    """
    row = fit_get(scope=scope, fit_id=fit_id)
    _lock(row.tenant_id)
    row.refresh_from_db()
    if row.state == State.LIVE:
        raise RerankerFitSwitchError("in_use")
    if not row.is_usable:
        raise RerankerFitSwitchError("unusable")
    LinearReranker.fitted(row.weights or (), row.features, number=row.number)
    _retire(row.tenant_id)
    RerankerFit.objects.filter(pk=row.pk).update(state=State.LIVE, live_since=timezone.now())
    registry_changed()
    audit_record(
        actor=actor, action="reranker_fit.switch_on", target=str(row.number), version=row.number, reason=reason
    )
    return fit_get(scope=scope, fit_id=fit_id)


@transaction.atomic
def fits_switch_off(*, scope: Scope, actor: User) -> RerankerFit:
    """Order the searches of the asker's tenant with the packaged weights again.

    Raises NotAllowedError, RerankerFitSwitchError where no fitted ones are in use.
    """
    rows = fits_managed(scope=scope)
    _lock(scope.tenant_id)
    live = rows.filter(state=State.LIVE).first()
    if live is None:
        raise RerankerFitSwitchError("not_in_use")
    _retire(scope.tenant_id)
    registry_changed()
    audit_record(actor=actor, action="reranker_fit.switch_off", target=str(live.number), version=live.number)
    return fit_get(scope=scope, fit_id=live.pk)


def _lock(tenant_id: int) -> None:
    """Nobody else switches the weights of this tenant meanwhile."""
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)


def _retire(tenant_id: int) -> None:
    RerankerFit.objects.filter(tenant_id=tenant_id, state=State.LIVE).update(state=State.RETIRED)
