"""Fitted weights of the linear reranker of a tenant.

Passages keep all they have, so a switch is one transaction: within a second every process orders the new way, and
answers in the cache become stale. Whether a version is better was measured before (`evaluation.jobs.fit_reranker`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import Tenant
from accounts.scope import Scope
from knowledge.model_errors import RerankerFitSwitchError
from knowledge.model_setup import registry_changed
from knowledge.models import RerankerFit
from knowledge.selectors.reranker_fits import fit_get, fits_managed
from ragcore.reranking.linear import LinearReranker
from work.versions import VersionKind, version_kind


@version_kind
class RerankerFits(VersionKind[RerankerFit]):
    """Versions of each tenant."""

    name = "reranker_fit"
    label = _("Fitted reranker weights")
    model = RerankerFit
    of = ("tenant_id",)
    acts = "reranker_fit"
    error = RerankerFitSwitchError

    def managed(self, *, scope: Scope) -> QuerySet[RerankerFit]:
        return fits_managed(scope=scope)

    def get(self, *, scope: Scope, version_id: int) -> RerankerFit:
        return fit_get(scope=scope, fit_id=version_id)

    def lock(self, *, scope: Scope, subject: Mapping[str, Any]) -> None:
        Tenant.objects.select_for_update(no_key=True).get(pk=subject["tenant_id"])

    def check(self, version: RerankerFit, *, scope: Scope) -> None:
        """Raises also WeightsRefusedError, where they are of other features."""
        if version.weights is None:
            raise RerankerFitSwitchError("unusable")
        LinearReranker.fitted(version.weights, version.features, number=version.number)

    def subject_words(self, version: RerankerFit) -> str:
        return version.tenant.name

    def panel(self, version: RerankerFit) -> list[tuple[Any, Any]]:
        return version.gains

    def changed(self, version: RerankerFit) -> None:
        registry_changed()
