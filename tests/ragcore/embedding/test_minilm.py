import subprocess
import sys

import numpy as np
import pytest

from ragcore.embedding.minilm import EmbeddedEmbedder, MiniLm
from tests.contracts.embedder import EmbedderContract
from tests.kept_vectors import MINILM_RUN
from tests.services_plugin import models_folder


@pytest.fixture(autouse=True)
def vectors_are_computed_each_time(monkeypatch):
    monkeypatch.setattr(MiniLm, "_run", MINILM_RUN)


@pytest.fixture(scope="module")
def cache_dir():
    return models_folder()


@pytest.fixture(scope="module")
def embedder(cache_dir):
    return EmbeddedEmbedder(cache_dir)


def best(embedder, question, passages, columns=768):
    scores = embedder.embed_documents(passages)[:, :columns] @ embedder.embed_queries([question])[0, :columns]
    return passages[int(scores.argmax())]


@pytest.mark.full
class TestEmbeddedEmbedder(EmbedderContract):
    def test_english_is_matched_by_meaning(self, embedder):
        passages = ["The cat sleeps outdoors on the lawn.", "Invoices are paid within a month.", "He plays the guitar."]

        assert best(embedder, "a kitten resting in the garden", passages) == passages[0]

    @pytest.mark.parametrize("columns", [384, 768])
    def test_chinese_is_matched_by_its_characters_also_in_the_coarse_half(self, embedder, columns):
        passages = ["基站断电后应先检查电源模块。", "年假需要提前两周申请。", "網路切片把一張實體網路分成多張。"]

        assert best(embedder, "电源模块坏了怎么办", passages, columns) == passages[0]
        assert best(embedder, "什麼是網路切片", passages, columns) == passages[2]

    def test_vectors_do_not_depend_on_the_process(self, embedder, cache_dir):
        code = (
            "import sys; from pathlib import Path; from ragcore.embedding.minilm import EmbeddedEmbedder\n"
            "e = EmbeddedEmbedder(Path(sys.argv[1])); print(e.embed_queries(['5G 核心网 restart']).round(4).tolist())"
        )

        out = subprocess.run([sys.executable, "-c", code, str(cache_dir)], capture_output=True, text=True, check=True)

        theirs = np.array(eval(out.stdout))
        np.testing.assert_allclose(theirs, embedder.embed_queries(["5G 核心网 restart"]), atol=1e-3)

    def test_serving_does_not_import_torch(self, embedder, cache_dir):
        code = (
            "import sys; from pathlib import Path; from ragcore.embedding.minilm import EmbeddedEmbedder\n"
            "EmbeddedEmbedder(Path(sys.argv[1])).warm(); assert not {'torch', 'transformers'} & set(sys.modules)"
        )
        embedder.warm()

        subprocess.run([sys.executable, "-c", code, str(cache_dir)], check=True)

    def test_an_empty_text_has_a_vector(self, embedder):
        assert np.isfinite(embedder.embed_documents(["", "，。"])).all()

    def test_chinese_is_trusted_less_than_english(self, embedder):
        assert embedder.trust(0.0) > embedder.trust(0.5) > embedder.trust(1.0) > 0
