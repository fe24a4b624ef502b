"""Who keeps a document, as a condition."""

from __future__ import annotations

from django.db.models import Exists, F, Func, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import Exact

from accounts.scope import Scope
from knowledge.models import Document
from knowledge.selectors.sets import sets_curated


def keeper_condition(*, scope: Scope) -> Q:
    """The asker administers the document, owns its source, or owns every set into which it was put.

    Sets that were composed of a source which others may use do not count: composing a set takes nothing from anybody.
    """
    if scope.administers == "everything":
        return Q()
    if scope.administers == "tenant":
        return Q(tenant_id=scope.tenant_id)
    set_ids = list(sets_curated(scope=scope).order_by().values_list("pk", flat=True))
    every = Document.sets.through.objects.filter(document_id=OuterRef("pk"))
    by_hand = every.exclude(Exact(_origin(), "source"))
    is_shared = Q(source__options__contains={"shared": True})
    owns_all = Q(Exists(every.filter(knowledgeset_id__in=set_ids))) & ~Q(
        Exists(every.exclude(knowledgeset_id__in=set_ids))
    )
    owns_all_by_hand = Q(Exists(by_hand.filter(knowledgeset_id__in=set_ids))) & ~Q(
        Exists(by_hand.exclude(knowledgeset_id__in=set_ids))
    )
    owns_sets = (~is_shared & owns_all) | (is_shared & owns_all_by_hand)
    return Q(tenant_id=scope.tenant_id) & (Q(source__owner=scope.user_id) | owns_sets)


def _origin() -> Coalesce:
    """How the document came into a set that is composed of its source (knowledge.services.composition); else ""."""
    origin = Func(
        OuterRef("handled"),
        Value("sets"),
        Cast(F("knowledgeset_id"), TextField()),
        function="jsonb_extract_path_text",
        output_field=TextField(),
    )
    return Coalesce(origin, Value(""), output_field=TextField())
