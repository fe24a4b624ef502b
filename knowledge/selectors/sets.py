"""Knowledge sets and sources: which exist, which the asker may read, keep, see, use and change."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.roles import Act, Role, administers
from accounts.scope import Scope
from knowledge.models import KnowledgeSet, SetSource, Source, SourceHandler
from knowledge.rights import SET_CHANGE, SET_CURATE, SET_LIST, SET_READ, SOURCE_CHANGE
from knowledge.selectors.readers import reader_lists, readers_condition


def sets_where(*, scope: Scope, doing: Act) -> QuerySet[KnowledgeSet]:
    """Sets with which the asker may do this, by the roles that the act is for. Each set once.

    Whoever asks in the chat of another page has the rights of an employee, in the sets of that chat.
    """
    if scope.only_sets is not None:
        is_for_all = Role.EMPLOYEE in doing.roles
        of_chat = KnowledgeSet.objects.filter(tenant_id=scope.tenant_id, pk__in=scope.only_sets)
        return of_chat if is_for_all else KnowledgeSet.objects.none()
    if administers(scope=scope, doing=doing) and scope.administers == "everything":
        return KnowledgeSet.objects.all()
    rows = KnowledgeSet.objects.filter(tenant_id=scope.tenant_id)
    if Role.EMPLOYEE in doing.roles or administers(scope=scope, doing=doing):
        return rows
    return rows.filter(_held(scope, doing))


def _held(scope: Scope, doing: Act) -> Q:
    """The asker has a role of the act in the set itself."""
    condition = Q(pk=None)
    for role, people in ((Role.OWNER, KnowledgeSet.owners.through), (Role.EDITOR, KnowledgeSet.editors.through)):
        if role in doing.roles:
            condition |= _among(people, scope)
    return condition


def _among(people: Any, scope: Scope) -> Q:
    """The asker is in this list of people of the set."""
    return Q(Exists(people.objects.filter(knowledgeset_id=OuterRef("pk"), user_id=scope.user_id)))


def sets_listed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Every set of the tenant: everyone sees that it exists. Platform administrators see all tenants."""
    return sets_where(scope=scope, doing=SET_LIST)


def sets_readable(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets of the asker's own tenant whose documents the asker may read, up to clearance.

    Where a second person limits the scope: that both may read. In the chat of another page: of its sets.
    """
    rows = KnowledgeSet.objects.filter(
        Q(visibility=KnowledgeSet.Visibility.EVERYONE)
        | _among(KnowledgeSet.members.through, scope)
        | _held(scope, SET_READ)
        | Q(
            Exists(
                KnowledgeSet.member_groups.through.objects.filter(
                    knowledgeset_id=OuterRef("pk"), usergroup_id__in=scope.group_ids
                )
            )
        ),
        tenant_id=scope.tenant_id,
    )
    if scope.only_sets is not None:
        rows = rows.filter(pk__in=scope.only_sets)
    if scope.limited_by is not None:
        rows = rows.filter(pk__in=sets_readable(scope=scope.limited_by).order_by().values("pk"))
    return rows


def sets_managed(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets that the asker owns or administers."""
    return sets_where(scope=scope, doing=SET_CHANGE)


def sets_curated(*, scope: Scope) -> QuerySet[KnowledgeSet]:
    """Sets whose documents the asker may change: owners, editors, administrators."""
    return sets_where(scope=scope, doing=SET_CURATE)


def set_get(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that is listed for the asker. Raises NotFoundError."""
    knowledge_set = sets_listed(scope=scope).filter(pk=set_id).first()
    if knowledge_set is None:
        raise NotFoundError("set", set=set_id)
    return knowledge_set


def set_owned(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set that the asker may change. Raises NotFoundError, NotAllowedError."""
    knowledge_set = set_get(scope=scope, set_id=set_id)
    if not sets_managed(scope=scope).filter(pk=set_id).exists():
        raise NotAllowedError("change_set", set=set_id, name=knowledge_set.name)
    return knowledge_set


def set_curated(*, scope: Scope, set_id: int) -> KnowledgeSet:
    """A set whose documents the asker may change. Raises NotFoundError, NotAllowedError."""
    knowledge_set = set_get(scope=scope, set_id=set_id)
    if not sets_curated(scope=scope).filter(pk=set_id).exists():
        raise NotAllowedError("curate_set", set=set_id, name=knowledge_set.name)
    return knowledge_set


def sources_managed(*, scope: Scope) -> QuerySet[Source]:
    """Sources that the asker may change: the owner's own, an administrator's all."""
    if administers(scope=scope, doing=SOURCE_CHANGE):
        everything = Source.objects.all()
        return everything if scope.administers == "everything" else everything.filter(tenant_id=scope.tenant_id)
    return Source.objects.filter(tenant_id=scope.tenant_id, owner=scope.user_id)


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
    """Visible sources by name, with `document_count` of what they hold now, up to the asker's clearance; of documents
    that name their readers, those of the asker and of own sources.
    """
    rows = sources_visible(scope=scope).select_related("owner", "handler").prefetch_related("set_sources")
    here = Q(documents__deleted=None)
    if scope.administers != "everything":
        here &= Q(documents__clearance__lte=scope.clearance)
    if scope.administers == "nothing":
        lists = reader_lists(scope=scope)
        here &= readers_condition(lists, prefix="documents__") | Q(owner=scope.user_id) if lists is not None else Q()
    number = Count("documents", filter=here, distinct=True)
    return rows.annotate(document_count=number).order_by("name", "pk")


def source_get(*, scope: Scope, source_id: int) -> Source:
    """A source that the asker may see. Raises NotFoundError."""
    source = source_list(scope=scope).filter(pk=source_id).first()
    if source is None:
        raise NotFoundError("source", source=source_id)
    return source


def source_managed(*, scope: Scope, source_id: int) -> Source:
    """A source that the asker may change. Raises NotFoundError, NotAllowedError."""
    source = source_get(scope=scope, source_id=source_id)
    if not sources_managed(scope=scope).filter(pk=source_id).exists():
        raise NotAllowedError("change_source", name=source.name)
    return source


def set_sources(*, scope: Scope, set_id: int) -> QuerySet[SetSource]:
    """What a set is composed of, for those who may change it. Raises NotFoundError, NotAllowedError."""
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    return SetSource.objects.filter(knowledge_set=knowledge_set).select_related("source").order_by("source__name", "pk")


def handlers_listed(*, scope: Scope) -> QuerySet[SourceHandler]:
    """The handlers of the asker's tenant; platform administrators see all."""
    rows = SourceHandler.objects.all()
    return rows if scope.administers == "everything" else rows.filter(tenant_id=scope.tenant_id)
