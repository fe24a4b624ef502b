"""A web process reads its word lists and tables before its first question, and touches nothing but memory for that."""

import pytest
from django.conf import settings
from django.db import connection

from chat.answering import rehearsal
from chat.answering.rehearsal import SAMPLES, rehearse, rehearse_searches
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.text import near_duplicates


def test_every_sample_is_answered_from_its_passages(monkeypatch):
    written = []
    blocks = ExtractiveGenerator.blocks

    def kept(self, request):
        written.append(blocks(self, request))
        return written[-1]

    monkeypatch.setattr(ExtractiveGenerator, "blocks", kept)

    rehearse()

    assert len(written) == len(SAMPLES)
    assert all("10" in "".join(answer) and "[1]" in "".join(answer) for answer in written)


def test_tables_that_take_long_to_make_are_there_afterwards():
    near_duplicates._folded.cache_clear()

    rehearse()

    assert near_duplicates._folded.cache_info().currsize == 1


def test_no_database_is_asked(monkeypatch):
    """pytest-django refuses connections in a test that does not ask for the database."""
    rehearse()


def test_a_model_that_fails_is_an_error_of_the_rehearsal(monkeypatch):
    def broken():
        raise OSError("no model")

    monkeypatch.setattr(rehearsal.model_registry, "embedder", broken)

    with pytest.raises(OSError, match="no model"):
        rehearse()


@pytest.mark.django_db(transaction=True)
def test_searches_are_rehearsed_on_a_connection_of_each_thread_and_find_nothing(monkeypatch):
    found, backends = [], []
    retrieve = rehearsal.retrieve

    def counted(**given):
        result = retrieve(**given)
        found.append((given["scope"], len(result.state.candidates)))
        backends.append(connection.connection.info.backend_pid)
        return result

    monkeypatch.setattr(rehearsal, "retrieve", counted)

    rehearse_searches()

    assert set(found) == {(rehearsal.NOBODY, 0)}
    assert len(found) == settings.DATABASE_THREADS * len(SAMPLES)
    assert len(set(backends)) == settings.DATABASE_THREADS


@pytest.mark.django_db(transaction=True)
def test_a_search_that_fails_is_an_error_of_the_rehearsal(monkeypatch):
    def broken(**given):
        raise OSError("no database")

    monkeypatch.setattr(rehearsal, "retrieve", broken)

    with pytest.raises(OSError, match="no database"):
        rehearse_searches()
