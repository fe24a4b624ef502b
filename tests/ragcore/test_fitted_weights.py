"""What is bound to the name of an embedding model: weights and limits that were fitted to its cosines."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragcore
from chat.answering import similar_questions
from feedback import ranking_from_use
from knowledge.model_registry import floor_of_model
from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.embedding.rotation import PACKAGED
from ragcore.fitted_weights import NEUTRAL, fitted_weights
from ragcore.reranking.linear import LinearReranker

MINILM, E5 = EmbeddedEmbedder.model, MultilingualEmbedder.model
FILES = {
    MINILM: {"answerability/meaning_weights", "grounding/support_meaning", "reranking/linear_reranker"},
    E5: {
        "answerability/confidence",
        "answerability/meaning_weights",
        "answerability/nearness",
        "answerability/pair_weights",
        "extractive/sentence_meaning",
        "grounding/support_meaning",
        "reranking/linear_reranker",
    },
}


def test_every_file_with_the_name_of_a_model_is_one_of_these() -> None:
    root = Path(ragcore.__file__).parent
    found = {model: set[str]() for model in FILES}
    for path in root.rglob("*.embedded-*.json"):
        name, model = str(path.relative_to(root)).removesuffix(".json").split(".")
        found[model].add(name)

    assert found == FILES


@pytest.mark.parametrize("floors", [similar_questions.FLOORS, ranking_from_use.FLOORS])
def test_limits_by_name_are_of_packaged_models(floors: dict[str, float]) -> None:
    assert set(floors) == {MINILM, E5}


def test_the_default_of_min_cosine_comes_with_the_model() -> None:
    assert floor_of_model(MultilingualEmbedder(Path())) == MultilingualEmbedder.floor
    assert floor_of_model(EmbeddedEmbedder(Path())) is None


def test_rotations_are_of_the_model_that_they_were_fitted_to() -> None:
    assert set(PACKAGED) == {MINILM}


def test_a_model_without_weights_gets_the_neutral_ones() -> None:
    assert LinearReranker.shipped("of somebody else") == LinearReranker.shipped(NEUTRAL)
    assert LinearReranker.shipped(E5) != LinearReranker.shipped(NEUTRAL)
    assert fitted_weights("ragcore.answerability", "meaning_weights.json", "of somebody else") is None
    assert fitted_weights("ragcore.answerability", "meaning_weights.json", "") is None
