"""The two halves of BM25."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.indexes.lexical import (
    K1,
    B,
    document_side,
    length_norm,
    query_side,
    rarest_within,
    sparse_parse,
    sparse_text,
    term_frequency,
)


def test_the_inner_product_is_bm25():
    document = document_side({1: 3, 2: 1}, length=10, average_length=8)
    query = query_side([1, 2, 9], frequencies={1: 2, 2: 5}, entries={1: 10, 2: 10})

    score = sum(weight * document.get(term, 0.0) for term, weight in query.items())

    norm = K1 * (1 - B + B * 10 / 8)
    expected = log(1 + 8.5 / 2.5) * 3 * (K1 + 1) / (3 + norm) + log(1 + 5.5 / 5.5) * 1 * (K1 + 1) / (1 + norm)
    assert score == pytest.approx(expected)


@given(tf=st.integers(1, 500), length=st.integers(1, 3000), average=st.floats(1, 2000))
def test_frequencies_can_be_read_back_from_stored_weights(tf, length, average):
    stored = sparse_parse(sparse_text(document_side({7: tf}, length=length, average_length=average)))

    recovered = term_frequency(stored[7], length_norm(length=length, average_length=average))

    assert abs(recovered - tf) <= tf * 0.02


def test_a_repeated_query_term_counts_twice():
    once = query_side([1], frequencies={1: 2}, entries={1: 10})
    twice = query_side([1, 1], frequencies={1: 2}, entries={1: 10})

    assert twice[1] == pytest.approx(2 * once[1])


@given(st.dictionaries(st.integers(1, 99), st.integers(1, 1000), min_size=1, max_size=20), st.integers(1, 5000))
def test_rare_terms_come_first_and_stay_under_the_cap(frequencies, cap):
    chosen = rarest_within(frequencies, cap=cap)

    assert chosen
    assert len(chosen) == 1 or sum(frequencies[t] for t in chosen) <= cap
    left_out = set(frequencies) - set(chosen)
    assert all(frequencies[t] >= max(frequencies[c] for c in chosen) for t in left_out)
