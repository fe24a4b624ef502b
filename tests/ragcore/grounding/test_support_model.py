"""The model that tells supported from unsupported sentences."""

import json
from importlib.resources import files

import numpy as np
import pytest

from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.grounding import support_model
from ragcore.grounding.source_texts import SourceTexts
from ragcore.grounding.support_model import FEATURES, MEANING, MODEL_FILE, SupportFeatures, SupportModel, design


def test_the_file_says_how_it_was_trained_and_fits_the_features():
    record = json.loads((files("ragcore.grounding") / MODEL_FILE).read_text(encoding="utf-8"))

    assert record["features"] == list(FEATURES)
    assert len(record["words"]) == 2 * len(FEATURES) + 2
    for model in (EmbeddedEmbedder.model, MultilingualEmbedder.model):
        assert len(SupportModel.shipped(model).meaning) == 2 * len(MEANING) + 2
    assert record["training"].keys() >= {"date", "command", "sources", "sentences", "overlap_threshold"}


def test_the_cosine_adds_to_the_words_and_does_not_replace_them():
    weights = dict(zip(MEANING, SupportModel.shipped().meaning[1 : 1 + len(MEANING)], strict=True))

    assert weights["by_words"] == 1
    assert weights["cosine"] > 0


def test_weights_of_other_features_are_refused(monkeypatch):
    monkeypatch.setattr(support_model, "FEATURES", ("another",))
    support_model._shipped.cache_clear()

    with pytest.raises(ValueError, match="other features"):
        SupportModel.shipped()


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("The preamble is sent on PRACH with 64 sequences.", "The preamble is sent on PRACH with 128 sequences."),
        ("The preamble is sent on PRACH.", "The preamble is not sent on PRACH."),
        ("The random access procedure has four steps.", "The random access procedure has purple bananas."),
        ("载波聚合最多支持 32 个载波。", "载波聚合最多支持 64 个载波。"),
        ("载波聚合把多个载波合并使用。", "载波聚合不把多个载波合并使用。"),
    ],
)
def test_one_changed_fact_makes_a_sentence_less_likely(sources, tokenizer, better, worse):
    evidence = SupportFeatures(SourceTexts(sources, tokenizer))
    model = SupportModel.shipped()

    assert model.probability(evidence, better) > 0.5
    assert model.probability(evidence, worse) < model.probability(evidence, better)


def test_the_script_of_a_sentence_has_weights_of_its_own():
    rows = design(np.array([[2.0, 3.0], [2.0, 3.0]]), np.array([0.0, 0.5]))

    assert rows.tolist() == [[1, 2, 3, 0, 0, 0], [1, 2, 3, 0.5, 1, 1.5]]
