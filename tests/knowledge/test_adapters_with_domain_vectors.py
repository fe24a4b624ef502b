"""Query adapters where a tenant has domain vectors: fitted in them, applied to them, out of use after the next fit."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.errors import AdapterSwitchError
from knowledge.indexes import rotations, search_space
from knowledge.models import KnowledgeSet, LatentModel, QueryAdapter
from knowledge.selectors.training_vectors import space_of
from knowledge.services import latent_models, retrieve
from knowledge.services.query_adapters import adapter_switch_on
from knowledge.types import RetrievalRequest
from ragcore.embedding import query_adapter
from tests.factories import ingest, make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

PASSAGES = 24
ASKED = "What are the losses of filter 7?"


@pytest.fixture
def owner(monkeypatch):
    for memory in (search_space.counts, search_space.tails, search_space.indexed, rotations.states):
        memory.clear()
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", 10)
    owner = make_admin()
    texts = {f"d{n}": f"Report {n} about beams and the losses of filter {n}. It was measured." for n in range(PASSAGES)}
    ingest(owner, make_set("common", owners=[owner]), **texts)
    latent_models.latents_refresh()
    return owner


def version(home, *, model, towards):
    adapter = query_adapter.QueryAdapter(
        down=np.zeros((768, 1), np.float32),
        up=np.zeros((1, 768), np.float32),
        shift=20 * towards,
        slope=0.5,
        level=0.1,
    )
    return QueryAdapter.objects.create(
        tenant_id=home.tenant_id, knowledge_set=home, number=1, state="ready", model=model, weights=adapter.pack()
    )


def ask(owner, home):
    request = RetrievalRequest(query=ASKED, sets=(home.pk,), mode="vector", top_k=PASSAGES)
    return retrieve(scope=scope_of(owner), request=request)


def passage(owner, home, external_id):
    """The joined vector of a passage, and its chunk."""
    space = space_of(scope=scope_of(owner))
    stored = space.passage_vectors(scope=scope_of(owner), set_id=home.pk)
    chunk = next(c.passage.chunk for c in ask(owner, home).state.candidates if c.passage.external_id == external_id)
    return stored.vectors[stored.chunks.tolist().index(chunk)], chunk


def test_an_adapter_turns_the_joined_numbers_and_scores_keep_the_scale_of_the_embedder(owner):
    home = make_set_of(owner)
    space = space_of(scope=scope_of(owner))
    wanted, chunk = passage(owner, home, "d3")
    assert ask(owner, home).state.candidates[0].passage.external_id == "d7"

    row = version(home, model=space.name, towards=wanted)
    adapter_switch_on(scope=scope_of(owner), actor=owner, adapter_id=row.pk)
    found = ask(owner, home).state

    assert found.candidates[0].passage.external_id == "d3"
    latent = LatentModel.objects.get()
    cosine = 0.5 * 1.0 + 0.1  # the adapted question is nearly the passage itself
    expected = min(1.0, latent.cosine_offset + latent.cosine_slope * cosine)
    assert found.arms["dense"][chunk] == pytest.approx(expected, abs=0.02)


def test_one_of_another_space_takes_no_part_and_is_not_switched_on(owner):
    home = make_set_of(owner)
    space = space_of(scope=scope_of(owner))
    wanted, _chunk = passage(owner, home, "d3")
    row = version(home, model=space.name.partition("+")[0], towards=wanted)

    with pytest.raises(AdapterSwitchError):
        adapter_switch_on(scope=scope_of(owner), actor=owner, adapter_id=row.pk)
    QueryAdapter.objects.filter(pk=row.pk).update(state="live")
    assert ask(owner, home).state.candidates[0].passage.external_id == "d7"


def make_set_of(owner):
    return KnowledgeSet.objects.get(tenant=owner.tenant, code="common")
