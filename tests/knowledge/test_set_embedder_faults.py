"""Embedding models of sets where something is amiss: a site's model that says nothing, models that fail or are down."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge import model_registry
from knowledge.indexes import corpus_epoch
from knowledge.models import Chunk, SetEmbedder, SetVector, WholeVector
from knowledge.services import set_embedder_scale
from knowledge.services.set_embedder_fill import set_vectors_tend
from ragcore.embedding.set_scale import REFERENCE
from tests.factories import ingest
from tests.knowledge.test_set_embedders import ASKED, TEXTS, of_trade, scores, server, switched_on, target

pytestmark = pytest.mark.django_db
__all__ = ["server", "target"]  # fixtures


class Constant:
    """A site's model that finds all texts the same."""

    def __init__(self):
        self.model = model_registry.live_model()
        self.vector = model_registry.embedder().embed_queries(["something"])[0]

    def embed_queries(self, texts):
        return np.stack([self.vector for _ in texts])


def test_a_site_model_that_tells_nothing_apart_does_not_take_the_order_away(owner, common, target, monkeypatch):
    more = {f"m{n}": f"The blorf {n} of hall {n * 7} is opened by pump {n * 3} after the rain." for n in range(9)}
    ingest(owner, common, **TEXTS, **more)
    constant = Constant()
    monkeypatch.setattr(set_embedder_scale, "_site_models", lambda: [constant])
    row = switched_on(owner, common, target, "alone")
    SetEmbedder.objects.filter(pk=row.pk).update(figures={})
    WholeVector.objects.update(vector=constant.vector.tolist())
    corpus_epoch.epoch_advance(tenant_id=owner.tenant_id)
    set_vectors_tend()

    scored = scores(owner, common, top_k=14)

    asked = np.array(of_trade(ASKED)) / np.linalg.norm(of_trade(ASKED))
    cosines = {
        one.chunk_id: float(np.array(one.vector, np.float32) @ asked) for one in SetVector.objects.order_by("chunk_id")
    }
    names = dict(Chunk.objects.values_list("pk", "version__document__external_id"))
    assert list(scored) == [names[one] for one in sorted(cosines, key=lambda one: -cosines[one])]
    assert list(scored)[0] == "blorf"
    assert len(set(scored.values())) == len(scored) == 14
    assert max(scored.values()) < 1
    row.refresh_from_db()
    [scale] = row.figures["scales"].values()
    assert scale["offset"] + scale["slope"] * np.median(list(cosines.values())) < REFERENCE[0]
