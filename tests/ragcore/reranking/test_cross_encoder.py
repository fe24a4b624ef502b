"""Cross-encoders on torch and on ONNX Runtime."""

import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from ragcore.errors import ModelUnavailableError, RerankerRefusedError
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import Answer
from ragcore.reranking.cross_encoder import KIND, CrossEncoderScorer, HeldPairs, ServedPairs
from ragcore.reranking.cross_encoder_export import export, quantised
from ragcore.reranking.pairs import PairReranker
from tests.contracts.reranker import QUESTION, TEXTS, PairRerankerContract
from tests.ragcore.model_process.letters import serving
from tests.ragcore.reranking.cross_encoders import save_cross_encoder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    export(model, folder)
    return str(folder)


@pytest.fixture(scope="module")
def torch_scorer(model):
    return CrossEncoderScorer(model)


@pytest.fixture(scope="module")
def onnx_scorer(exported):
    return CrossEncoderScorer(exported, backend="onnx")


class Counting:
    """A loaded model that scores a text by its length and remembers its batches."""

    batch = 3

    def __init__(self):
        self.batches = []

    def logits(self, question, texts):
        self.batches.append(list(texts))
        return [float(len(text)) for text in texts]


def scorer_with(model, **options):
    scorer = CrossEncoderScorer("made up", **options)
    scorer._loaded = model
    return scorer


@pytest.mark.full
class TestTorchCrossEncoder(PairRerankerContract):
    @pytest.fixture
    def reranker(self, torch_scorer):
        return PairReranker(torch_scorer)

    def test_scores_are_logits_of_the_model(self, torch_scorer, model):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(model)
        ranker = AutoModelForSequenceClassification.from_pretrained(model).eval()
        pairs = tokenizer([QUESTION.text] * 2, TEXTS[:2], padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            expected = ranker(**pairs).logits[:, 0].tolist()

        found = torch_scorer.scores(QUESTION.text, TEXTS[:2])

        assert found == pytest.approx(expected, abs=1e-4)
        assert max(found) > 1 or min(found) < 0  # no sigmoid

    def test_the_declared_cliff_is_that_of_logits(self, reranker):
        assert (reranker.cliff, reranker.low) == (0.8, 0.0)


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A model process in threads of this one."""
    path = tmp_path_factory.mktemp("socket") / "models.sock"
    with serving(path, **{KIND: HeldPairs}):
        yield ModelProcess(path)


@pytest.mark.full
class TestServedCrossEncoder(PairRerankerContract):
    @pytest.fixture
    def reranker(self, process, model):
        return PairReranker(CrossEncoderScorer(model, process=process))

    @pytest.mark.parametrize("backend", ["torch", "onnx"])
    def test_it_scores_as_in_this_process(self, process, model, exported, backend):
        folder = {"torch": model, "onnx": exported}[backend]
        here, there = (CrossEncoderScorer(folder, backend=backend, process=held) for held in (None, process))

        found = there.scores(QUESTION.text, TEXTS)

        np.testing.assert_allclose(found, here.scores(QUESTION.text, TEXTS), atol=1e-4)
        assert there.scores_name == here.scores_name  # stored scores go on to count

    def test_a_model_that_does_not_rank_is_refused_with_the_reason(self, process, tmp_path):
        with pytest.raises(RerankerRefusedError, match="without a head that ranks"):
            CrossEncoderScorer(save_cross_encoder(tmp_path, head=False), process=process).scores("q", ["a"])

    def test_a_process_that_is_away_costs_a_question_its_budget_at_most(self, tmp_path):
        away = CrossEncoderScorer("m", process=ModelProcess(tmp_path / "nobody"), budget_seconds=0.01)
        away._loaded = ServedPairs(Loaded(tmp_path / "nobody"), "m", seconds=0.01)

        with pytest.raises(ModelUnavailableError, match="does not answer"):
            away.scores("q", ["a"])


class Loaded(ModelProcess):
    """A process that was there to load, and is away since."""

    def load(self, model, **options):
        return Answer(np.zeros((0, 0), np.float32), batch=8)


class TestOnnxCrossEncoder(PairRerankerContract):
    @pytest.fixture
    def reranker(self, onnx_scorer):
        return PairReranker(onnx_scorer)

    def test_it_scores_as_torch_does(self, onnx_scorer, torch_scorer):
        found = onnx_scorer.scores(QUESTION.text, TEXTS)

        np.testing.assert_allclose(found, torch_scorer.scores(QUESTION.text, TEXTS), atol=1e-3)

    def test_several_pairs_at_a_time_score_the_same(self, onnx_scorer, exported):
        batched = CrossEncoderScorer(exported, backend="onnx", batch=4).scores(QUESTION.text, TEXTS)

        np.testing.assert_allclose(batched, onnx_scorer.scores(QUESTION.text, TEXTS), atol=1e-3)

    def test_it_needs_no_torch(self, exported):
        code = (
            "import sys; from ragcore.reranking.cross_encoder import CrossEncoderScorer\n"
            f"CrossEncoderScorer({exported!r}, backend='onnx').scores('q', ['a', 'b'])\n"
            "assert not {'torch', 'transformers'} & set(sys.modules)"
        )

        subprocess.run([sys.executable, "-c", code], check=True)


def test_batches_are_of_like_length_and_scores_keep_their_places():
    model = Counting()
    texts = ["a" * n for n in (1, 9, 2, 8, 3, 7, 4)]

    found = scorer_with(model).scores("q", texts)

    assert found == [1, 9, 2, 8, 3, 7, 4]
    assert [[len(text) for text in batch] for batch in model.batches] == [[9, 8, 7], [4, 3, 2], [1]]


def test_the_operator_sets_the_batch():
    model = Counting()

    scorer_with(model, batch=5).scores("q", ["a"] * 7)

    assert [len(batch) for batch in model.batches] == [5, 2]


def test_a_model_that_is_too_slow_is_given_up_between_batches():
    times = iter([0.0, 3.0, 6.0])
    model = Counting()

    with pytest.raises(ModelUnavailableError, match="too slow"):
        scorer_with(model, budget_seconds=5.0, clock=lambda: next(times)).scores("q", ["a"] * 9)

    assert len(model.batches) == 2


def test_a_model_out_of_memory_is_unavailable():
    class Full(Counting):
        def logits(self, question, texts):
            raise RuntimeError("CUDA out of memory")

    with pytest.raises(ModelUnavailableError, match="out of memory"):
        scorer_with(Full()).scores("q", ["a"])


def test_a_busy_model_is_not_waited_for_longer_than_allowed():
    entered, leave = Event(), Event()

    class Slow(Counting):
        def logits(self, question, texts):
            entered.set()
            leave.wait(30)
            return [0.0] * len(texts)

    scorer = scorer_with(Slow(), budget_seconds=0.05)
    first = Thread(target=scorer.scores, args=("q", ["a"]), daemon=True)
    first.start()
    assert entered.wait(30)

    with pytest.raises(ModelUnavailableError, match="busy"):
        scorer.scores("q", ["b"])

    leave.set()
    first.join(30)


def test_a_folder_without_a_model_is_refused_with_the_reason(tmp_path):
    with pytest.raises(RerankerRefusedError, match="cannot be loaded"):
        CrossEncoderScorer(str(tmp_path)).scores("q", ["a"])


def test_a_folder_without_an_exported_model_says_how_to_make_one(model):
    with pytest.raises(RerankerRefusedError, match="cross_encoder_export MODEL FOLDER"):
        CrossEncoderScorer(model, backend="onnx").scores("q", ["a"])


def test_a_model_without_a_trained_head_is_refused(tmp_path):
    with pytest.raises(RerankerRefusedError, match="without a head"):
        CrossEncoderScorer(save_cross_encoder(tmp_path, head=False)).scores("q", ["a"])


def test_a_classifier_is_refused(tmp_path):
    with pytest.raises(RerankerRefusedError, match="3 classes"):
        CrossEncoderScorer(save_cross_encoder(tmp_path, labels=3)).scores("q", ["a"])


def test_openvino_says_what_is_missing(model):
    with pytest.raises(RerankerRefusedError, match="optimum-intel"):
        CrossEncoderScorer(model, backend="openvino").scores("q", ["a"])


def test_a_damaged_export_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(RerankerRefusedError, match="cannot be loaded"):
        CrossEncoderScorer(str(tmp_path), backend="onnx").scores("q", ["a"])


def test_int8_weights_order_as_the_model_does(exported, torch_scorer, tmp_path):
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    quantised(Path(exported) / "onnx" / "model.onnx", tmp_path / "onnx" / "model.onnx")

    small = CrossEncoderScorer(str(tmp_path), backend="onnx").scores(QUESTION.text, TEXTS)

    assert np.corrcoef(small, torch_scorer.scores(QUESTION.text, TEXTS))[0, 1] > 0.98
