"""The short form of `make bench-switch`: a model saved and loaded in the layout of sentence-transformers."""

import json

import pytest

from bench.switch.measure import measure
from knowledge import model_registry
from knowledge.model_setup import setup_forget

WORDS = ("antenna", "battery", "carrier", "downlink", "encoder", "filter", "gateway", "handover")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_nobody_who_asks_notices_a_change_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.switch.measure.LEAST_SECONDS", 0.2)
    folder = tmp_path / "tiny_set"
    folder.mkdir()
    documents = [{"id": word, "text": f"The {word} unit is checked by the {word} crew."} for word in WORDS]
    questions = [{"id": f"q-{word}", "text": f"Who checks the {word} unit?"} for word in WORDS]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    (folder / "qrels.tsv").write_text("".join(f"q-{word}\t{word}\t1\n" for word in WORDS))

    try:
        figures = measure([folder], size=100, questions=8)
    finally:
        setup_forget()
        model_registry.embedder_of.cache_clear()

    assert figures["questions_asked"] > 8
    assert (figures["failed"], figures["answers_below_both_models"]) == (0, 0)
    assert (figures["complete_at_switch"], figures["late_documents"]) == (True, 20)
    assert figures["recall10_alone"]["vector"] == [1.0, 1.0]
