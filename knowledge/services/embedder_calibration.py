"""Calibrates `min_cosine` for another embedding model on the tenant's own passages (decision 031).

Sentences of passages stand for questions. Both models are asked the same ones about the same passages: the cosine of a
sentence with its own passage, and the best one with any other. A linear scale that lays the medians of these two on
each other carries the default of `min_cosine` over. Unlike a fixed number of spreads, it does not depend on how narrow
the subject is: both models see the same subject.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from knowledge.indexes.embedder_fill import passages_paired
from knowledge.model_registry import embedder_of, floor_of_model, live_model
from knowledge.model_setup import setup_now
from knowledge.models import IndexEntry
from knowledge.search_model_setup import SearchModelSpec
from knowledge.services.own_questions import COMPARED, near_and_far, questions_of
from ragcore.embedding.cosine_scale import cosine_scale
from ragcore.options import RetrievalOptions
from ragcore.ports import Embedder

LEAST_QUESTIONS = 30  # fewer say too little: the floor of the model holds
FLOORS = (0.05, 0.95)  # within which a floor stays


def switch_calibrate(*, spec: SearchModelSpec) -> dict[str, Any]:
    """{"floors": {tenant id: floor}} of a model of which every passage has a vector; tenants with few have none.

    Embeds up to 150 sentences of each tenant with both models.
    """
    live, target = embedder_of(setup_now().embedder), embedder_of(spec)
    if live.model == target.model:
        return {}
    tenants = IndexEntry.objects.order_by("tenant_id").values_list("tenant_id", flat=True).distinct()
    floors = {str(tenant): _floor(tenant, live, target) for tenant in tenants}
    return {"floors": {tenant: floor for tenant, floor in floors.items() if floor is not None}}


def _floor(tenant_id: int, live: Embedder, target: Embedder) -> float | None:
    """The default of `min_cosine` for the target's cosines; None where there are too few passages."""
    compared = passages_paired(tenant_id=tenant_id, model=live.model, other=target.model, limit=COMPARED)
    questions = questions_of(compared.texts)
    if len(questions) < LEAST_QUESTIONS:
        return None
    places, texts = np.array([place for place, _ in questions]), [text for _, text in questions]
    before = near_and_far(live.embed_queries(texts) @ compared.one.T, places)
    after = near_and_far(target.embed_queries(texts) @ compared.other.T, places)
    scale = cosine_scale(before, after)  # of the target's cosines to those of the model in use
    floor = (floor_of(live, tenant_id) - scale.offset) / scale.slope
    return float(np.clip(floor, *FLOORS))


def floor_of(model: Embedder, tenant_id: int) -> float:
    """The default of `min_cosine` that holds now, or for another model than the live one the default of that model."""
    calibrated = setup_now().floor(tenant_id=tenant_id) if model.model == live_model() else None
    return calibrated or floor_of_model(model) or RetrievalOptions().min_cosine
