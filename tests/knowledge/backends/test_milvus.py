"""Searching in Milvus, by Milvus Lite."""

import pytest

from tests.contracts.search_index import SearchIndexContract, corpus_make

pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=corpus_make)]


class TestMilvus(SearchIndexContract):
    @pytest.fixture
    def index(self, milvus_index):
        return milvus_index
