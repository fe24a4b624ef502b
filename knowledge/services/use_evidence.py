"""Stores and deletes evidence from use of a set; upper apps compute it, searches read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.rotations import vector_text
from knowledge.indexes.use_evidence import use_evidence_replace
from knowledge.models import KnowledgeSet, SiteOptions, UseEvidence, UseSummary
from ragcore.metrics.use_evidence import UseEvidence as Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUse:
    """Evidence from use of a set, learnt in one night; empty where there is too little use."""

    answers: int
    people: int
    is_enough: bool
    model: str = ""
    floor: float = 1.0
    left_out: int = 0
    average: float = 0.0
    examination: Sequence[float] = ()
    evidence: Sequence[Evidence] = field(default=(), repr=False)
    seconds: float = 0.0


@transaction.atomic
def set_use_store(*, set_id: int, use: SetUse) -> int:
    """Replaces the stored evidence of a set; returns the number of passages with evidence. Idempotent.

    Cached answers become stale only where use takes part in the ranking. Nothing happens where the set is gone.
    """
    home = KnowledgeSet.objects.select_for_update(of=("self",), no_key=True).filter(pk=set_id).first()
    if home is None:
        return 0
    had = UseEvidence.objects.filter(knowledge_set=home).exists()
    stored = use_evidence_replace(set_id=home.pk, model=use.model, rows=[_row(item) for item in use.evidence])
    passages = UseEvidence.objects.filter(knowledge_set=home).values("chunk").distinct().count()
    UseSummary.objects.update_or_create(
        knowledge_set=home,
        defaults={
            "tenant_id": home.tenant_id,
            "model": use.model,
            "floor": use.floor,
            "answers": use.answers,
            "people": use.people,
            "left_out": use.left_out,
            "is_enough": use.is_enough,
            "passages": passages,
            "average": use.average,
            "examination": list(use.examination),
            "learnt": timezone.now(),
            "seconds": use.seconds,
        },
    )
    if (had or stored) and _takes_part(home):
        epoch_advance(tenant_id=home.tenant_id, sets=[home.pk])
    return passages


@transaction.atomic
def set_use_forget(*, sets: Collection[int]) -> None:
    """Remove all evidence of these sets, until it is learnt again."""
    homes = list(KnowledgeSet.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=sets).order_by("pk"))
    for home in homes:
        if UseEvidence.objects.filter(knowledge_set=home).delete()[0] and _takes_part(home):
            epoch_advance(tenant_id=home.tenant_id, sets=[home.pk])
    UseSummary.objects.filter(knowledge_set__in=homes).delete()


def _row(evidence: Evidence) -> dict[str, object]:
    names = ("passage", "value", "people", "shown", "opened", "helpful", "unhelpful")
    return {"vector": vector_text(evidence.vector), **{name: getattr(evidence, name) for name in names}}


def _takes_part(home: KnowledgeSet) -> bool:
    """Whether searches in the set alone, or in several sets, rank by use."""
    if home.options.get("retrieval", {}).get("use_shift", 0) > 0:
        return True
    on = Q(options__retrieval__use_shift__gt=0)
    return SiteOptions.objects.filter(on, tenant_id=home.tenant_id).exists()
