"""Searching in Postgres."""

import pytest

from knowledge.indexes.rotations import coarse_vectors, rotation_for_new
from tests.contracts.search_index import SearchIndexContract, live_entries, prefix

pytestmark = pytest.mark.django_db


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
