"""Stores and undoes owners' decisions about entities: merge, split, reject, confirm.

Decisions are about names, so that they hold for documents that are read later. One decision replaces an earlier one of
the same lexicon about the same names: that one counts as undone.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.graph_triples import entity_key
from knowledge.lexicon_errors import EntityDecisionError
from knowledge.models import Entity, EntityDecision, KnowledgeSet
from knowledge.selectors.entities import decision_get, entity_named, mentions_askable
from knowledge.selectors.lexicon import lexicon_set_get

Kind = EntityDecision.Kind


def entities_merge(*, scope: Scope, actor: User, set_id: int | None, name: str, into: str) -> EntityDecision:
    """Decide that two names are one entity, called `into`; of a set, or without one of the tenant.

    Raises NotFoundError where the asker may not know of one of them, NotAllowedError, MissingRightError,
    EntityDecisionError where both are spellings of one name.
    """
    return _decide(scope=scope, actor=actor, set_id=set_id, kind=Kind.MERGE, name=name, other=into)


def entity_split(*, scope: Scope, actor: User, set_id: int | None, name: str, other: str) -> EntityDecision:
    """Decide that two names are different entities, whatever a passage or the lexicon says. Raises the same."""
    return _decide(scope=scope, actor=actor, set_id=set_id, kind=Kind.SPLIT, name=name, other=other)


def entity_reject(*, scope: Scope, actor: User, set_id: int | None, name: str) -> EntityDecision:
    """Decide that a name stands for no entity. Raises the same."""
    return _decide(scope=scope, actor=actor, set_id=set_id, kind=Kind.REJECT, name=name)


def entity_confirm(*, scope: Scope, actor: User, set_id: int | None, name: str) -> EntityDecision:
    """Decide that a name stands for an entity. Raises the same."""
    return _decide(scope=scope, actor=actor, set_id=set_id, kind=Kind.CONFIRM, name=name)


@transaction.atomic
def entity_decision_undo(*, scope: Scope, actor: User, decision_id: int) -> EntityDecision:
    """Take a decision back; undoing twice does nothing more. Raises NotFoundError."""
    decision = decision_get(scope=scope, decision_id=decision_id)
    if decision.undone is None:
        decision.undone = timezone.now()
        decision.save(update_fields=["undone"])
        _tell(decision)
        audit_record(actor=actor, action="entity.undo", target=decision.name, decision=decision.pk, **_place(decision))
    return decision


@transaction.atomic
def _decide(*, scope: Scope, actor: User, set_id: int | None, kind: Kind, name: str, other: str = "") -> EntityDecision:
    home = lexicon_set_get(scope=scope, set_id=set_id)
    known_names = [_known(scope, home, text) for text in (name, other) if text]
    keys = [entity_key(name), entity_key(other) if other else ""]
    if keys[0] == keys[1]:
        raise EntityDecisionError("same_name", name=name)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    _former(tenant_id, home, kind, keys)
    decision = EntityDecision.objects.create(
        tenant_id=tenant_id,
        knowledge_set=home,
        kind=kind,
        name=known_names[0][0].name,
        key=keys[0],
        other=known_names[1][0].name if other else "",
        other_key=keys[1],
        clearance=max(clearance for _, clearance in known_names),
        author=actor,
    )
    audit_record(
        actor=actor, action="entity.decide", target=decision.name, decision=decision.pk, kind=str(kind),
        other=decision.other, **_place(decision),
    )  # fmt: skip
    _tell(decision)
    return decision


def _known(scope: Scope, home: KnowledgeSet | None, name: str) -> tuple[Entity, int]:
    """An entity that documents of the set mention, and the clearance of the lowest of them."""
    sets = [home.pk] if home is not None else []
    entity = entity_named(scope=scope, name=name, sets=sets)
    rows = mentions_askable(scope=scope, sets=sets).filter(entity=entity)
    lowest = rows.aggregate(lowest=Min("document__clearance"))["lowest"]
    if lowest is None:
        raise NotFoundError("entity", entity=entity.pk, name=name)
    return entity, lowest


def _former(tenant_id: int, home: KnowledgeSet | None, kind: Kind, keys: list[str]) -> None:
    """Undo earlier decisions about the same names: of one name about itself, of two about the pair."""
    rows = EntityDecision.objects.filter(tenant_id=tenant_id, knowledge_set=home, undone=None)
    about = {Kind.MERGE: (Kind.MERGE, Kind.SPLIT), Kind.SPLIT: (Kind.MERGE, Kind.SPLIT)}
    kinds = about.get(kind, (Kind.REJECT, Kind.CONFIRM))
    same = rows.filter(kind__in=kinds, key=keys[0], other_key=keys[1])
    turned = rows.filter(kind__in=kinds, key=keys[1], other_key=keys[0])
    (same | turned).update(undone=timezone.now())


def _tell(decision: EntityDecision) -> None:
    """Answers that were made without this are stale."""
    sets = [decision.knowledge_set_id] if decision.knowledge_set_id is not None else None
    epoch_advance(tenant_id=decision.tenant_id, sets=sets)


def _place(decision: EntityDecision) -> dict[str, object]:
    return {"set": decision.knowledge_set_id}
