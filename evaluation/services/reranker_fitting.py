"""Starting and ending fits of a tenant's weights of the linear reranker; `evaluation.jobs.fit_reranker` fits them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import RerankerFitError
from evaluation.models import GoldenSet
from evaluation.queue import FIT_RERANKER
from evaluation.selectors import golden_sets_kept
from evaluation.services.trainings import training_create, training_end
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import RerankerFit
from knowledge.selectors.reranker_fits import fit_get, fits_managed

LEAST_CASES = 20  # with a right passage among the candidates and a wrong one


@transaction.atomic
def fit_start(*, scope: Scope, actor: User, golden_sets: Sequence[int], learns_from_use: bool = False) -> RerankerFit:
    """Queue a fit to the cases of these golden sets of the asker's tenant, and to what its people found helpful.

    Raises NotAllowedError, and RerankerFitError: one is under way, there is nothing to learn from (none of the golden
    sets is theirs, and use is not asked for), or the site does not order with the linear reranker.
    """
    rows = fits_managed(scope=scope)
    setup_refresh()
    if not setup_now().reranker.is_linear:
        raise RerankerFitError("not_linear")
    chosen = list(golden_sets_of(scope=scope, actor=actor).filter(pk__in=golden_sets).values_list("pk", flat=True))
    if not chosen and not learns_from_use:
        raise RerankerFitError("golden_sets")
    row = training_create(
        rows,
        kind=FIT_RERANKER,
        error=RerankerFitError("running"),
        tenant_id=scope.tenant_id,
        golden_sets=chosen,
        learns_from_use=learns_from_use,
        author=actor,
    )
    told = {"fit": row.pk, "golden_sets": chosen, "use": learns_from_use}
    audit_record(actor=actor, action="reranker_fit.train", target=str(row.number), **told)
    return row


def golden_sets_of(*, scope: Scope, actor: User) -> QuerySet[GoldenSet]:
    """Golden sets of the asker's tenant that they keep, by name."""
    return golden_sets_kept(scope=scope, actor=actor).filter(tenant_id=scope.tenant_id).order_by("name")


@transaction.atomic
def fit_cancel(*, scope: Scope, actor: User, fit_id: int) -> RerankerFit:
    """End a fit. Raises NotFoundError, NotAllowedError, RerankerFitError if it is over."""
    row = fit_get(scope=scope, fit_id=fit_id)
    if not training_end(row, kind=FIT_RERANKER):
        raise RerankerFitError("over")
    audit_record(actor=actor, action="reranker_fit.cancel", target=str(row.number), fit=row.pk)
    return fit_get(scope=scope, fit_id=fit_id)
