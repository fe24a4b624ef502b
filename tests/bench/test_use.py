"""The short form of `make bench-use`."""

import json

import pytest

from bench.use.measure import measure_sets
from feedback import ranking_from_use

TEXTS = {
    "a": "The antenna of the base station has four ports.",
    "b": "The timer stops the repeat request.",
    "c": "The repeat request has a timer of its own in each port.",
    "d": "Lamps are red.",
}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_simulated_people_use_a_set_and_it_is_measured_without_and_with(tmp_path, monkeypatch):
    monkeypatch.setattr(ranking_from_use, "ENOUGH_ANSWERS", 1)
    folder = tmp_path / "tiny_set"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in TEXTS.items()))
    asked = {"q": "What stops the repeat request?", "r": "How many ports has the antenna?"}
    (folder / "queries.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in asked.items()))
    (folder / "qrels.tsv").write_text("q\tb\t1\nr\ta\t1\n")

    figures = measure_sets([folder], limit=2)["tiny_set"]

    assert figures["people_who_judge"]["questions"] == [1, 1]
    assert figures["people_who_judge"]["answers"] > 0
    assert figures["people_who_judge"]["asked"]["ndcg10_off"] > 0.5
    assert set(figures) == {"people_who_judge", "people_who_do_not"}
