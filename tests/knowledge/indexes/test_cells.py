"""Vectors in cells: made, filled, measured and made again by maintenance; nothing is lost on the way."""

from __future__ import annotations

import json

import numpy as np
import pytest
from django.db import connection

from knowledge.backends import ScopedVectorIndex
from knowledge.indexes import cell_search, rotations, search_space, vector_cells
from knowledge.indexes.cell_switch import VectorSet, division_add, former_drop, vectors_divide
from knowledge.indexes.search_space import EXACT_WORTH, SearchSpace, exact_plan, vector_plan
from knowledge.indexes.vector_cells import LEAST_CONTAINED, SPAN, CellFigures, cell_state, divisions_of
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document, IndexEntry, VectorCells, WholeVector
from knowledge.selectors import documents_askable
from knowledge.services import document_delete, maintenance
from knowledge.services import vector_cells as service
from ragcore.embedding.cells import Cells
from tests.factories import ingest, make_admin, make_set, question_with, scope_of

PASSAGES = 36
CHEAP = CellFigures(reach=12.0, contained=1.0, rows=5.0, wider=10.0, scanned=1.0, start=0.001, row=1e-4)
FIGURES = CellFigures(reach=3.0, contained=0.997, rows=15_000, wider=30_000, scanned=0.0007, start=0.5, row=0.001)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    memories = (search_space.counts, search_space.tails, search_space.indexed, rotations.states, vector_cells.states)
    for memory in memories:
        memory.clear()
    monkeypatch.setattr(service, "FIT_FROM", PASSAGES // 2)
    monkeypatch.setattr(service, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(service, "DIVIDE_BATCH", 15)


def owner_make():
    owner = make_admin()
    ingest(owner, make_set("common", owners=[owner]), **texts(range(PASSAGES)))
    return owner


@pytest.fixture
def owner(shared_rows, monkeypatch):
    monkeypatch.setattr(search_space, "EXACT_WORTH", 0.0)  # so few passages would always be compared one by one
    return shared_rows(owner_make)


def texts(numbers):
    subjects = ("beams", "antennas", "filters", "cakes", "apples", "rivers")
    return {f"d{n}": f"Report {n} about {subjects[n % 6]} and the losses of {subjects[n % 5]} {n}." for n in numbers}


def index_of(owner, sets=()):
    scope = scope_of(owner)
    visible = visible_sql(documents_askable(scope=scope, sets=sets))
    return ScopedVectorIndex(scope, visible, WholeVector.objects.values_list("embedding_model", flat=True)[0])


def vector_set(owner):
    return VectorSet(tenant_id=owner.tenant_id, name=WholeVector.objects.values_list("embedding_model", flat=True)[0])


def cells_are_cheap():
    """Searches look into cells, as far as it takes: the reach for the nearest hundred says nothing of so few."""
    for row in VectorCells.objects.exclude(measured=[]):
        row.measured = CHEAP.stored()
        row.save(update_fields=["measured"])
    vector_cells.states.clear()


def nearest(owner, question, limit):
    """Chunks by cosine, computed from the rows of live documents."""
    found = {}
    live = Document.objects.filter(deleted=None).values_list("live_version", flat=True)
    for row in WholeVector.objects.filter(tenant_id=owner.tenant_id, version_id__in=live):
        vector = np.array(row.vector, dtype=np.float32)
        found[row.chunk_id] = float(vector @ question / np.linalg.norm(vector) / np.linalg.norm(question))
    return sorted(found, key=lambda chunk: -found[chunk])[:limit]


def questions(count=5):
    random = np.random.default_rng(2)
    rows = list(WholeVector.objects.order_by("entry_id"))[:: PASSAGES // count]
    return [np.array(r.vector, np.float32) + 0.02 * random.standard_normal(768).astype(np.float32) for r in rows]


def cells_stored():
    return list(WholeVector.objects.order_by("entry_id").values_list("cell", flat=True))


# ── what maintenance does ─────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
def test_maintenance_divides_and_measures_and_searches_look_into_cells(owner):
    moved = service.cells_refresh()

    row = VectorCells.objects.get()
    assert moved == PASSAGES
    assert all(row.pk * SPAN <= cell < (row.pk + 1) * SPAN for cell in cells_stored())
    assert len(set(cells_stored())) > 1
    figures = CellFigures.of(row.measured)
    assert figures.contained >= LEAST_CONTAINED
    assert figures.scanned > 0
    assert figures.row > 0
    cells_are_cheap()
    assert service.cells_refresh() == 0  # what is done is not done again
    for question in questions():
        index = index_of(owner)
        hits = index.exact_many([question_with(question)], limit=8)[0]
        assert [hit.chunk for hit in hits] == nearest(owner, question, 8)
        assert index.said["vector_plan"]["way"] == "cells"
    assert index.is_exact()

    # new passages are in a cell and found at once
    made = ingest(owner, make_set("later", owners=[owner]), new="A late report about zeppelins and airships.")
    stored = WholeVector.objects.get(version_id=made["new"].live_version_id)
    assert stored.cell // SPAN == row.pk
    assert best(owner, stored).document == made["new"].pk

    # so is a vector that has no cell
    WholeVector.objects.filter(entry_id=stored.entry_id).update(cell=0)
    assert best(owner, stored).chunk == stored.chunk_id

    # deleted documents are not found, and as many others are
    document_delete(scope=scope_of(owner), actor=owner, document_id=made["new"].pk)
    hits = index_of(owner).exact_many([question_with(stored.vector)], limit=8)[0]
    assert [hit.chunk for hit in hits] == nearest(owner, np.array(stored.vector, np.float32), 8)


def best(owner, row):
    return index_of(owner).exact_many([question_with(row.vector)], limit=1)[0][0]


@pytest.mark.django_db(transaction=True)
def test_within_a_part_of_the_passages_the_nearest_of_that_part_are_found(owner):
    """The part is what is farthest from the question: the first look finds little of it."""
    service.cells_refresh()
    cells_are_cheap()
    for number, (question, share) in enumerate(zip(questions(3), (0.5, 0.3, 0.15), strict=False)):
        order = nearest(owner, question, PASSAGES)
        far = order[-int(share * PASSAGES) :]
        part = make_set(f"part{number}", owners=[owner])
        for document in Document.objects.filter(live_version__chunks__in=far):
            document.sets.add(part)

        index = index_of(owner, sets=(part.pk,))
        hits = index.exact_many([question_with(question)], limit=4)[0]

        assert [hit.chunk for hit in hits] == far[:4]
        assert index.said["vector_plan"]["way"] == "cells"


@pytest.mark.django_db(transaction=True)
def test_a_grown_corpus_gets_new_cells_and_nothing_is_lost_meanwhile(owner, monkeypatch):
    service.cells_refresh()
    monkeypatch.setattr(service, "FIT_AGAIN", 1)
    question = questions()[2]
    seen = []
    divide = service.vectors_divide

    def looked_at(vectors, division, **how):
        done = divide(vectors, division, **how)
        vector_cells.states.clear()
        state = cell_state(tenant_id=owner.tenant_id, name=vectors.name, epoch=len(seen))
        assert len(state.divisions) == 2
        index = index_of(owner)
        cells_are_cheap()
        seen.append([hit.chunk for hit in index.exact_many([question_with(question)], limit=8)[0]])
        seen.append(index.said["vector_plan"]["way"])
        return done

    monkeypatch.setattr(service, "vectors_divide", looked_at)
    before = VectorCells.objects.get().pk

    service.cells_refresh()

    row = VectorCells.objects.get()
    assert row.pk != before
    assert {cell // SPAN for cell in cells_stored()} == {row.pk}
    assert seen[::2] == [nearest(owner, question, 8)] * (len(seen) // 2)
    assert "cells" in seen[1::2]


@pytest.mark.django_db(transaction=True)
def test_an_interrupted_run_is_continued_and_cells_make_the_hnsw_index_needless(owner, monkeypatch):
    monkeypatch.setattr(maintenance, "MERGE_FROM", 5)
    with monkeypatch.context() as broken:
        broken.setattr(service, "_measured", lambda *_args, **_how: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception):
            service.cells_refresh()
    some = list(WholeVector.objects.order_by("entry_id").values_list("entry_id", flat=True)[:7])
    WholeVector.objects.filter(entry_id__in=some).update(cell=0)
    assert divisions_of(tenant_id=owner.tenant_id, name=vector_set(owner).name).figures is None

    assert service.cells_refresh() == 7
    assert VectorCells.objects.get().measured
    assert maintenance.vectors_merge() == 0
    assert not IndexEntry.objects.filter(merged=True).exists()

    # cells that hold too little are not used, and the HNSW index is
    row = VectorCells.objects.get()
    row.measured[1] = LEAST_CONTAINED - 0.01
    row.save()
    assert maintenance.vectors_merge() == PASSAGES
    index = index_of(owner)
    index.exact_many([question_with(questions()[0])], limit=3)
    assert "cells" not in index.said["vector_plan"]["costs"]


@pytest.mark.django_db
def test_a_former_division_stays_while_a_vector_is_in_it():
    owner = make_admin()
    ingest(owner, make_set("common", owners=[owner]), a="alpha beta")
    vectors = vector_set(owner)
    first, second = (
        division_add(
            vectors,
            Cells(np.eye(2, 768, dtype=np.float32), np.ones(2, np.float32), np.ones(2, np.int64)),
            projection=np.eye(768, 96, dtype=np.float32),
            passages=1,
        )
        for _ in range(2)
    )
    WholeVector.objects.update(cell=first * SPAN)

    assert not former_drop(vectors, newest=second)
    assert vectors_divide(vectors, second, after=0, limit=10).count == 1
    assert former_drop(vectors, newest=second)

    assert list(VectorCells.objects.values_list("pk", flat=True)) == [second]


@pytest.mark.django_db(transaction=True)
def test_a_tail_that_was_not_counted_to_its_end_counts_as_all(owner, monkeypatch):
    monkeypatch.setattr(search_space, "TAIL_LIMIT", PASSAGES // 3)

    def tail() -> int:
        search_space.tails.clear()
        scope = scope_of(owner)
        visible = visible_sql(documents_askable(scope=scope))
        return search_space.search_space_of(scope=scope, visible=visible, with_index=True).tail

    assert tail() == PASSAGES
    monkeypatch.setattr(search_space, "TAIL_LIMIT", 10 * PASSAGES)
    assert tail() == PASSAGES
    IndexEntry.objects.filter(pk__in=IndexEntry.objects.values_list("pk", flat=True)[:6]).update(merged=True)
    assert tail() == PASSAGES - 6


# ── the plan ──────────────────────────────────────────────────────────────────────────────────────


def space(total, share=1.0):
    visible = int(total * share)
    return SearchSpace(visible=visible, passages=visible, documents=max(visible // 10, 1), total=total)


@pytest.mark.parametrize(
    ("share", "way"), [(1.0, "cells"), (0.5, "cells"), (0.1, "documents"), (0.01, "documents"), (0.0001, "documents")]
)
def test_few_visible_passages_are_compared_and_many_looked_up_in_cells(share, way):
    dear = CellFigures.of([*FIGURES.stored()[:2], 60_000.0, 200_000.0, *FIGURES.stored()[4:]])

    assert vector_plan(space(300_000, share), cells=dear).path == way


def test_everything_is_compared_where_that_costs_hardly_more():
    cheap = exact_plan(space(300_000), limit=160, cells=FIGURES)
    dear = CellFigures.of([*FIGURES.stored()[:6], 0.02])

    assert cheap.path == "cells"
    assert EXACT_WORTH * cheap.costs["cells"] < cheap.costs["scan"]
    assert exact_plan(space(300_000), limit=160, cells=dear).path == "scan"


def test_the_hnsw_index_is_not_asked_where_there_are_cells():
    assert "index" not in vector_plan(space(300_000), cells=FIGURES).costs
    assert vector_plan(space(300_000)).path == "index"


def test_more_hits_need_more_vectors_up_to_all():
    assert FIGURES.compared(100, total=300_000) == FIGURES.rows
    assert FIGURES.compared(1000, total=300_000) == pytest.approx(FIGURES.wider)
    assert FIGURES.rows < FIGURES.compared(300, total=300_000) < FIGURES.wider
    assert FIGURES.compared(1e6, total=20_000) == 20_000


# ── EXPLAIN ───────────────────────────────────────────────────────────────────────────────────────


MANY = """
INSERT INTO knowledge_wholevector
    (entry_id, chunk_id, version_id, tenant_id, representation, embedding_model, vector, cell)
SELECT -n, -n, -n, v.tenant_id, v.representation, v.embedding_model, v.vector, n % 500
FROM (SELECT * FROM knowledge_wholevector LIMIT 1) v, generate_series(1, 20000) n
"""


@pytest.mark.django_db
def test_few_cells_are_read_by_their_index():
    owner = make_admin()
    ingest(owner, make_set("common", owners=[owner]), a="alpha beta")
    vector = rotations.vector_text(np.full(768, 0.03, np.float32))
    visible = visible_sql(documents_askable(scope=scope_of(owner)))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(MANY)
        cursor.execute("ANALYZE knowledge_wholevector")
        named = {
            "tenant": owner.tenant_id,
            "model": "m",
            "vector": vector,
            "cells": "{0,7,9}",
            "fetched": 9,
            "limit": 5,
        }
        cursor.execute(
            f"EXPLAIN (FORMAT JSON) {visible.applied(cell_search.CELLS)}",
            {**visible.params, **named},
        )
        plan = json.dumps(cursor.fetchone()[0])
        cursor.execute("DELETE FROM knowledge_wholevector WHERE entry_id < 0")

    assert "knowledge_whole_cell" in plan
