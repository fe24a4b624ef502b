"""The short forms of `make bench-scale` and `make bench-churn`."""

from __future__ import annotations

import numpy as np
import pytest

from bench.scale.corpus import Pool, document_lengths, draft_made, pool_made, vectors_made
from knowledge import model_registry
from knowledge.models import Document, IndexEntry

SIZE = 60


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Pool:
    return pool_made(
        [],
        embedder=model_registry.embedder(),
        tokenizer=model_registry.tokenizer(),
        cache=tmp_path_factory.mktemp("vectors"),
        bases=12,
    )


def test_passages_are_the_same_whatever_the_size_of_the_corpus(pool):
    assert draft_made(pool, 7) == draft_made(pool, 7)
    assert draft_made(pool, 7) != draft_made(pool, 8)
    assert sum(document_lengths(500, documents=0)) == 500
    assert list(document_lengths(500, documents=0))[:20] == list(document_lengths(900, documents=0))[:20]


def test_vectors_are_near_to_their_base_text_in_both_halves(pool):
    drafts = [draft_made(pool, number) for number in range(40)]
    made = vectors_made(pool, drafts, first=0)
    base = pool.vectors[[draft.base for draft in drafts]]

    assert np.linalg.norm(made, axis=1) == pytest.approx(1, abs=1e-3)
    for half in (slice(0, 384), slice(384, 768)):
        near = np.sum(made[:, half] * base[:, half], axis=1)
        lengths = np.linalg.norm(made[:, half], axis=1) * np.linalg.norm(base[:, half], axis=1)
        assert near / lengths == pytest.approx(0.8, abs=0.05)


@pytest.mark.full
@pytest.mark.django_db
def test_a_small_corpus_is_loaded_measured_and_without_drift(tmp_path):
    from bench.scale.__main__ import run
    from knowledge.services.maintenance import index_check

    table = run(folders=[], sizes=[SIZE, 2 * SIZE], questions=4, cache=tmp_path, bases=12)

    assert IndexEntry.objects.count() == 2 * SIZE
    assert index_check() == []
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in table.splitlines() if line.startswith("| ")}
    assert [float(cell) for cell in rows["recall@100 of the vectors"]][0] == 1.0
    assert {"lexical", "vectors", "total", "50.00%", "0.01%", "vector index"} <= set(rows)
    assert all(float(cell) >= 0.99 for cell in rows["top 10 as bm25s"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.full
def test_documents_come_and_go_beside_a_reader(tmp_path, monkeypatch):
    from bench.scale import churn
    from knowledge.indexes import search_space
    from knowledge.services import maintenance

    for module, name in ((search_space, "NEAR_START"), (maintenance, "MERGE_FROM"), (maintenance, "BULK_FROM")):
        monkeypatch.setattr(module, name, getattr(module, name))  # what the benchmark sets is put back

    table = churn.run(folders=[], size=150, rounds=2, cache=tmp_path, bases=12)

    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) == 2
    assert all(float(row[3]) >= 0.95 and row[6] == "0" for row in rows)
    assert 100 <= Document.objects.filter(deleted=None).count() * 10 <= 400


@pytest.mark.django_db(transaction=True)
@pytest.mark.full
def test_vectors_alone_are_loaded_measured_and_found_loaded(tmp_path, monkeypatch):
    from bench.scale import vectors
    from knowledge.models import VectorCells
    from knowledge.services import vector_cells

    monkeypatch.setattr(vector_cells, "FIT_FROM", SIZE)
    how = {"folders": [], "questions": 4, "cache": tmp_path, "bases": 12}

    first = vectors.run(sizes=[2 * SIZE], **how)
    again = vectors.run(sizes=[2 * SIZE], **how)

    assert IndexEntry.objects.count() == 2 * SIZE
    assert VectorCells.objects.get().measured
    for table in (first, again):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        assert [row[0] for row in rows] == [str(2 * SIZE)] * 5
        assert all(float(row[3]) == 1.0 for row in rows)


def test_cells_of_generated_passages_hold_the_nearest(pool):
    from bench.scale.cells import batches, figures_of

    figures = figures_of(list(batches(pool, 900)), pool.vectors)

    assert figures.passages == 900
    assert np.mean(figures.recall) >= 0.98
    assert np.mean(figures.compared) < 1
    assert figures.as_row().startswith("| 900 | ")
