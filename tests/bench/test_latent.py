"""The short form of `make bench-latent`."""

import json

import pytest

from bench.latent.measure import measure_sets
from knowledge.services import latent_models


@pytest.mark.django_db(transaction=True)
def test_a_set_is_measured_without_and_with_domain_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", 3)
    folder = tmp_path / "tiny_set"
    folder.mkdir()
    texts = {"a": "The antenna has four ports.", "b": "The timer stops the repeat request.", "c": "Lamps are red."}
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "What stops the repeat request?"}) + "\n")
    (folder / "qrels.tsv").write_text("q\tb\t1\n")

    figures = measure_sets([folder], limit=5)["tiny_set"]

    assert figures["passages"] == 3
    assert figures["recall10_before"] == figures["recall10_after"] == 1.0
    assert figures["hybrid_ndcg_gain"] == [0.0, 0.0, 0.0]
