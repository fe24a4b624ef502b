"""Switching a set's fitted query vectors on, to another version, and off again.

Documents keep their vectors, so each of these is one transaction: the next question is asked the new way, and answers
in the cache become stale. Whether a version is better was measured before (`evaluation.services.adapters`).
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import KnowledgeSet, QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.query_adapters import adapter_get, adapter_load
from knowledge.selectors.training_vectors import space_name
from knowledge.vector_errors import AdapterSwitchError

State = QueryAdapter.State


@transaction.atomic
def adapter_switch_on(*, scope: Scope, actor: User, adapter_id: int, reason: str = "") -> QueryAdapter:
    """Ask a set's questions through this version; the one that was in use is kept.

    Raises NotFoundError, NotAllowedError, and AdapterSwitchError: there is nothing to switch on, it is in use, it was
    fitted for another embedding model, or its weights are damaged.
    """
    row = adapter_get(scope=scope, adapter_id=adapter_id)
    home = _locked(scope, row.knowledge_set_id)
    row = QueryAdapter.objects.get(pk=row.pk)
    if row.state == State.LIVE:
        raise AdapterSwitchError("in_use")
    if not row.is_usable:
        raise AdapterSwitchError("unusable")
    if row.model != space_name(scope=scope):
        raise AdapterSwitchError("model")
    if adapter_load(row.pk, scope=scope) is None:
        raise AdapterSwitchError("unusable")
    _retire(home)
    QueryAdapter.objects.filter(pk=row.pk).update(state=State.LIVE, live_since=timezone.now())
    _changed(home)
    audit_record(actor=actor, action="adapter.switch_on", target=home.code, version=row.number, reason=reason)
    return adapter_get(scope=scope, adapter_id=adapter_id)


@transaction.atomic
def adapter_switch_off(*, scope: Scope, actor: User, set_id: int) -> QueryAdapter:
    """Ask a set's questions with their plain vectors again.

    Raises NotFoundError, NotAllowedError, AdapterSwitchError where nothing is in use.
    """
    home = _locked(scope, set_id)
    live = QueryAdapter.objects.filter(knowledge_set=home, state=State.LIVE).only("pk", "number").first()
    if live is None:
        raise AdapterSwitchError("not_in_use")
    _retire(home)
    _changed(home)
    audit_record(actor=actor, action="adapter.switch_off", target=home.code, version=live.number)
    return adapter_get(scope=scope, adapter_id=live.pk)


def _locked(scope: Scope, set_id: int) -> KnowledgeSet:
    """The set, with nobody else switching its adapters."""
    set_owned(scope=scope, set_id=set_id)
    return KnowledgeSet.objects.select_for_update(of=("self",), no_key=True).get(pk=set_id)


def _retire(home: KnowledgeSet) -> None:
    QueryAdapter.objects.filter(knowledge_set=home, state=State.LIVE).update(state=State.RETIRED)


def _changed(home: KnowledgeSet) -> None:
    epoch_advance(tenant_id=home.tenant_id, sets=[home.pk])
