"""A web process reads its word lists and tables before its first question, and touches nothing but memory for that."""

import pytest

from chat.answering import rehearsal
from chat.answering.rehearsal import SAMPLES, rehearse
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
