"""Sources: which the asker may see, use and change (D12)."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from knowledge.models import SetSource, Source, SourceHandler
from knowledge.selectors.sets import set_get, sets_managed


def sources_managed(*, scope: Scope) -> QuerySet[Source]:
    """Sources that the asker may change: the owner's own, an administrator's all."""
    if scope.administers == "everything":
        return Source.objects.all()
    mine = Source.objects.filter(tenant_id=scope.tenant_id)
    return mine if scope.administers == "tenant" else mine.filter(owner=scope.user_id)


def sources_usable(*, scope: Scope) -> QuerySet[Source]:
    """Sources of which the asker may compose sets: those managed, and those that their owners share."""
    shared = Q(tenant_id=scope.tenant_id, options__shared=True)
    return Source.objects.filter(Q(pk__in=sources_managed(scope=scope).order_by().values("pk")) | shared)


def sources_visible(*, scope: Scope) -> QuerySet[Source]:
    """Sources that the asker may see: owners of sets see what they may use and what their sets are composed of."""
    if scope.administers != "nothing":
        return sources_managed(scope=scope)
    managed_sets = sets_managed(scope=scope).order_by().values("pk")
    used = SetSource.objects.filter(knowledge_set__in=managed_sets).values("source")
    visible = Q(owner=scope.user_id) | Q(pk__in=used)
    if sets_managed(scope=scope).exists():
        visible |= Q(options__shared=True)
    return Source.objects.filter(visible, tenant_id=scope.tenant_id)


def source_list(*, scope: Scope) -> QuerySet[Source]:
    """Visible sources by name, with `document_count` of what they hold now, up to the asker's clearance."""
    rows = sources_visible(scope=scope).select_related("owner", "handler").prefetch_related("set_sources")
    here = Q(documents__deleted=None)
    if scope.administers != "everything":
        here &= Q(documents__clearance__lte=scope.clearance)
    held = Count("documents", filter=here, distinct=True)
    return rows.annotate(document_count=held).order_by("name", "pk")


def source_get(*, scope: Scope, source_id: int) -> Source:
    """A source that the asker may see. Raises NotFoundError."""
    found = source_list(scope=scope).filter(pk=source_id).first()
    if found is None:
        raise NotFoundError("source", source=source_id)
    return found


def source_managed(*, scope: Scope, source_id: int) -> Source:
    """A source that the asker may change. Raises NotFoundError, NotAllowedError."""
    found = source_get(scope=scope, source_id=source_id)
    if not sources_managed(scope=scope).filter(pk=source_id).exists():
        raise NotAllowedError("change_source", name=found.name)
    return found


def set_sources(*, scope: Scope, set_id: int) -> QuerySet[SetSource]:
    """What a set is composed of. Raises NotFoundError."""
    found = set_get(scope=scope, set_id=set_id)
    return SetSource.objects.filter(knowledge_set=found).select_related("source").order_by("source__name", "pk")


def handlers_listed(*, scope: Scope) -> QuerySet[SourceHandler]:
    """The handlers of the asker's tenant; administrators of everything see all."""
    rows = SourceHandler.objects.all()
    return rows if scope.administers == "everything" else rows.filter(tenant_id=scope.tenant_id)
