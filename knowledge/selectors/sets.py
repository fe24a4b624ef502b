"""Knowledge sets: which exist, which the asker may read, which the asker keeps."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from knowledge.models import KnowledgeSet


def sets_listed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Every set of the tenant: everyone sees that it exists (D12). Administrators of everything see all tenants."""
    everything = KnowledgeSet.objects.all()
    return everything if scope.administers == "everything" else everything.filter(tenant_id=scope.tenant_id)


def sets_readable(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets of the asker's own tenant whose documents the asker may read, up to clearance."""
    return KnowledgeSet.objects.filter(
        Q(visibility=KnowledgeSet.Visibility.EVERYONE)
        | Q(Exists(KnowledgeSet.members.through.objects.filter(knowledgeset_id=OuterRef("pk"), user_id=scope.user_id)))
        | Q(Exists(KnowledgeSet.owners.through.objects.filter(knowledgeset_id=OuterRef("pk"), user_id=scope.user_id)))
        | Q(
            Exists(
                KnowledgeSet.member_groups.through.objects.filter(
                    knowledgeset_id=OuterRef("pk"), usergroup_id__in=scope.group_ids
                )
            )
        ),
        tenant_id=scope.tenant_id,
    )


def sets_managed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets that the asker owns or administers."""
    if scope.administers == "everything":
        return KnowledgeSet.objects.all()
    if scope.administers == "tenant":
        return KnowledgeSet.objects.filter(tenant_id=scope.tenant_id)
    return KnowledgeSet.objects.filter(owners=scope.user_id, tenant_id=scope.tenant_id)


def set_get(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that is listed for the asker. Raises NotFoundError."""
    found = sets_listed(scope=scope).filter(pk=set_id).first()
    if found is None:
        raise NotFoundError("set", set=set_id)
    return found


def set_owned(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that the asker may change. Raises NotFoundError, NotAllowedError."""
    found = set_get(scope=scope, set_id=set_id)
    if not sets_managed(scope=scope).filter(pk=set_id).exists():
        raise NotAllowedError("change_set", set=set_id, name=found.name)
    return found
