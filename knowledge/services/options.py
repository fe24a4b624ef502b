"""Change the options of sets and of a site, with their history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MeasuredFirstError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import KnowledgeSet, OptionsChange, SiteOptions
from knowledge.selectors import set_owned
from knowledge.selectors.options import GROUPS, options_change_get, site_options, tenant_of_site
from knowledge.services.publish_gate import publish_gate
from ragcore.errors import InvalidOptionsError
from ragcore.options import FORMER, Resolved, conflicts, for_comparing, resolve

Given = Mapping[str, Mapping[str, Any]]  # group → option → value; None: inherit again


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeNote:
    """Kind and note of a change, for the history."""

    kind: str = OptionsChange.Kind.EDIT
    note: str = ""
    is_measured: bool = False  # the gate has let it pass


def set_options_update(
    *, scope: Scope, actor: User, set_id: int, options: Given, replaces: bool = False, why: ChangeNote | None = None
) -> KnowledgeSet:
    """Change options of a set; None resets a value. Options not given stay (`replaces`: are inherited again).

    Documents stay as they were ingested until they are rebuilt. Raises NotFoundError, NotAllowedError,
    InvalidOptionsError that names every fault; MeasuredFirstError where they are measured before they are published:
    restoring earlier options is not.
    """
    why = why or ChangeNote()
    options = _settable(options, why=why)
    gate = publish_gate()
    if gate is not None and not why.is_measured and why.kind != OptionsChange.Kind.UNDO:
        row = set_owned(scope=scope, set_id=set_id)
        after = options_merge({} if replaces else row.options, options, layer=f"set {row.code}")
        _check_together(("site", site_options(tenant_id=row.tenant_id)), (f"set {row.code}", after))
        change = gate.hold_options(actor=actor, row=row, options=options, replaces=replaces, note=why.note)
        if change is not None:
            raise MeasuredFirstError(change=change)
    return _set_options_store(scope=scope, actor=actor, set_id=set_id, options=options, replaces=replaces, why=why)


@transaction.atomic
def _set_options_store(
    *, scope: Scope, actor: User, set_id: int, options: Given, replaces: bool, why: ChangeNote
) -> KnowledgeSet:
    knowledge_set = KnowledgeSet.objects.select_for_update().get(pk=set_owned(scope=scope, set_id=set_id).pk)
    before = knowledge_set.options
    knowledge_set.options = options_merge({} if replaces else before, options, layer=f"set {knowledge_set.code}")
    if knowledge_set.options != before:
        _check_together(
            ("site", site_options(tenant_id=knowledge_set.tenant_id)),
            (f"set {knowledge_set.code}", knowledge_set.options),
        )
    if knowledge_set.options != before:
        knowledge_set.save(update_fields=["options"])
        _note(
            actor=actor,
            tenant_id=knowledge_set.tenant_id,
            before=before,
            after=knowledge_set.options,
            row=knowledge_set,
            why=why,
        )
        audit_record(
            actor=actor, action="set.options", target=knowledge_set.code, set=knowledge_set.pk, options=_plain(options)
        )
    return knowledge_set


def site_options_update(
    *,
    scope: Scope,
    actor: User,
    options: Given,
    tenant_id: int | None = None,
    replaces: bool = False,
    why: ChangeNote | None = None,
) -> SiteOptions:
    """Change the options that the sets of a tenant inherit (None: the asker's tenant), as `set_options_update`.

    Raises NotAllowedError, InvalidOptionsError; MeasuredFirstError where golden sets guard a set that inherits them.
    """
    if scope.administers == "nothing":
        raise NotAllowedError("site_options")
    tenant, why = tenant_of_site(scope=scope, tenant_id=tenant_id), why or ChangeNote()
    options = _settable(options, why=why)
    gate = publish_gate()
    if gate is not None and not why.is_measured and why.kind != OptionsChange.Kind.UNDO:
        before = site_options(tenant_id=tenant)
        _check_site(tenant, before, options_merge({} if replaces else before, options, layer="site"))
        change = gate.hold_site_options(
            actor=actor, tenant_id=tenant, options=options, replaces=replaces, note=why.note
        )
        if change is not None:
            raise MeasuredFirstError(change=change)
    return _site_options_store(actor=actor, tenant=tenant, options=options, replaces=replaces, why=why)


@transaction.atomic
def _site_options_store(*, actor: User, tenant: int, options: Given, replaces: bool, why: ChangeNote) -> SiteOptions:
    SiteOptions.objects.get_or_create(tenant_id=tenant)
    row = SiteOptions.objects.select_for_update().get(tenant_id=tenant)
    before = row.options
    row.options = options_merge({} if replaces else before, options, layer="site")
    _check_site(tenant, before, row.options)
    if row.options != before:
        row.save()
        _note(actor=actor, tenant_id=tenant, before=before, after=row.options, row=None, why=why)
        audit_record(actor=actor, action="site.options", target="site", tenant=tenant, options=_plain(options))
    return row


def _check_site(tenant: int, before: Given, after: Given) -> None:
    """Raise InvalidOptionsError if changed options of a site do not fit together, or to those of one of its sets."""
    if after == before:
        return
    _check_together(("site", after))
    for knowledge_set in KnowledgeSet.objects.filter(tenant_id=tenant).exclude(options={}).order_by("pk"):
        _check_together(("site", after), (f"set {knowledge_set.code}", knowledge_set.options))


def options_restore(*, scope: Scope, actor: User, change_id: int, note: str = "") -> OptionsChange:
    """Restore the options from before a change; returns that change.

    Restoring is a change itself, so it can be undone, too. Raises NotFoundError, NotAllowedError, and
    InvalidOptionsError if this version does not know the restored options.
    """
    change = options_change_get(scope=scope, change_id=change_id)
    why = ChangeNote(kind=OptionsChange.Kind.UNDO, note=note)
    if change.knowledge_set_id is None:
        site_options_update(
            scope=scope, actor=actor, tenant_id=change.tenant_id, options=change.before, replaces=True, why=why
        )
    else:
        set_options_update(
            scope=scope, actor=actor, set_id=change.knowledge_set_id, options=change.before, replaces=True, why=why
        )
    return change


def options_merge(old: Given, changes: Given, *, layer: str) -> dict[str, dict[str, Any]]:
    """The old options updated by the given ones, validated as a whole. Raises InvalidOptionsError.

    Stored options that this version of the program does not know are dropped, and FORMER ones.
    """
    faults = [f"{layer}: unknown group {code!r}" for code in changes if code not in GROUPS]
    merged = {code: _known(code, values) for code, values in old.items() if code in GROUPS}
    for code, values in changes.items():
        if code in GROUPS:
            both = {**merged.get(code, {}), **values}
            merged[code] = {name: value for name, value in both.items() if value is not None and name not in FORMER}
            faults += _faults(code, merged[code], layer=layer)
    if faults:
        raise InvalidOptionsError("faults", faults=faults)
    return {code: values for code, values in merged.items() if values}


def _settable(options: Given, *, why: ChangeNote) -> Given:
    """The options without those that are for comparing. Raises InvalidOptionsError where a new change names one."""
    names = {code: for_comparing(GROUPS[code]) & values.keys() for code, values in options.items() if code in GROUPS}
    if any(names.values()) and not why.is_measured and why.kind != OptionsChange.Kind.UNDO:
        faults = [f"{code}: option {name!r} is for comparing only" for code in names for name in sorted(names[code])]
        raise InvalidOptionsError("faults", faults=faults)
    return {
        code: {name: value for name, value in values.items() if name not in names.get(code, ())}
        for code, values in options.items()
    }


def _check_together(*layers: tuple[str, Given]) -> None:
    """Raise InvalidOptionsError if the layers do not fit together; `fields` names the option and the reason.

    Of a layer below only known options count; its own errors were reported when it was saved.
    """
    groups: dict[str, Resolved[Any]] = {
        code: resolve(group, *((name, _known(code, stored.get(code, {}))) for name, stored in layers))
        for code, group in GROUPS.items()
    }
    if clashes := conflicts(groups):
        where = layers[-1][0]
        raise InvalidOptionsError(
            "faults",
            faults=[f"{where}: {clash.option}: {clash.message}" for clash in clashes],
            fields=[{"field": clash.option, "message": clash.message, "layer": where} for clash in clashes],
            conflicts=clashes,
        )


def _known(code: str, values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(GROUPS[code])}
    return {name: value for name, value in values.items() if name in names}


def _faults(code: str, values: Mapping[str, Any], *, layer: str) -> list[str]:
    try:
        resolve(GROUPS[code], (layer, values))
    except InvalidOptionsError as error:
        return list(error.data["faults"])
    return []


def _note(
    *, actor: User, tenant_id: int, before: Given, after: Given, row: KnowledgeSet | None, why: ChangeNote
) -> OptionsChange:
    """Write the history, and invalidate cached answers that used other options."""
    epoch_advance(tenant_id=tenant_id, sets=None if row is None else [row.pk])
    return OptionsChange.objects.create(
        tenant_id=tenant_id,
        knowledge_set=row,
        actor=actor,
        kind=why.kind,
        note=why.note,
        before=_plain(before),
        after=_plain(after),
    )


def _plain(options: Given) -> dict[str, dict[str, Any]]:
    return {code: dict(values) for code, values in options.items()}
