import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.near_duplicates import BANDS, bands, shingles, similarity, sketch

VOCABULARY = ["alpha", "beta", "gamma", "delta", "cell", "slice", "5g", "随机", "接入", "网络", "切片", "过程"]

words = st.sampled_from(VOCABULARY)
texts = st.lists(words, min_size=1, max_size=80).map(" ".join)
TOLERANCE = 4.5 * 0.5 / np.sqrt(128)  # standard errors of the estimate


def jaccard(a: str, b: str) -> float:
    one, other = set(shingles(a).tolist()), set(shingles(b).tolist())
    return len(one & other) / len(one | other)


@given(texts)
def test_identical_texts_are_alike_in_every_position(text):
    assert similarity(sketch(text), sketch(text)) == 1.0
    assert sketch(text).shape == (128,)
    assert sketch(text).dtype == np.uint32


@given(texts, texts)
def test_the_estimate_is_near_the_jaccard_similarity_of_the_shingles(a, b):
    assert similarity(sketch(a), sketch(b)) == pytest.approx(jaccard(a, b), abs=TOLERANCE)


@given(st.lists(st.sampled_from(["alpha", "Beta", "5G", "网络", "切片"]), min_size=1, max_size=30))
def test_case_spacing_and_punctuation_do_not_matter(parts):
    plain = sketch(" ".join(parts))

    assert (sketch("  ,\n\t".join(part.upper() for part in parts) + "!") == plain).all()
    assert (sketch("。 ".join(parts)) == plain).all()
    assert (sketch(" ".join(parts).translate({ord("5"): "５", ord("G"): "Ｇ"})) == plain).all()


def test_the_shingles_of_short_texts_are_counted_by_hand():
    assert len(shingles("one two three four")) == 4  # three words from each; the last two runs are shorter
    assert len(shingles("一二三四五六")) == 6
    assert len(shingles("a a a a a a")) == 3  # the same run several times is one
    assert len(shingles("")) == len(shingles(" .,。!")) == 0


def test_the_order_of_words_matters():
    assert similarity(sketch("one two three four five six"), sketch("six five four three two one")) < 0.3


def test_a_changed_sentence_in_a_long_text_leaves_it_a_near_duplicate():
    sentences = [f"Sentence number {n} speaks of {n * 7} cells and {n * 13} slices." for n in range(100)]
    changed = [*sentences[:50], "Something else stands here now.", *sentences[51:]]

    a, b = sketch(" ".join(sentences)), sketch(" ".join(changed))

    assert similarity(a, b) > 0.9
    assert set(bands(a)) & set(bands(b))


def test_bands_are_signed_64_bit_numbers_that_unlike_texts_do_not_share():
    a, b = bands(sketch("the quick brown fox jumps over")), bands(sketch("随机接入过程和网络切片"))

    assert len(a) == BANDS
    assert all(-(2**63) <= number < 2**63 for number in a)
    assert min(a) < 0 < max(a)
    assert not set(a) & set(b)


def test_equal_rows_in_different_bands_are_different_numbers():
    assert len(set(bands(np.ones(128, np.uint32)))) == BANDS


def test_a_text_without_letters_has_no_band():
    assert bands(sketch("… — !")) == ()


def test_long_texts_are_read_in_parts_without_a_trace():
    words = [f"word{n}" for n in range(30_000)]

    text = " ".join(words)

    assert len(text) > 3 * 65_536
    assert len(shingles(text)) == len(words)


def test_stored_sketches_stay_valid():
    """These numbers are in databases: a change of the hashing needs a new computation of every sketch."""
    assert sketch("Hello, World foo")[:3].tolist() == [675091698, 1511561820, 2621471667]
    assert sketch("随机接入过程")[:2].tolist() == [676268659, 163368043]
    assert bands(sketch("Hello, World foo"))[0] == 2415730515587608420


def test_another_process_computes_the_same():
    code = "from ragcore.text.near_duplicates import sketch; print(sketch('网络切片 and slices').tolist())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == str(sketch("网络切片 and slices").tolist())


def test_more_than_two_megabytes_a_second_are_read():
    text = " ".join(f"word{n % 5000} 随机接入过程" for n in range(90_000))
    start = time.process_time()

    sketch(text)

    assert len(text.encode()) / (time.process_time() - start) > 2_000_000


@given(st.text(max_size=50))
def test_any_text_has_a_sketch(text):
    assert sketch(text).shape == (128,)
