"""The history of options (V14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from accounts.errors import NotAllowedError, NotFoundError
from accounts.scope import Scope
from knowledge.models import KnowledgeSet, OptionsChange
from knowledge.selectors.options import GROUPS, Stored, site_options, tenant_of_site
from knowledge.selectors.sets import set_owned, sets_managed


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One option in two states; None: inherited."""

    group: str
    option: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsOwner:
    """Whose options are meant: a set, or the site of a tenant (no set)."""

    tenant_id: int
    knowledge_set: KnowledgeSet | None
    own: Stored  # its own options, without what it inherits

    @property
    def code(self) -> str:
        return "site" if self.knowledge_set is None else self.knowledge_set.code


def options_owner(*, scope: Scope, set_id: int | None = None, tenant_id: int | None = None) -> OptionsOwner:
    """A set that the asker keeps, or the site that they administer. Raises NotFoundError, NotAllowedError."""
    if set_id is not None:
        found = set_owned(scope=scope, set_id=set_id)
        return OptionsOwner(tenant_id=found.tenant_id, knowledge_set=found, own=found.options)
    if scope.administers == "nothing":
        raise NotAllowedError("site_options")
    tenant = tenant_of_site(scope=scope, tenant_id=tenant_id)
    return OptionsOwner(tenant_id=tenant, knowledge_set=None, own=site_options(tenant_id=tenant))


def options_changes(*, scope: Scope) -> QuerySet[OptionsChange]:
    """Changes of the sets that the asker keeps and of the sites that they administer, the newest first."""
    found = OptionsChange.objects.select_related("actor", "knowledge_set", "tenant").order_by("-pk")
    if scope.administers == "everything":
        return found
    mine = Q(knowledge_set__in=sets_managed(scope=scope))
    if scope.administers == "tenant":
        mine |= Q(knowledge_set=None)
    return found.filter(mine, tenant_id=scope.tenant_id)


def options_change_get(*, scope: Scope, change_id: int) -> OptionsChange:
    """A change that the asker may take back. Raises NotFoundError."""
    found = options_changes(scope=scope).filter(pk=change_id).first()
    if found is None:
        raise NotFoundError
    return found


def options_differences(*, scope: Scope, old: Stored, new: Stored) -> list[Difference]:
    """What is different in the second state, in the order of the forms; options of other versions come last."""
    del scope  # both states are the asker's already
    groups = [*GROUPS, *sorted((old.keys() | new.keys()) - GROUPS.keys())]
    return [one for code in groups for one in _of_group(code, old.get(code, {}), new.get(code, {}))]


def _of_group(code: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    known = list(getattr(GROUPS.get(code), "__dataclass_fields__", {}))
    names = [*known, *sorted((old.keys() | new.keys()) - set(known))]
    return [
        Difference(group=code, option=name, old=old.get(name), new=new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    ]
