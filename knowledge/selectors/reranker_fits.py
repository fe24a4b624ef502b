"""Fitted weights of the linear reranker: which of them order a search, and who may see and switch them."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from knowledge.model_setup import setup_now
from knowledge.models import RerankerFit
from ragcore.errors import WeightsRefusedError
from ragcore.ports import Reranker
from ragcore.reranking.linear import LinearReranker

LIVE_ONE, PACKAGED = -1, 0  # values of the option `reranker_weights`; others are numbers of versions of the tenant
KEPT = 64  # rerankers, in one process


def with_fitted_weights(reranker: Reranker | None, *, scope: Scope, version: int = LIVE_ONE) -> Reranker | None:
    """The linear reranker with the weights of the asker's tenant; every other one as it is.

    `version`: see LIVE_ONE. Where there are no such weights, or they are of other features, the packaged ones order.
    """
    if not isinstance(reranker, LinearReranker) or version == PACKAGED:
        return reranker
    if version == LIVE_ONE:
        return setup_now().search.fitted.get(scope.tenant_id, reranker)
    rows = RerankerFit.objects.filter(tenant_id=scope.tenant_id, number=version, state__in=RerankerFit.USABLE)
    pk = rows.values_list("pk", flat=True).first()
    return (_fit_load(pk) if pk is not None else None) or reranker


@lru_cache(maxsize=KEPT)
def _fit_load(fit_id: int) -> LinearReranker | None:
    """The reranker of a fit that is over; None where its weights cannot be used."""
    row = RerankerFit.objects.filter(pk=fit_id).only("weights", "features", "number").first()
    if row is None or row.weights is None:
        return None
    try:
        return LinearReranker.fitted(row.weights, row.features, number=row.number)
    except WeightsRefusedError:
        return None


# ── to see and switch ───────────────────────────────────────────────────────────────────────────


def fits_managed(*, scope: Scope) -> QuerySet[RerankerFit]:
    """Fits of the asker's tenant, the latest first, for its administrators. Raises NotAllowedError."""
    if scope.administers == "nothing":
        raise NotAllowedError("reranker_fits")
    return RerankerFit.objects.filter(tenant_id=scope.tenant_id).select_related("author", "tenant").defer("checkpoint")


def fit_get(*, scope: Scope, fit_id: int) -> RerankerFit:
    """A fit of a tenant that the asker administers. Raises NotAllowedError, NotFoundError."""
    fit = fits_managed(scope=scope).filter(pk=fit_id).first()
    if fit is None:
        raise NotFoundError("reranker_fit", fit=fit_id)
    return fit
