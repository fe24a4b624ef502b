"""Embedding models of sets where something is amiss: a site's model that says nothing, models that fail or are down."""

from __future__ import annotations

import numpy as np
import pytest

from chat.answering.retrieval import SearchOutcome
from knowledge import model_registry, set_questions
from knowledge.indexes import corpus_epoch
from knowledge.indexes.set_embedder_rows import live_sets_concerned
from knowledge.jobs import embed_set
from knowledge.models import Chunk, Document, SearchModel, SetEmbedder, SetVector, WholeVector
from knowledge.queue import NOTE_SET_MODEL, SWEEP_SET_VECTORS
from knowledge.search_model_setup import spec_of
from knowledge.services import (
    document_delete,
    embedder_fill,
    retrieve,
    set_embedder_fill,
    set_embedder_scale,
    set_embedders,
)
from knowledge.services.set_embedder_fill import set_vectors_sweep
from knowledge.services.set_embedders import set_embedder_cancel
from knowledge.tasks import note_set_model, sweep_set_vectors
from knowledge.types import RetrievalRequest
from ragcore.embedding.set_scale import REFERENCE
from ragcore.errors import ModelUnavailableError
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.fills import set_fill, set_vectors_tend
from tests.knowledge.test_set_embedders import (
    ASKED,
    TEXTS,
    State,
    of_trade,
    scores,
    searched,
    server,
    started,
    switched_on,
    target,
    ways,
    who,
)
from tests.scripted_llm import Reply
from tests.work.contract import KindContract
from work.services import work_cancel, work_pause, work_resume
from work.words import error_words

pytestmark = pytest.mark.django_db
__all__ = ["server", "target"]  # fixtures


def raising(error):
    def raises(*_given, **_named):
        raise error

    return raises


class Constant:
    """A site's model that finds all texts the same."""

    def __init__(self):
        self.model = model_registry.live_model()
        self.vector = model_registry.embedder().embed_queries(["something"])[0]

    def embed_queries(self, texts):
        return np.stack([self.vector for _ in texts])


def test_a_site_model_that_tells_nothing_apart_does_not_take_the_order_away(owner, common, target, monkeypatch):
    more = {f"m{n}": " ".join(f"word{n}{letter} term{n}{letter}" for letter in "abcdef") + "." for n in range(9)}
    ingest(owner, common, **TEXTS, **more)
    constant = Constant()
    monkeypatch.setattr(set_embedder_scale, "_site_models", lambda: [constant])
    row = switched_on(owner, common, target, "alone")
    SetEmbedder.objects.filter(pk=row.pk).update(figures={})
    WholeVector.objects.update(vector=constant.vector.tolist())
    corpus_epoch.epoch_advance(tenant_id=owner.tenant_id)
    set_vectors_tend()

    question = f"{ASKED} word1a term1b word1c term2a word2b antenna mast radio"
    scored = scores(owner, common, question=question, top_k=14)

    asked = np.array(of_trade(question)) / np.linalg.norm(of_trade(question))
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


def settled(row):
    set_vectors_tend()
    row.refresh_from_db()
    return row.state, set_fill(row).error_code


def test_one_model_that_fails_in_any_way_keeps_no_other_waiting(owner, common, target, server, monkeypatch):
    ingest(owner, common, **TEXTS)
    other = make_set("other", owners=[owner])
    ingest(owner, other, soup="The soup is stirred.")
    first = started(owner, common, target)
    embed = embed_set.texts_embed
    monkeypatch.setattr(embed_set, "texts_embed", raising(ModuleNotFoundError("torch")))

    assert settled(first) == (State.BUILDING, "internal")
    page = error_words(set_fill(first))
    assert "torch" not in page
    monkeypatch.setattr(embed_set, "texts_embed", embed)
    second = started(owner, other, target)
    monkeypatch.setattr(
        embed_set, "texts_embed", lambda texts, *rest: embed(texts, *rest) if len(texts) == 1 else 1 / 0
    )
    assert settled(first) == (State.BUILDING, "internal")
    second.refresh_from_db()
    assert second.state == State.READY
    monkeypatch.setattr(embed_set, "texts_embed", embed)
    assert settled(first) == (State.READY, "")


def test_a_question_fails_by_no_error_of_the_model_of_a_set(owner, common, target, monkeypatch):
    ingest(owner, common, **TEXTS)
    before = scores(owner, common)
    switched_on(owner, common, target)
    monkeypatch.setattr(model_registry, "optional_embedder_of", raising(ValueError("no numbers")))

    assert scores(owner, common) == before
    monkeypatch.setattr(set_questions, "enqueue_on_commit", raising(OSError("no broker")))
    set_questions.rested()
    assert scores(owner, common) == before


def test_a_model_that_is_down_is_noted_until_it_answers(owner, common, target, server, monkeypatch):
    sent = []
    monkeypatch.setattr(set_questions, "enqueue_on_commit", lambda name, **given: sent.append((name, given)))
    ingest(owner, common, **TEXTS)
    row = switched_on(owner, common, target)
    respond = server.respond
    server.respond = lambda _asked: Reply(status=401)

    state = searched(owner, common)

    assert set(ways(state)) == {"unavailable"}
    request = RetrievalRequest(query=ASKED, sets=(common.pk,))
    outcome = SearchOutcome(retrieved=retrieve(scope=scope_of(owner), request=request), seconds=0.1)
    assert outcome.silent_models == {row.model}  # so the answer is not kept
    [(name, given)] = sent  # once, while the model is left alone
    assert name == NOTE_SET_MODEL
    note_set_model(**given)
    job = set_fill(row)
    assert (job.error_code, job.error_data) == ("embedder_refused", {})
    assert settled(row) == (State.LIVE, "embedder_refused")  # asked again, in vain
    server.respond = respond
    assert settled(row) == (State.LIVE, "")
    count = len(server.requests)
    assert settled(row) == (State.LIVE, "")
    assert len(server.requests) == count  # while nothing is amiss nothing is asked


def test_what_the_site_may_switch_to_keeps_no_set_waiting(owner, common, target, monkeypatch):
    ingest(owner, common, **TEXTS)
    away = Constant()
    asked = []
    failing = raising(ModelUnavailableError("embedder_silent", problem="away"))
    away.model, away.embed_queries = "away", lambda texts: asked.append(texts) or failing()
    monkeypatch.setattr(set_embedder_scale, "_resting", {})
    monkeypatch.setattr(set_embedder_scale, "LEAST_QUESTIONS", 1)
    monkeypatch.setattr(set_embedder_scale, "_site_models", lambda: [model_registry.embedder(), away])
    passages = set_embedder_scale.set_passages_paired
    monkeypatch.setattr(
        set_embedder_scale,
        "set_passages_paired",
        lambda **given: passages(**{**given, "site_model": model_registry.live_model()}),
    )

    row = started(owner, common, target)

    assert settled(row) == settled(row) == (State.READY, "")
    assert row.figures["scales"].keys() == {model_registry.live_model()}
    assert len(asked) == 1  # it is left alone for some minutes
    set_embedder_scale._resting.clear()
    away.embed_queries = model_registry.embedder().embed_queries
    settled(row)
    assert row.figures["scales"].keys() == {model_registry.live_model(), "away"}


def test_where_nothing_is_missing_nothing_is_looked_up_until_something_changes(owner, common, target, monkeypatch):
    ingest(owner, common, **TEXTS)
    switched_on(owner, common, target)
    set_vectors_tend()
    looked = []
    missing = embed_set.set_missing_ids
    monkeypatch.setattr(embed_set, "set_missing_ids", lambda **given: looked.append(1) or missing(**given))

    set_vectors_tend()
    assert looked == []
    ingest(owner, common, late="A late page.")
    assert set_vectors_tend() == 1
    set_vectors_tend()
    looked.clear()
    monkeypatch.setattr(embed_set, "LOOKED_SECONDS", -1.0)
    set_vectors_tend()
    assert looked == [1]


def test_sets_that_share_documents_share_the_change(owner, common, target):
    document = ingest(owner, common, **TEXTS)["blorf"]
    switched_on(owner, common, target)
    other, apart = (make_set(name, owners=[owner]) for name in ("other", "apart"))
    ingest(owner, apart, soup="The soup is stirred.")
    row = started(owner, other, target)
    switched_on(owner, apart, target)
    document.sets.add(other)

    assert live_sets_concerned(row=row) == [common.pk]


def test_vectors_of_versions_that_are_not_live_are_deleted(owner, common, target):
    ingest(owner, common, **TEXTS)
    switched_on(owner, common, target)
    former = Document.objects.get(external_id="tilt").live_version_id
    ingest(owner, common, tilt="The tilt is adjusted by hand.")
    document_delete(scope=scope_of(owner), actor=owner, document_id=Document.objects.get(external_id="alarm").pk)
    set_vectors_tend()

    set_vectors_sweep()

    versions = set(SetVector.objects.values_list("version_id", flat=True))
    assert former not in versions
    assert len(versions) == len(TEXTS) - 1


def test_a_model_that_is_given_up_is_swept_page_by_page_by_a_task(owner, common, target, monkeypatch):
    monkeypatch.setattr(set_embedder_fill, "DROP_BATCH", 2)
    sent = []
    monkeypatch.setattr(set_embedders, "enqueue_on_commit", lambda name, **given: sent.append((name, given)))
    ingest(owner, common, **TEXTS)
    row = started(owner, common, target)
    set_vectors_tend()
    copies = [SetVector(**{**one, "embedding_model": "none-needs"}) for one in SetVector.objects.values()]
    SetVector.objects.bulk_create(copies)
    assert set_vectors_sweep() == len(copies)
    SetVector.objects.bulk_create(copies)

    set_embedder_cancel(**who(owner), embedder_id=row.pk)

    assert SetVector.objects.count() == 2 * len(copies)
    assert sent[-1] == (SWEEP_SET_VECTORS, {"tenant_id": row.tenant_id, "model": row.model})
    sweep_set_vectors(tenant_id=row.tenant_id, model=row.model)
    assert set(SetVector.objects.values_list("embedding_model", flat=True)) == {"none-needs"}
    assert set_vectors_sweep() == len(copies)


def test_the_scale_is_measured_again_when_prefixes_are_shortened_otherwise(owner, common, target, monkeypatch):
    ingest(owner, common, **TEXTS)
    row = switched_on(owner, common, target)
    model = model_registry.live_model()
    row.figures["scales"][model] |= {"rotation": 77, "offset": 9.0}
    row.save(update_fields=["figures"])

    set_vectors_tend()

    row.refresh_from_db()
    assert row.figures["scales"][model]["rotation"] != 77
    assert row.figures["scales"][model]["offset"] != 9.0


def test_a_model_of_no_server_is_the_same_client_whatever_hosts_are_allowed(target):
    folder = SearchModel(task="embed", provider="folder", name="folder-model")

    assert spec_of(folder, ("one.example",)) == spec_of(folder, ())
    assert spec_of(target, ("one.example",)) != spec_of(target, ())


class TestEmbedSet(KindContract):
    @pytest.fixture(autouse=True)
    def _documents(self, owner, common, target, monkeypatch):
        self.owner, self.common, self.target = owner, common, target
        monkeypatch.setattr(embedder_fill, "BATCH", 2)
        ingest(owner, common, **TEXTS)

    def start(self):
        self.row = started(self.owner, self.common, self.target)
        return set_fill(self.row)

    def outcome(self, job):
        self.row.refresh_from_db()
        return self.row.state == State.READY, len(self.row.figures.get("scales", {})), SetVector.objects.count()

    def whole(self):
        return True, 1, len(TEXTS)


def test_a_model_of_a_set_shows_what_is_done_with_its_job(owner, common, target):
    ingest(owner, common, **TEXTS)
    row, root = started(owner, common, target), make_admin()
    states = []

    for act in (work_pause, work_resume, work_cancel):
        act(**who(root), job_id=set_fill(row).pk)
        row.refresh_from_db()
        states.append(row.state)

    assert states == [State.PAUSED, State.BUILDING, State.CANCELLED]
