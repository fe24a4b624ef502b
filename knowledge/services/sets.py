"""Create, change and delete knowledge sets, and set who may read and own them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError
from accounts.models import Tenant, User, UserGroup
from accounts.scope import Scope
from accounts.selectors import may_create_sets
from accounts.services import audit_record
from knowledge.errors import MeasuredFirstError, OwnerNeededError, UnknownPeopleError, UnknownTenantError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet, SetSource
from knowledge.options_draft import PROMPT_TEXTS
from knowledge.selectors import set_owned
from knowledge.selectors.sets import sources_managed
from knowledge.services.publish_gate import publish_gate
from knowledge.services.quotas import quota_check_sets

CHANGEABLE = (
    *("name", "name_zh", "code", "axis", "visibility", "originals", "rights", "description"),
    *("persona", "answer_template", "example_questions"),
)


@transaction.atomic
def set_create(*, scope: Scope, actor: User, values: Mapping[str, Any], tenant: str | None = None) -> KnowledgeSet:
    """Create a set; `values` are the fields of CHANGEABLE. The creator owns it, unless it belongs to another tenant.

    For those with the right to create sets.
    Raises MissingRightError, QuotaExceededError, NameTakenError, NotAllowedError, UnknownTenantError.
    """
    if not may_create_sets(user=actor, scope=scope):
        raise MissingRightError("create_sets")
    home = _tenant_for(scope=scope, actor=actor, name=tenant)
    quota_check_sets(tenant_id=home.pk)
    knowledge_set = KnowledgeSet(tenant=home, **{name: values[name] for name in CHANGEABLE if name in values})
    _save(knowledge_set)
    if home.pk == actor.tenant_id:
        knowledge_set.owners.add(actor)
    audit_record(actor=actor, action="set.create", target=knowledge_set.code, set=knowledge_set.pk, tenant=home.name)
    return knowledge_set


def set_update(
    *, scope: Scope, actor: User, set_id: int, values: Mapping[str, Any], is_measured: bool = False
) -> KnowledgeSet:
    """Change fields of CHANGEABLE. Raises NotFoundError, NotAllowedError, NameTakenError.

    MeasuredFirstError where texts of prompts are measured before they are published; the other fields are changed all
    the same. `is_measured`: the gate has let them pass. Call it outside of a transaction, or catch that error within.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    gate = publish_gate()
    texts = {
        name: values[name] for name in PROMPT_TEXTS if name in values and getattr(knowledge_set, name) != values[name]
    }
    if gate is None or is_measured or not texts:
        return _set_change(scope=scope, actor=actor, set_id=set_id, values=values)
    other_values = {name: value for name, value in values.items() if name not in texts}
    knowledge_set = _set_change(scope=scope, actor=actor, set_id=set_id, values=other_values)
    if (change := gate.hold_texts(actor=actor, row=knowledge_set, texts=texts)) is not None:
        raise MeasuredFirstError(change=change)
    return _set_change(scope=scope, actor=actor, set_id=set_id, values=texts)


@transaction.atomic
def _set_change(*, scope: Scope, actor: User, set_id: int, values: Mapping[str, Any]) -> KnowledgeSet:
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    changed = [name for name in CHANGEABLE if name in values and getattr(knowledge_set, name) != values[name]]
    if not changed:
        return knowledge_set
    if "rights" in changed:
        rights_check(scope=scope, knowledge_set=knowledge_set, rights=values["rights"])
    for name in changed:
        setattr(knowledge_set, name, values[name])
    _save(knowledge_set)
    if {"visibility", "axis", "code", "rights"} & set(changed):  # what a search of somebody finds
        epoch_advance(tenant_id=knowledge_set.tenant_id, sets=[knowledge_set.pk])
    audit_record(actor=actor, action="set.change", target=knowledge_set.code, set=knowledge_set.pk, fields=changed)
    return knowledge_set


def rights_check(*, scope: Scope, knowledge_set: KnowledgeSet, rights: str) -> None:
    """Only who manages all sources of a set may say that their rights do not count there.

    Raises NotAllowedError.
    """
    if rights != KnowledgeSet.Rights.SET:
        return
    managed = sources_managed(scope=scope).order_by().values("pk")
    with_readers = Document.objects.filter(sets=knowledge_set, deleted=None, source_readers__isnull=False)
    composed = SetSource.objects.filter(knowledge_set=knowledge_set)
    if with_readers.exclude(source__in=managed).exists() or composed.exclude(source__in=managed).exists():
        raise NotAllowedError("rights_of_sources")


@transaction.atomic
def set_delete(*, scope: Scope, actor: User, set_id: int) -> None:
    """Delete a set; its documents stay in their other sets, or visible to administrators only.

    Raises NotFoundError, NotAllowedError.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    documents = knowledge_set.documents.count()
    knowledge_set.delete()
    epoch_advance(tenant_id=knowledge_set.tenant_id)
    audit_record(actor=actor, action="set.delete", target=knowledge_set.code, set=set_id, documents=documents)


@transaction.atomic
def set_members_put(
    *,
    scope: Scope,
    actor: User,
    set_id: int,
    users: Sequence[str | int] | None = None,
    groups: Sequence[str | int] | None = None,
    owners: Sequence[str | int] | None = None,
    editors: Sequence[str | int] | None = None,
) -> KnowledgeSet:
    """Replace readers (users, groups), editors and owners of a set, by name or id; None keeps a list.

    Idempotent. Raises NotFoundError, NotAllowedError, UnknownPeopleError, OwnerNeededError.
    """
    knowledge_set = set_owned(scope=scope, set_id=set_id)
    if owners is not None and not owners and scope.administers == "nothing":
        raise OwnerNeededError
    if users is not None:
        knowledge_set.members.set(_users(knowledge_set, users, "users"))
    if groups is not None:
        knowledge_set.member_groups.set(_groups(knowledge_set, groups))
    if owners is not None:
        knowledge_set.owners.set(_users(knowledge_set, owners, "owners"))
    if editors is not None:
        knowledge_set.editors.set(_users(knowledge_set, editors, "editors"))
    epoch_advance(tenant_id=knowledge_set.tenant_id, sets=[knowledge_set.pk])
    lists = {"users": users, "groups": groups, "owners": owners, "editors": editors}
    audit_record(
        actor=actor,
        action="set.members",
        target=knowledge_set.code,
        set=knowledge_set.pk,
        **{name: list(value) for name, value in lists.items() if value is not None},
    )
    return knowledge_set


def _tenant_for(*, scope: Scope, actor: User, name: str | None) -> Tenant:
    if name is None or name == actor.tenant.name:
        return actor.tenant
    if scope.administers != "everything":
        raise NotAllowedError("sets_of_others")
    tenant = Tenant.objects.filter(name=name).first()
    if tenant is None:
        raise UnknownTenantError("name", tenant=name)
    return tenant


def _save(changed: KnowledgeSet) -> None:
    """Save within a savepoint: the unique constraint decides about the code, also between two requests."""
    try:
        with transaction.atomic():
            changed.save()
    except IntegrityError as error:
        raise NameTakenError("set_code", code=changed.code) from error


def _users(owner: KnowledgeSet, references: Sequence[str | int], field: str) -> list[User]:
    names, ids = _split(references)
    users = list(User.objects.filter(Q(username__in=names) | Q(pk__in=ids), tenant_id=owner.tenant_id, is_active=True))
    _all_known(names, ids, {user.username: user.pk for user in users}, field)
    return users


def _groups(owner: KnowledgeSet, references: Sequence[str | int]) -> list[UserGroup]:
    names, ids = _split(references)
    groups = list(UserGroup.objects.filter(Q(name__in=names) | Q(pk__in=ids), tenant_id=owner.tenant_id))
    _all_known(names, ids, {group.name: group.pk for group in groups}, "groups")
    return groups


def _split(references: Sequence[str | int]) -> tuple[set[str], set[int]]:
    return {reference for reference in references if isinstance(reference, str)}, {
        reference for reference in references if isinstance(reference, int)
    }


def _all_known(names: set[str], ids: set[int], ids_of_names: Mapping[str, int], field: str) -> None:
    """Raise UnknownPeopleError with the field and its unknown names."""
    unknown = [*sorted(names - set(ids_of_names)), *sorted(ids - set(ids_of_names.values()))]
    if unknown:
        raise UnknownPeopleError("names", field=field, unknown=unknown)
