"""The short form of `make bench`."""

import json

import pytest

from bench.retrieval import run

pytestmark = pytest.mark.django_db


def rows(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


@pytest.mark.full
def test_the_demo_sets_give_a_row_for_every_arm():
    table = rows(run(folders=[], limit=5))

    assert [row[1] for row in table] == ["BM25", "vectors", "fused", "fused and reranked"]
    assert float(table[-1][3]) >= 0.8  # recall@10 of the whole pipeline on the demo questions


def test_a_public_set_is_loaded_from_its_three_files(tmp_path):
    folder = tmp_path / "tiny_set"
    folder.mkdir()
    texts = {"a": "The backoff timer lasts 20 ms.", "b": "The antenna has four ports."}
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "How long is the backoff timer?"}) + "\n")
    (folder / "qrels.tsv").write_text("q\ta\t1\n")

    table = rows(run(folders=[folder], limit=5))

    assert table[-1][:3] == ["tiny_set", "fused and reranked", "1.000"]
