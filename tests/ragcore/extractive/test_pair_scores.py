"""Sentences that are read together with the question."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.pair_scores import MOST_READ, pair_scores
from ragcore.extractive.sentences import read_statements
from ragcore.text.request_cache import request_cache
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


class Reader:
    """Scores a sentence by the number in it, and notes what it has read."""

    model, dimensions, pair_space = "reader", 768, "numbers"

    def __init__(self):
        self.read = []

    def score_pairs(self, question, sentences):
        self.read += [(question, one.head, one.text) for one in sentences]
        return np.array([float(one.text.split()[-1].rstrip(".")) for one in sentences], np.float32)


def statements(numbers):
    text = "\n\n".join(f"The pump number is {number}." for number in numbers)
    return read_statements([source(1, text, title="Pumps")], TOKENIZER)


@pytest.fixture
def reader():
    return Reader()


def test_the_likeliest_sentences_are_read_and_no_others(reader):
    found = statements(range(20))
    likely = np.arange(20, dtype=np.float32)

    scores = pair_scores("which pump", found, likely, reader)

    assert len(reader.read) == MOST_READ
    assert np.isnan(scores[: 20 - MOST_READ]).all()
    assert scores[20 - MOST_READ :].tolist() == list(range(20 - MOST_READ, 20))
    assert reader.read[0][1] == "Pumps"


def test_a_sentence_is_read_once_an_answer(reader):
    found = statements(range(4))

    with request_cache():
        for part in (found, found[1:3], found[::-1]):
            pair_scores("which pump", part, np.zeros(len(part), np.float32), CachingEmbedder(reader))

    assert len(reader.read) == len(found)


def test_without_such_a_model_or_sentences_nothing_is_read(reader):
    assert pair_scores("which pump", [], np.zeros(0, np.float32), reader) is None
    assert pair_scores("which pump", statements(range(2)), np.zeros(2, np.float32), None) is None
    assert pair_scores("which pump", statements(range(2)), np.zeros(2, np.float32), object()) is None
