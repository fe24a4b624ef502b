"""Stores and undoes owners' decisions about facts: confirm or reject.

Decisions are about the names of a fact in a set, so that they hold for versions that are read later. One replaces the
former one about the same fact: that one counts as undone.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Triple, TripleDecision
from knowledge.models.graph import FactState
from knowledge.selectors.triples import triple_curated, triple_decisions


def fact_confirm(*, scope: Scope, actor: User, triple_id: int) -> TripleDecision:
    """Decide that a fact is right. Raises NotFoundError where the actor may not see it or not curate its set."""
    return _decide(scope, actor, triple_id, FactState.CONFIRMED)


def fact_reject(*, scope: Scope, actor: User, triple_id: int) -> TripleDecision:
    """Decide that a fact is wrong: no search finds it any more. Raises the same."""
    return _decide(scope, actor, triple_id, FactState.REJECTED)


@transaction.atomic
def fact_decision_undo(*, scope: Scope, actor: User, decision_id: int) -> TripleDecision:
    """Take a decision back; undoing twice does nothing more. Raises NotFoundError."""
    decision = triple_decisions(scope=scope).filter(pk=decision_id).first()
    if decision is None:
        raise NotFoundError("triple_decision", decision=decision_id)
    if decision.undone is None:
        decision.undone = timezone.now()
        decision.save(update_fields=["undone"])
        _apply(decision, FactState.OPEN)
        _recorded(actor, "triple.undo", decision)
    return decision


@transaction.atomic
def _decide(scope: Scope, actor: User, triple_id: int, kind: FactState) -> TripleDecision:
    row = triple_curated(scope=scope, triple_id=triple_id)
    same = {"knowledge_set": row.knowledge_set, "subject_key": row.subject_key, "object_key": row.object_key,
            "relation": row.relation}  # fmt: skip
    TripleDecision.objects.filter(**same, undone=None).update(undone=timezone.now())
    decision = TripleDecision.objects.create(
        **same, tenant_id=row.tenant_id, document=row.document, kind=kind, subject=row.subject, object=row.object,
        author=actor,
    )  # fmt: skip
    _apply(decision, kind)
    _recorded(actor, "triple.decide", decision)
    return decision


def _apply(decision: TripleDecision, state: FactState) -> None:
    Triple.objects.filter(
        knowledge_set_id=decision.knowledge_set_id, tenant_id=decision.tenant_id, subject_key=decision.subject_key,
        object_key=decision.object_key, relation=decision.relation,
    ).update(state=state)  # fmt: skip
    epoch_advance(tenant_id=decision.tenant_id, sets=[decision.knowledge_set_id])


def _recorded(actor: User, action: str, decision: TripleDecision) -> None:
    audit_record(
        actor=actor, action=action, target=decision.knowledge_set.code, decision=decision.pk, kind=decision.kind,
        set=decision.knowledge_set_id, set_name=decision.knowledge_set.name,
    )  # fmt: skip
