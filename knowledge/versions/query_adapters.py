"""Fitted query vectors of a set.

Documents keep their vectors, so a switch is one transaction: the next question is asked the new way, and answers in the
cache become stale. Whether a version is better was measured before (`evaluation.jobs.train_adapter`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import KnowledgeSet, QueryAdapter
from knowledge.selectors import set_owned
from knowledge.selectors.query_adapters import adapter_get, adapter_load, adapters_managed
from knowledge.selectors.training_vectors import space_name
from knowledge.vector_errors import AdapterSwitchError
from work.versions import VersionKind, version_kind


@version_kind
class QueryAdapters(VersionKind[QueryAdapter]):
    """Versions of each set."""

    name = "query_adapter"
    label = _("Fitted query vectors")
    model = QueryAdapter
    of = ("knowledge_set_id",)
    acts = "adapter"
    error = AdapterSwitchError

    def managed(self, *, scope: Scope) -> QuerySet[QueryAdapter]:
        return adapters_managed(scope=scope)

    def get(self, *, scope: Scope, version_id: int) -> QueryAdapter:
        return adapter_get(scope=scope, adapter_id=version_id)

    def lock(self, *, scope: Scope, subject: Mapping[str, Any]) -> None:
        set_id = subject["knowledge_set_id"]
        set_owned(scope=scope, set_id=set_id)
        KnowledgeSet.objects.select_for_update(of=("self",), no_key=True).get(pk=set_id)

    def check(self, version: QueryAdapter, *, scope: Scope) -> None:
        if version.model != space_name(scope=scope):
            raise AdapterSwitchError("model")
        if adapter_load(version.pk, scope=scope) is None:  # there are no weights, or they are damaged
            raise AdapterSwitchError("unusable")

    def changed(self, version: QueryAdapter) -> None:
        epoch_advance(tenant_id=version.tenant_id, sets=[version.knowledge_set_id])

    def subject_words(self, version: QueryAdapter) -> str:
        return version.knowledge_set.shown_name

    def panel(self, version: QueryAdapter) -> list[tuple[Any, Any]]:
        return version.gains

    def target(self, version: QueryAdapter) -> str:
        return version.knowledge_set.code
