"""A site whose embedding model is held by the model process: what happens while that is away."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from django.utils import timezone

from knowledge import model_registry
from knowledge.models import Document, EmbedderFit, IngestItem
from knowledge.services import ingestion_advance, retrieve
from knowledge.types import RetrievalRequest
from ragcore.embedding import sentence_model
from ragcore.errors import ModelUnavailableError
from tests.factories import ingest, scope_of
from tests.knowledge.uploads import upload
from tests.ragcore.model_process.letters import serving

pytestmark = pytest.mark.django_db


class HashedWords:
    """Implements ServedModel: a random direction for each word."""

    batch = 0

    def compute(self, question, texts):
        return np.array([sum(map(direction, f"{text} end".split())) for text in texts], np.float32)


def direction(word: str) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(word.lower().encode())).standard_normal(384)


@pytest.fixture
def process(settings, tmp_path, db):
    """Starts the process at the socket of the settings, as often as it is called; the model is measured already."""
    EmbedderFit.objects.create(model="hashed-words", dimensions=384, trust_latin=1.0, trust_cjk=1.0)
    path = tmp_path / "models.sock"
    settings.EMBEDDER, settings.MODEL_SOCKET = "sentence_transformers:hashed-words", path
    model_registry.embedder_of.cache_clear()
    yield lambda: serving(path, **{sentence_model.KIND: lambda source, **options: HashedWords()})
    model_registry.embedder_of.cache_clear()


def test_a_document_waits_for_the_process_and_goes_live_when_it_is_back(process, owner, common, monkeypatch):
    uploaded = upload(owner, common)

    with monkeypatch.context() as patch:
        patch.setattr(sentence_model, "BATCH_SECONDS", 0.04)
        ingestion_advance(job_id=uploaded.job.pk)

    item = IngestItem.objects.get(job=uploaded.job)
    assert item.finished is None
    assert (item.error_code, item.not_before > timezone.now()) == ("model_unavailable", True)
    IngestItem.objects.update(not_before=timezone.now())
    with process():
        ingestion_advance(job_id=uploaded.job.pk)
    assert Document.objects.get(pk=uploaded.document.pk).state == "live"


def test_a_question_fails_soon_while_the_process_is_away_and_not_any_more_when_it_is_back(
    process, owner, common, monkeypatch
):
    request = RetrievalRequest(query="How does random access begin?")
    with process():
        ingest(owner, common, rach="Random access begins with a preamble.", ca="Aggregation combines carriers.")
        model_registry.warm()
    with monkeypatch.context() as patch:
        patch.setattr(sentence_model, "QUESTION_SECONDS", 0.04)
        with pytest.raises(ModelUnavailableError, match="does not answer"):  # 503 with Retry-After, by the API
            retrieve(scope=scope_of(owner), request=request)

    with process():
        state = retrieve(scope=scope_of(owner), request=request).state

    assert state.candidates[0].passage.external_id == "rach"
    assert "dense" in state.arms
