"""Versions of the domain vectors that somebody may see (decision 025)."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.roles import administers
from accounts.scope import Scope
from knowledge.models import LatentModel, TenantVectors
from knowledge.rights import DOMAIN_VECTORS_MANAGE


def latent_models_managed(*, scope: Scope) -> QuerySet[LatentModel]:
    """Newest first; of the own tenant."""
    rows = LatentModel.objects.filter(tenant=scope.tenant_id).order_by("-created", "-pk")
    return rows if administers(scope=scope, doing=DOMAIN_VECTORS_MANAGE) else rows.none()


def domain_vectors_off(*, scope: Scope) -> bool:
    """Whether an administrator has switched them off for the own tenant."""
    return TenantVectors.objects.filter(tenant=scope.tenant_id, latent_off=True).exists()
