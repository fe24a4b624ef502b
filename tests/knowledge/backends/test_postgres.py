"""Searching in Postgres."""

import numpy as np
import pytest

from accounts.models import Tenant
from knowledge.indexes import search_space
from knowledge.indexes.cell_switch import (
    VectorSet,
    division_add,
    figures_store,
    set_batches,
    set_sample,
    vectors_divide,
)
from knowledge.indexes.rotations import coarse_vectors, rotation_for_new
from knowledge.indexes.vector_cells import CellFigures
from knowledge.models import VectorCells, WholeVector
from ragcore.embedding.cells import CellTally, cells_fit
from tests.contracts.search_index import SearchIndexContract, corpus_make, live_entries, prefix
from tests.factories import question_with

pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=corpus_make)]


class TestPostgres(SearchIndexContract):
    @pytest.fixture
    def index(self, postgres_index):
        return postgres_index

    def shortened(self, tenant_id):
        """Not at all: so few passages are compared as a whole (decision 020)."""
        return prefix(768)

    def prefix_of(self, tenant_id):
        """By the rotation that comes with the embedder (decision 018)."""
        model = live_entries(tenant_id)[0].embedding_model
        rotation = rotation_for_new(tenant_id=tenant_id, model=model)
        assert rotation == -1
        return lambda vector: coarse_vectors(vector[None], rotation=rotation, model=model)[0]


FAR = CellFigures(reach=12.0, contained=1.0, rows=2.0, wider=4.0, scanned=1.0, start=0.001, row=1e-4)


class InCells:
    """The same index after maintenance has divided the vectors of every tenant; comparing all of them is dear."""

    def __init__(self, index):
        self.index = index

    def __getattr__(self, name):
        return getattr(self.index, name)

    def settle(self):
        self.index.settle()
        for tenant in Tenant.objects.all():
            for name in (
                WholeVector.objects.filter(tenant_id=tenant.pk).values_list("embedding_model", flat=True).distinct()
            ):
                divide(VectorSet(tenant_id=tenant.pk, name=name))


def divide(vectors):
    """As `cells_refresh` does it, inside of the transaction of a test."""
    sample = set_sample(vectors, limit=1000)
    centres, projection = cells_fit(sample, count=3)
    tally = CellTally.of(centres)
    division = division_add(vectors, tally.cells(), projection=projection, passages=len(sample))
    vectors_divide(vectors, division, after=0, limit=1000)
    VectorCells.objects.filter(tenant_id=vectors.tenant_id, name=vectors.name).exclude(pk=division).delete()
    for cells, batch in set_batches(vectors, division, size=1000):
        tally.add(batch, cells)
    figures_store(vectors, division, cells=tally.cells(), figures=FAR, passages=len(sample))


# only the search by vectors goes another way than in `TestPostgres`
IN_BOTH_FORMS = """
test_searches_look_into_cells
test_the_nearest_vectors_are_those_of_an_exact_search
test_a_deleted_document_is_not_found_even_before_the_backend_knows
test_random_people_find_exactly_what_they_may
"""


@pytest.mark.full(but_for=IN_BOTH_FORMS)
class TestPostgresInCells(TestPostgres):
    @pytest.fixture
    def index(self, postgres_index, monkeypatch):
        monkeypatch.setattr(search_space, "EXACT_WORTH", 0.0)  # so few passages would always be compared one by one
        return InCells(postgres_index)

    @pytest.mark.usefixtures("corpus")
    def test_searches_look_into_cells(self, index, owner):
        ports = index.ports(owner)

        hits = ports.vectors.exact_many([question_with(np.ones(768))], limit=2)[0]

        assert len(hits) == 2
        assert ports.vectors.said["vector_plan"]["way"] == "cells"
