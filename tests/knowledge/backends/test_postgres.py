"""Searching in Postgres."""

import pytest

from tests.contracts.search_index import SearchIndexContract

pytestmark = pytest.mark.django_db


class TestPostgres(SearchIndexContract):
    @pytest.fixture
    def index(self, postgres_index):
        return postgres_index
