from pathlib import Path

import numpy as np
import pytest

from ragcore.embedding.sentence_transformers import SentenceTransformersEmbedder
from ragcore.embedding.shortening import Shortening
from ragcore.errors import EmbedderRefusedError
from tests.contracts.embedder import EmbedderContract
from tests.ragcore.embedding.bert_folders import bert_folder


@pytest.fixture(scope="module")
def save_bert(tmp_path_factory):
    """Writes a tiny BERT with random weights that reads single characters; its folder."""
    return lambda hidden: bert_folder(tmp_path_factory.mktemp(f"bert-{hidden}"), hidden=hidden)


@pytest.fixture(scope="module")
def embedder(save_bert):
    return SentenceTransformersEmbedder(save_bert(768), device="cpu")


@pytest.mark.full
class TestSentenceTransformersEmbedder(EmbedderContract):
    def test_prefixes_are_put_in_front_of_their_kind(self, embedder):
        prefixed = SentenceTransformersEmbedder(embedder.model, "cpu", query_prefix="x x ", document_prefix="5 ")
        assert prefixed.model != embedder.model  # their vectors cannot be compared

        np.testing.assert_allclose(prefixed.embed_queries(["text"]), embedder.embed_documents(["x x text"]), atol=1e-5)
        np.testing.assert_allclose(prefixed.embed_documents(["text"]), embedder.embed_queries(["5 text"]), atol=1e-5)

    def test_a_model_below_64_dimensions_is_refused_with_the_reason(self, save_bert):
        small = SentenceTransformersEmbedder(save_bert(32), device="cpu")

        with pytest.raises(EmbedderRefusedError, match="32 dimensions; at least 64 are needed"):
            small.warm()

    def test_zeros_follow_the_numbers_of_a_smaller_model(self, save_bert):
        vectors = SentenceTransformersEmbedder(save_bert(384), device="cpu").embed_queries(["text"])

        assert vectors.shape == (1, 768)
        assert np.linalg.norm(vectors[:, :384]) == pytest.approx(1, abs=1e-4)
        assert not vectors[:, 384:].any()

    def test_a_longer_vector_is_never_cut_by_itself(self, save_bert):
        folder = save_bert(800)
        cut = Shortening(dimensions=800)

        with pytest.raises(EmbedderRefusedError, match="nothing says how to shorten"):
            SentenceTransformersEmbedder(folder, device="cpu").embed_queries(["text"])
        vectors = SentenceTransformersEmbedder(folder, device="cpu", shorten=cut.apply).embed_queries(["text"])

        assert vectors.shape == (1, 768)
        assert np.linalg.norm(vectors) == pytest.approx(1, abs=1e-4)

    def test_a_folder_without_a_model_is_refused(self, tmp_path):
        with pytest.raises(EmbedderRefusedError, match="cannot be loaded"):
            SentenceTransformersEmbedder(str(tmp_path), device="cpu").warm()

    @pytest.mark.parametrize("weights", [b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", None])
    def test_damaged_weights_are_refused_with_the_reason(self, save_bert, weights):
        folder = Path(save_bert(64))
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:5000] if weights is None else weights)

        with pytest.raises(EmbedderRefusedError, match="cannot be loaded: .*header"):
            SentenceTransformersEmbedder(str(folder), device="cpu").warm()
