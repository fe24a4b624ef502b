"""What was changed in a lexicon, as it was done: changes that were made together are one row."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import CharField, Count, F, Max, Min, Q, QuerySet, Window
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, RowNumber

from accounts.scope import Scope
from knowledge.models import KnowledgeSet, LexiconChange
from knowledge.selectors.lexicon import changes_above, changes_managed, lexicon_condition


def changes_together(*, scope: Scope, knowledge_set: KnowledgeSet | None) -> QuerySet[Any, Any]:
    """What was done to one lexicon, the latest first; of terms that the asker may see.

    Of each: `latest` (id of its last change), how many `terms` and `changes` it was, how many changes `added`,
    `changed` and `deleted` a term, the `batch` of several, the `file` of an import, when it was `taken_back`, and the
    lowest and highest status before and after (`was`, `was_last`, `became`, `became_last`).
    """
    rows = changes_managed(scope=scope, knowledge_set=knowledge_set).order_by()
    act = Coalesce(Cast("batch", CharField()), Cast("pk", CharField()))
    return (
        rows.values("batch", done=act)
        .annotate(
            latest=Max("pk"),
            terms=Count("term_id", distinct=True),
            changes=Count("pk"),
            added=Count("pk", filter=Q(before__isnull=True)),
            changed=Count("pk", filter=Q(before__isnull=False, after__isnull=False)),
            deleted=Count("pk", filter=Q(after__isnull=True)),
            file=Max("file_name"),
            taken_back=Max("undone"),
            was=Min(KT("before__status")),
            was_last=Max(KT("before__status")),
            became=Min(KT("after__status")),
            became_last=Max(KT("after__status")),
        )
        .order_by("-latest")
    )


def changes_first(
    *, scope: Scope, knowledge_set: KnowledgeSet | None, batches: Collection[UUID], most: int
) -> QuerySet[LexiconChange]:
    """The first changes of each of these batches, so many at most."""
    rows = changes_managed(scope=scope, knowledge_set=knowledge_set).filter(batch__in=batches)
    place = Window(RowNumber(), partition_by=F("batch"), order_by=F("pk").asc())
    return rows.annotate(place=place).filter(place__lte=most).order_by("pk")


def terms_of_batches(*, scope: Scope, batches: Collection[UUID]) -> dict[UUID, int]:
    """Batch → how many terms its undoing brings back, in whatever lexicon that the asker keeps."""
    rows = LexiconChange.objects.filter(lexicon_condition(scope=scope), batch__in=batches)
    rows = rows.exclude(changes_above(scope=scope)).order_by()
    counted = rows.values("batch").annotate(terms=Count("term_id", distinct=True))
    return {row["batch"]: row["terms"] for row in counted if row["batch"] is not None}
