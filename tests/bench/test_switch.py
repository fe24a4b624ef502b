"""The short form of `make bench-switch`: a model saved and loaded in the layout of sentence-transformers."""

import pytest

from bench.switch.measure import measure
from knowledge import model_registry
from knowledge.model_setup import setup_forget
from tests.bench.small_sets import set_of_words


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_nobody_who_asks_notices_a_change_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.switch.measure.LEAST_SECONDS", 0.2)
    folder = tmp_path / "tiny_set"
    set_of_words(folder)

    try:
        figures = measure([folder], size=100, questions=8)
    finally:
        setup_forget()
        model_registry.embedder_of.cache_clear()

    assert figures["questions_asked"] > 8
    assert (figures["failed"], figures["answers_below_both_models"]) == (0, 0)
    assert (figures["complete_at_switch"], figures["late_documents"]) == (True, 20)
    assert figures["recall10_alone"]["vector"] == [1.0, 1.0]
