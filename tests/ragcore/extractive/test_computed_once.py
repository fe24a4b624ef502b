import numpy as np
import pytest

from ragcore.extractive.sentence_model import compute_sentence_features
from ragcore.extractive.sentences import read_statements
from ragcore.text.request_cache import request_cache
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
SOURCES = [
    source(1, "The cabinet is opened with key B7. It stands in room 4. Do not open it alone."),
    source(2, "机柜用B7钥匙打开。它在四号房间。", title="机柜"),
]


class Counted:
    """A tokenizer that says how often it was asked."""

    def __init__(self):
        self.times = 0

    def terms(self, text):
        self.times += 1
        return TOKENIZER.terms(text)

    def words(self, text):
        self.times += 1
        return TOKENIZER.words(text)


def test_sentences_and_their_evidence_are_made_once_an_answer():
    tokenizer = Counted()
    with request_cache():
        first = compute_sentence_features(
            "Which key opens the cabinet?", read_statements(SOURCES, tokenizer), tokenizer
        )
        asked = tokenizer.times
        again = compute_sentence_features(
            "Which key opens the cabinet?", read_statements(tuple(SOURCES), tokenizer), tokenizer
        )

    assert asked > 0
    assert tokenizer.times == asked
    assert first.statements == again.statements
    assert np.array_equal(first.matrix, again.matrix)


@pytest.mark.parametrize("question", ["Which key opens the cabinet?", "机柜用什么钥匙打开？"])
def test_what_is_remembered_is_what_would_be_computed(question):
    with request_cache():
        remembered = [
            compute_sentence_features(question, read_statements(SOURCES, TOKENIZER), TOKENIZER) for _ in range(2)
        ][1]
    computed = compute_sentence_features(question, read_statements(SOURCES, TOKENIZER), TOKENIZER)

    assert remembered.statements == computed.statements
    assert np.array_equal(remembered.matrix, computed.matrix)


def test_other_sources_and_another_question_are_looked_at_anew():
    with request_cache():
        both = read_statements(SOURCES, TOKENIZER)
        assert len(read_statements(SOURCES[:1], TOKENIZER)) < len(both)
        one, other = (compute_sentence_features(q, both, TOKENIZER).matrix for q in ("Which key?", "Which room?"))

    assert not np.array_equal(one, other)


def test_who_changes_the_numbers_changes_nobody_elses():
    with request_cache():
        found = read_statements(SOURCES, TOKENIZER)
        compute_sentence_features("Which key?", found, TOKENIZER).matrix[:] = 7
        assert compute_sentence_features("Which key?", found, TOKENIZER).matrix.max() < 7
