"""Searching in Milvus, by Milvus Lite."""

import pytest

from tests.contracts.search_index import SearchIndexContract

pytestmark = pytest.mark.django_db


class TestMilvus(SearchIndexContract):
    @pytest.fixture
    def index(self, milvus_index):
        return milvus_index
