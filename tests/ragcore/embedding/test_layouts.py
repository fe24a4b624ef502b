"""The models of README as they are published: gte-multilingual-base in a folder, bge-m3 at a server.

Weights are tiny and random; files, code of their own and widths are those of the real ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from ragcore.client_registry import ClientSettings
from ragcore.embedding import EMBEDDERS
from ragcore.embedding.openai_api import OpenAIEmbedder
from ragcore.embedding.sentence_transformers import SentenceTransformersEmbedder
from ragcore.embedding.shortening import projection_fit
from ragcore.errors import EmbedderRefusedError
from tests.contracts.embedder import TEXTS, EmbedderContract
from tests.scripted_llm import Reply, serving

MODELING = """
from transformers import BertConfig, BertModel


class NewConfig(BertConfig):
    model_type = "new"


class NewModel(BertModel):
    config_class = NewConfig
"""


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def gte_folder(folder: Path, *, hidden: int = 768, positions: int = 8192, pooling: str = "cls") -> str:
    """The layout of Alibaba-NLP/gte-multilingual-base: code in the folder, first token, normalised, 8,192 tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    characters = sorted(set("".join(TEXTS)) - {" "})
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *characters]
    backend = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))  # noqa: S106
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",  # noqa: S106
        cls_token="<s>", sep_token="</s>", mask_token="<mask>", model_max_length=positions,  # noqa: S106
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words), hidden_size=hidden, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=positions, pad_token_id=1,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    auto = {"AutoConfig": "modeling.NewConfig", "AutoModel": "modeling.NewModel"}
    own = {"model_type": "new", "architectures": ["NewModel"], "auto_map": auto}
    write_json(folder / "config.json", {**written, **own})
    (folder / "modeling.py").write_text(MODELING, encoding="utf-8")
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    write_json(
        folder / "modules.json",
        [
            {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for at, (path, kind) in enumerate(kinds)
        ],
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 8192, "do_lower_case": False})
    modes = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "mean_sqrt_len_tokens": "sqrt"}
    write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": hidden, **{f"pooling_mode_{key}": name == pooling for key, name in modes.items()}},
    )
    (folder / "2_Normalize").mkdir()
    return str(folder)


@pytest.fixture(scope="module")
def gte(tmp_path_factory):
    return gte_folder(tmp_path_factory.mktemp("gte"))


@pytest.fixture(scope="module")
def embedder(gte):
    return SentenceTransformersEmbedder(gte, "cpu", trust_remote_code=True)


@pytest.mark.full
class TestGteFolder(EmbedderContract):
    def test_its_code_runs_only_where_that_is_allowed(self, gte):
        plain = EMBEDDERS.create(f"sentence_transformers:{gte}", ClientSettings())

        with pytest.raises(EmbedderRefusedError, match="EMBEDDER_TRUST_REMOTE_CODE"):
            plain.embed_queries(["x"])

    def test_settings_reach_the_model(self, gte, embedder):
        settings = ClientSettings(trust_remote_code=True, query_prefix="5G ", pooling="mean", max_tokens=200)
        other = EMBEDDERS.create(f"sentence_transformers:{gte}", settings)
        mean = SentenceTransformersEmbedder(gte, "cpu", trust_remote_code=True, pooling="mean")

        np.testing.assert_allclose(other.embed_queries(["text"]), mean.embed_documents(["5G text"]), atol=1e-5)
        assert np.abs(other.embed_documents(["text"]) - embedder.embed_documents(["text"])).max() > 1e-3

    def test_a_text_longer_than_the_model_reads_is_cut_and_not_fatal(self, tmp_path):
        short = SentenceTransformersEmbedder(gte_folder(tmp_path, positions=256), "cpu", trust_remote_code=True)

        whole, cut = short.embed_documents(["x" * 3000, "x" * 254])

        np.testing.assert_allclose(whole, cut, atol=1e-5)

    def test_a_model_that_reads_a_few_words_only_is_refused(self, tmp_path):
        tiny = SentenceTransformersEmbedder(gte_folder(tmp_path, positions=64), "cpu", trust_remote_code=True)

        with pytest.raises(EmbedderRefusedError, match="64 tokens"):
            tiny.warm()

    def test_a_pooling_that_does_not_exist_is_refused(self, gte):
        with pytest.raises(EmbedderRefusedError, match="no pooling 'some'"):
            SentenceTransformersEmbedder(gte, "cpu", trust_remote_code=True, pooling="some").warm()


# ── bge-m3 at a server ────────────────────────────────────────────────────────────────────────────

WIDE = 1024


def wide(texts: Sequence[str]) -> np.ndarray:
    """float32[n, 1024] as of a model that is no Matryoshka: what tells texts apart is spread over 300 directions."""
    mixing = np.linalg.qr(np.random.default_rng(1).normal(size=(WIDE, 300)))[0].T
    seeds = [np.random.default_rng(crc32(text.encode())).normal(size=300) for text in texts]
    return np.asarray(np.array(seeds) * np.linspace(2, 0.2, 300) @ mixing, dtype=np.float32)


@pytest.fixture
def server():
    with serving() as scripted:
        scripted.respond = lambda asked: Reply(vectors=tuple(map(tuple, wide(asked.body["input"]).tolist())))
        yield scripted


def test_a_server_of_bge_m3_is_not_cut_but_projected(server):
    settings = ClientSettings(base_url=server.url, api_key="k")
    with pytest.raises(EmbedderRefusedError, match="1024 dimensions"):
        EMBEDDERS.create("openai:bge-m3", settings).embed_queries(["a"])

    raw = EMBEDDERS.create("openai:bge-m3", settings)
    texts = [f"text {number}" for number in range(600)]
    fitted = projection_fit(raw.whole_vectors(texts), model="bge-m3")
    embedder = OpenAIEmbedder(server.url, "k", "bge-m3", shorten=fitted.apply)

    whole, short = wide(texts[:50]), embedder.embed_documents(texts[:50])
    unit = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    assert short.shape == (50, 768)
    np.testing.assert_allclose(short @ short.T, unit @ unit.T, atol=0.01)
    prefix = short[:, :384] / np.linalg.norm(short[:, :384], axis=1, keepdims=True)
    np.testing.assert_allclose(prefix @ prefix.T, unit @ unit.T, atol=0.02)
