from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.token_count import VOCABULARY_FILE, EstimateCounter, TiktokenCounter, counter

COUNTER = EstimateCounter()

# Counted once with the cl100k vocabulary.
KNOWN = [
    ("The base station hands the connection over to the neighbouring cell.", 12),
    ("网络切片在同一物理基础设施上提供多个逻辑网络。", 25),
]


@pytest.mark.parametrize(("text", "exact"), KNOWN)
def test_the_estimate_is_not_below_the_model_and_not_wasteful(text, exact):
    assert exact <= COUNTER.count(text) <= 1.7 * exact


@given(st.text(), st.integers(min_value=0, max_value=60))
def test_truncated_text_is_a_prefix_within_the_limit(text, limit):
    cut = COUNTER.truncate(text, limit)

    assert text.startswith(cut)
    assert COUNTER.count(cut) <= limit or cut == text == ""


@given(st.text(), st.text())
def test_more_text_never_costs_less(text, more):
    assert COUNTER.count(text + more) >= COUNTER.count(text) - 1  # a trailing space joins the word behind it


def test_text_within_the_limit_is_left_alone():
    assert COUNTER.truncate("Two words. ", 100) == "Two words. "


def test_truncation_prefers_the_end_of_a_sentence_and_then_of_a_word():
    sentence = "The cell on the roof is on again. The next sentence is cut off somewhere."

    assert COUNTER.truncate(sentence, COUNTER.count("The cell on the roof is on again. The")) == sentence[:33]
    assert COUNTER.truncate("one two three four five six seven", 4) == "one two three four"


def test_without_a_vocabulary_file_the_estimate_is_used(tmp_path):
    assert isinstance(counter(None), EstimateCounter)
    assert isinstance(counter(tmp_path), EstimateCounter)


def test_a_forged_vocabulary_is_not_trusted(tmp_path: Path):
    (tmp_path / VOCABULARY_FILE).write_bytes(b"YQ== 0\n")

    assert isinstance(counter(tmp_path), EstimateCounter)


def test_the_exact_counter_cuts_at_a_prefix_within_the_limit():
    import base64

    vocabulary = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
    counter = TiktokenCounter(vocabulary)  # one token a byte

    assert counter.count("ab 网") == 6
    assert counter.truncate("ab 网络", 8) == "ab 网"
    assert counter.truncate("<|endoftext|>", 100) == "<|endoftext|>"
