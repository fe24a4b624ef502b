"""Fits the line from cosines of a set's model to cosines of the site's model (decision 041).

Sentences of passages stand for questions, as in `embedder_calibration`: of both models the median cosine of a sentence
with its own passage, and the median of the best other one, are laid on each other. A scale is of a pair of models.
After the site has changed its model, searches use the set's model again when a scale of the new pair is there. Where
the site's model cannot tell these passages apart, fixed medians take the place of its own (`ragcore...set_scale`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import Error as DatabaseFailure

from knowledge import model_registry
from knowledge.indexes.corpus_epoch import epoch_advance, epoch_now
from knowledge.indexes.rotations import coarse_vectors, rotation_state
from knowledge.indexes.set_vectors_fill import set_passages_paired
from knowledge.model_setup import hosts_allowed
from knowledge.models import EmbedderSwitch, SetEmbedder
from knowledge.search_model_setup import spec_of
from knowledge.services.embedder_calibration import floor_of
from knowledge.services.own_questions import COMPARED, found_share, near_and_far, questions_of
from ragcore.embedding.cosine_scale import CosineScale, Ints
from ragcore.embedding.set_scale import REFERENCE, REFERENCE_PREFIX, SiteCosines, set_scale
from ragcore.errors import RagError
from ragcore.ports import Embedder, FloatArray

logger = logging.getLogger(__name__)

LEAST_QUESTIONS = 8  # fewer say nothing: cosines are compared as they are, and the page says so
AGAIN = 2.0  # times as many passages as when the scale was measured: it is measured again
PREFIX = 384
RESTED_SECONDS = 600.0  # for which a model that the site may switch to is left alone after it has not answered

_resting: dict[str, float] = {}  # model of the site -> until when (monotonic)


class OtherSiteModelError(Exception):
    """A model that the site may switch to does not answer."""


def scales_measure(*, row: SetEmbedder, embedder: Embedder, passages: int) -> Mapping[str, Any]:
    """Measure the scales to the site's models that are missing or hold no longer; what `scales_store` stores.

    To the model in use, and to one that the site is ready to switch to, so that the set's model takes part in measuring
    that switch, and at once after it. `passages`: entries of the set. Embeds up to 150 sentences with each model.
    Raises what the set's model and the one in use raise. Of another one it is logged: its server may be away for long,
    and nothing waits for it.
    """
    live, *next_models = _site_models()
    measured = _measured_anew(row, live, embedder, passages)
    for site in next_models:
        if time.monotonic() < _resting.get(site.model, 0.0):
            continue
        try:
            scales = _measured_anew(row, site, embedder, passages).get("scales", {})
            measured = {**measured, "scales": {**measured.get("scales", {}), **scales}} if scales else measured
        except OtherSiteModelError as error:
            _resting[site.model] = time.monotonic() + RESTED_SECONDS
            logger.warning("no scale of %s to %s yet: %s", row.model, site.model, error.__cause__)
    return measured


def scales_store(*, row: SetEmbedder, measured: Mapping[str, Any]) -> None:
    """Store scales that were measured now; `row` is locked. Answers of the set are stale."""
    if measured:
        scales = {**row.figures.get("scales", {}), **measured["scales"]}
        row.figures = {**row.figures, **measured, "scales": scales}
        row.save(update_fields=["figures"])
        epoch_advance(tenant_id=row.tenant_id, sets=[row.knowledge_set_id])


def _site_models() -> list[Embedder]:
    """The model in use first. Another one whose client cannot be made is left out."""
    models = [model_registry.embedder()]
    ready = EmbedderSwitch.objects.filter(state=EmbedderSwitch.State.READY).select_related("target")
    for switch in ready:
        try:
            models.append(model_registry.embedder_of(spec_of(switch.target, hosts_allowed())))
        except RagError as error:
            logger.warning("the model that the site may switch to cannot be asked: %s", error)
    return models


def _asked_of_site(site: Embedder, texts: Sequence[str]) -> FloatArray:
    """The sentences by a model of the site. Raises OtherSiteModelError of all but the one in use."""
    try:
        return site.embed_queries(texts)
    except DatabaseFailure:
        raise
    except Exception as error:
        if site.model == model_registry.live_model():
            raise
        raise OtherSiteModelError from error


def _measured_anew(row: SetEmbedder, site: Embedder, embedder: Embedder, passages: int) -> dict[str, Any]:
    """{"scales": {site's model: scale}}, and "comparison" with the model in use; empty where what is known holds."""
    if site.model == row.model:
        return {}
    state = rotation_state(tenant_id=row.tenant_id, model=site.model, epoch=epoch_now(tenant_id=row.tenant_id))
    stored = row.figures.get("scales", {}).get(site.model)
    if stored is not None and _still_holds(stored, state.rotation, passages):
        return {}
    scale, comparison = _measured(row, site, embedder, state.rotation)
    is_live = site.model == model_registry.live_model()
    scales = {site.model: {**scale, "passages": passages, "rotation": state.rotation}}
    return {"scales": scales, "comparison": comparison} if is_live else {"scales": scales}


def _still_holds(stored: Mapping[str, Any], rotation: int, passages: int) -> bool:
    """Whether the set has not grown much, and the site's prefixes are shortened as when the scale was measured."""
    is_of_size = passages < AGAIN * max(stored["passages"], LEAST_QUESTIONS)
    return is_of_size and bool(stored.get("rotation", rotation) == rotation)


def _measured(
    row: SetEmbedder, site: Embedder, embedder: Embedder, rotation: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scale as it is stored, and how often sentences find their passage by either model and by both."""
    compared = set_passages_paired(set_id=row.knowledge_set_id, site_model=site.model, model=row.model, limit=COMPARED)
    questions = questions_of(compared.texts)
    if len(questions) < LEAST_QUESTIONS:
        return _stored(CosineScale(), CosineScale(), questions=0), {}
    places, texts = np.array([place for place, _ in questions]), [text for _, text in questions]
    own_questions = embedder.embed_queries(texts)
    site_questions = _asked_of_site(site, texts)
    by_site, by_own = site_questions @ compared.one.T, own_questions @ compared.other.T
    floor = floor_of(site, row.tenant_id)
    scale = _scale(by_site, by_own, places, floor, REFERENCE)

    def rotated(vectors: FloatArray) -> FloatArray:
        return _unit(coarse_vectors(vectors, rotation=rotation, model=site.model))

    site_prefixes = rotated(site_questions) @ rotated(compared.one).T
    own_prefixes = _unit(own_questions[:, :PREFIX]) @ _unit(compared.other[:, :PREFIX]).T
    prefix = _scale(site_prefixes, own_prefixes, places, floor, REFERENCE_PREFIX)

    both = np.asarray((by_site + scale.offset + scale.slope * by_own) / 2, np.float32)
    comparison = {
        "questions": len(questions),
        "passages": len(compared.texts),
        "site": found_share(by_site, places),
        "alone": found_share(by_own, places),
        "fused": found_share(both, places),
    }
    return _stored(scale, prefix, questions=len(questions)), comparison


def _scale(
    site: FloatArray, of_set: FloatArray, places: Ints, floor: float, reference: tuple[float, float]
) -> CosineScale:
    """Of cosines float32[q, n] of both models; `places`: the own passage of each sentence."""
    cosines = SiteCosines(
        near_far=near_and_far(site, places), unrelated=float(np.median(site)), floor=floor, reference=reference
    )
    return set_scale(cosines, near_and_far(of_set, places))


def _stored(scale: CosineScale, prefix: CosineScale, *, questions: int) -> dict[str, Any]:
    return {
        "offset": scale.offset,
        "slope": scale.slope,
        "prefix_offset": prefix.offset,
        "prefix_slope": prefix.slope,
        "questions": questions,
    }


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)
