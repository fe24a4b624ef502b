"""Models of folders that another process holds: the same vectors, the same refusals (decision 046)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ragcore.embedding import sentence_model
from ragcore.embedding.sentence_model import KIND, QUESTION_TEXTS, ServedSentenceModel, load_sentences
from ragcore.embedding.sentence_transformers import SentenceTransformersEmbedder
from ragcore.errors import EmbedderRefusedError, ModelUnavailableError
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import MAX_REQUEST_BYTES, MAX_REQUEST_TEXTS
from tests.contracts.embedder import TEXTS, EmbedderContract
from tests.ragcore.embedding.bert_folders import bert_folder
from tests.ragcore.model_process.letters import serving

ODD_TEXTS = ("", " ", "x" * 10_000, "断" * 10_000, "\0", "\ud800", *TEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert_folder(tmp_path_factory.mktemp("bert"), hidden=768)


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A model process in threads of this one."""
    path = tmp_path_factory.mktemp("socket") / "models.sock"
    with serving(path, **{KIND: load_sentences}):
        yield ModelProcess(path)


@pytest.fixture(scope="module")
def embedder(folder, process):
    return SentenceTransformersEmbedder(folder, process=process)


class Requests:
    """In the place of a process: notes how requests are made, and fails each."""

    def __init__(self):
        self.noted = []

    def ask(self, request, *, seconds):
        self.noted.append((request.is_urgent, seconds, len(request.texts)))
        raise ModelUnavailableError("process_silent", model="m", problem="not there")


@pytest.mark.full
class TestServedEmbedder(EmbedderContract):
    def test_vectors_are_those_of_a_model_in_this_process(self, embedder, folder):
        own = SentenceTransformersEmbedder(folder, device="cpu")

        assert embedder.model == own.model
        for kind in ("embed_documents", "embed_queries"):
            here, there = getattr(own, kind)(ODD_TEXTS[:4]), getattr(embedder, kind)(ODD_TEXTS[:4])
            assert (here * there).sum(axis=1).min() > 0.99999

    def test_empty_and_long_texts_have_vectors(self, embedder):
        assert np.isfinite(embedder.embed_documents(ODD_TEXTS[:5])).all()

    def test_more_texts_than_a_request_takes_are_embedded_in_order(self, embedder):
        texts = [f"{number} station" for number in range(MAX_REQUEST_TEXTS + 5)]

        vectors = embedder.embed_documents(texts)

        np.testing.assert_allclose(vectors[-1:], embedder.embed_documents(texts[-1:]), atol=1e-4)

    def test_whole_vectors_are_as_the_model_gives_them(self, process, tmp_path):
        wide = SentenceTransformersEmbedder(bert_folder(tmp_path, hidden=800), process=process)

        assert wide.whole_vectors(TEXTS).shape == (len(TEXTS), 800)
        with pytest.raises(EmbedderRefusedError, match="nothing says how to shorten"):
            wide.embed_queries(["text"])

    def test_models_of_different_options_are_held_side_by_side(self, embedder, folder, process):
        first_token = SentenceTransformersEmbedder(folder, process=process, pooling="cls")

        assert not np.allclose(first_token.embed_queries(["text"]), embedder.embed_queries(["text"]), atol=1e-3)

    def test_a_text_that_no_request_takes_is_refused(self, embedder):
        with pytest.raises(EmbedderRefusedError, match="too large"):
            embedder.embed_documents(["断" * MAX_REQUEST_BYTES])


def test_a_damaged_folder_is_refused_and_used_once_it_is_mended(process, folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    weights = copy / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:5000])
    embedder = SentenceTransformersEmbedder(str(copy), process=process)

    with pytest.raises(EmbedderRefusedError, match=r"cannot be loaded: .*header"):
        embedder.warm()
    weights.write_bytes(whole)

    embedder.warm()


def test_a_folder_that_is_removed_is_refused_where_it_is_not_loaded(process, folder, tmp_path):
    loaded, other = (Path(shutil.copytree(folder, tmp_path / name)) for name in ("loaded", "other"))
    embedder = SentenceTransformersEmbedder(str(loaded), process=process)
    embedder.warm()

    shutil.rmtree(loaded)
    shutil.rmtree(other)

    assert embedder.embed_queries(["text"]).shape == (1, 768)
    with pytest.raises(EmbedderRefusedError, match="cannot be loaded"):
        SentenceTransformersEmbedder(str(other), process=process).warm()


@pytest.mark.parametrize(
    ("count", "are_questions", "noted"),
    [
        (1, True, (True, sentence_model.QUESTION_SECONDS, 1)),
        (QUESTION_TEXTS + 1, True, (False, sentence_model.BATCH_SECONDS, QUESTION_TEXTS + 1)),
        (1, False, (False, sentence_model.BATCH_SECONDS, 1)),
    ],
)
def test_a_few_questions_come_first_and_wait_for_seconds_only(count, are_questions, noted):
    requests = Requests()

    with pytest.raises(ModelUnavailableError):
        ServedSentenceModel(requests, "m").encode(["text"] * count, are_questions=are_questions)

    assert requests.noted == [noted]
