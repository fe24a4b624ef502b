"""What every Embedder must do. Subclass as TestX with a fixture `embedder`."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ragcore.ports import Embedder

TEXTS = ["The base station is down.", "基站已断电，请检查电源。", "mixed 5G 核心网 text", "x"]


class EmbedderContract:
    def test_it_is_an_embedder_with_a_stable_name(self, embedder):
        assert isinstance(embedder, Embedder)
        assert embedder.model
        assert embedder.dimensions == 768

    def test_documents_and_queries_become_unit_rows(self, embedder):
        for vectors in (embedder.embed_documents(TEXTS), embedder.embed_queries(TEXTS)):
            assert vectors.shape == (len(TEXTS), 768)
            assert vectors.dtype == np.float32
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)

    def test_the_first_half_is_never_empty(self, embedder):
        assert np.linalg.norm(embedder.embed_documents(TEXTS)[:, :384], axis=1).min() > 0.01

    def test_no_texts_give_no_rows(self, embedder):
        assert embedder.embed_documents([]).shape == (0, 768)

    def test_a_text_has_the_same_vector_alone_and_among_others(self, embedder):
        together = embedder.embed_documents(TEXTS)

        alone = np.vstack([embedder.embed_documents([text]) for text in TEXTS])

        np.testing.assert_allclose(together, alone, atol=1e-3)

    def test_threads_get_what_one_thread_gets(self, embedder):
        with ThreadPoolExecutor(4) as pool:
            parallel = list(pool.map(embedder.embed_queries, [TEXTS] * 8))

        for vectors in parallel:
            np.testing.assert_allclose(vectors, embedder.embed_queries(TEXTS), atol=1e-4)

    def test_trust_is_a_share(self, embedder):
        assert all(0 <= embedder.trust(share) <= 1 for share in (0.0, 0.3, 1.0))
