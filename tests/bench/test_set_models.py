"""The short form of `make bench-set-models`, with a small model in the layout of sentence-transformers."""

import pytest

from bench.set_models.measure import measure_sets
from bench.switch.corpus import model_save, words_of
from knowledge import model_registry
from knowledge.model_setup import setup_forget
from tests.bench.small_sets import set_of_words


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_set_is_asked_with_the_sites_model_with_its_own_and_with_both(tmp_path):
    folder = tmp_path / "tiny_set"
    texts = set_of_words(folder)
    model = model_save(tmp_path / "model", words_of(texts))

    try:
        figures = measure_sets([folder], model=str(model), limit=5)["tiny_set"]
    finally:
        setup_forget()
        model_registry.embedder_of.cache_clear()

    assert figures["questions"] == 5
    assert figures["recall10"] == {"site": 1.0, "alone": 1.0, "together": 1.0}
    assert set(figures["recall10_gain"]) == set(figures["hybrid_gain"]) == {"alone", "together"}
    assert figures["vectors_seconds"] > 0
