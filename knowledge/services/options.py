"""Changing the options of sets and of a site (D14, V14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.epoch import epoch_advance
from knowledge.models import KnowledgeSet, SiteOptions
from knowledge.selectors import set_owned
from knowledge.selectors.options import GROUPS
from ragcore.errors import InvalidOptionsError
from ragcore.options import resolve

Given = Mapping[str, Mapping[str, Any]]  # group → option → value; None: inherit again


@transaction.atomic
def set_options_update(*, scope: Scope, actor: User, set_id: int, options: Given) -> KnowledgeSet:
    """Change options of a set; what is not given stays, None takes a value back.

    Documents keep what they were made with until they are rebuilt. Raises NotFoundError, NotAllowedError,
    InvalidOptionsError that names every fault.
    """
    found = KnowledgeSet.objects.select_for_update().get(pk=set_owned(scope=scope, set_id=set_id).pk)
    found.options = merged_options(found.options, options, layer=f"set {found.code}")
    found.save(update_fields=["options"])
    epoch_advance(tenant_id=found.tenant_id)  # answers were made with other options
    audit_record(actor=actor, action="set.options", target=found.code, set=found.pk, options=_plain(options))
    return found


@transaction.atomic
def site_options_update(*, scope: Scope, actor: User, options: Given) -> SiteOptions:
    """Change what the sets of the asker's tenant inherit. Raises NotAllowedError, InvalidOptionsError."""
    if scope.administers == "nothing":
        raise NotAllowedError("Only administrators may change the options of the site.")
    SiteOptions.objects.get_or_create(tenant_id=scope.tenant_id)
    row = SiteOptions.objects.select_for_update().get(tenant_id=scope.tenant_id)
    row.options = merged_options(row.options, options, layer="site")
    row.save()
    epoch_advance(tenant_id=scope.tenant_id)
    audit_record(actor=actor, action="site.options", target="site", options=_plain(options))
    return row


def merged_options(old: Given, given: Given, *, layer: str) -> dict[str, dict[str, Any]]:
    """The old options with the given ones over them, valid as a whole. Raises InvalidOptionsError."""
    unknown = [f"{layer}: unknown group {code!r}" for code in given if code not in GROUPS]
    if unknown:
        raise InvalidOptionsError("; ".join(unknown), faults=unknown)
    merged = {code: dict(values) for code, values in old.items()}
    for code, values in given.items():
        both = {**merged.get(code, {}), **values}
        merged[code] = {name: value for name, value in both.items() if value is not None}
        resolve(GROUPS[code], (layer, merged[code]))
    return {code: values for code, values in merged.items() if values}


def _plain(options: Given) -> dict[str, dict[str, Any]]:
    return {code: dict(values) for code, values in options.items()}
