import math
import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.e5_weights import E5Weights
from ragcore.embedding.unigram import SPACE, UnigramTokenizer, unigram_save
from tests.ragcore.embedding.e5_file import E5File

PIECES = {
    SPACE: -3.0,
    "▁a": -2.0,
    "a": -2.5,
    "ab": -2.6,
    "▁aba": -6.5,
    "b": -4.0,
    "bab": -5.0,
    "随机": -4.0,
    "随": -5.0,
    "机": -5.0,
}
FIRST = 4  # id of the first piece, after the markers
UNKNOWN, UNKNOWN_SCORE = 3, -16.5
REPLACEMENTS = {ord("\t"): " ", ord("ａ"): "a", ord("㈱"): "ab b", 0x200B: " ", 0x7F: ""}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unigram")
    unigram_save(E5Weights(E5File(PIECES, REPLACEMENTS).write(folder / "weights.bin")).vocabulary, folder)
    return UnigramTokenizer(folder)


def best_score(word: str) -> float:
    """Of all ways to cut a word into pieces and unknown characters, by definition."""

    @cache
    def best(at: int) -> float:
        if at == len(word):
            return 0.0
        ways = [(UNKNOWN_SCORE, at + 1)]
        ways += [(score, at + len(piece)) for piece, score in PIECES.items() if word.startswith(piece, at)]
        return max(score + best(end) for score, end in ways)

    return best(0)


@given(st.lists(st.text("ab随机x", min_size=1, max_size=12), max_size=6))
def test_every_word_is_cut_into_its_most_probable_pieces(tokenizer, words):
    names = list(PIECES)
    expected = math.fsum(best_score(SPACE + word) for word in words)

    ids = [tokenizer.encode(word, 100) for word in words]

    unknown = sum(word.count("x") for word in words) * UNKNOWN_SCORE
    assert math.isclose(
        sum(PIECES[names[i - FIRST]] for one in ids for i in one if i != UNKNOWN) + unknown, expected, abs_tol=1e-4
    )
    joined = ["".join(names[i - FIRST] if i != UNKNOWN else "x" for i in one).removeprefix(SPACE) for one in ids]
    assert [one.replace("x", "") for one in joined] == [word.replace("x", "") for word in words]
    assert tokenizer.encode(" ".join(words), 100) == [i for one in ids for i in one]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  a\t ab ", "a ab"),
        ("ａ㈱", "aab b"),
        ("a\u200bb", "a b"),
        ("a\x7fb", "ab"),
        ("\ud800a", "?a"),
        ("xxx a", "y a"),
        ("<s> </s>", "x x"),
    ],
)
def test_texts_are_normalised_first(tokenizer, text, same):
    assert tokenizer.encode(text, 100) == tokenizer.encode(same, 100)


@pytest.mark.parametrize("text", ["", "   ", "\t\u200b"])
def test_an_empty_text_has_no_ids(tokenizer, text):
    assert tokenizer.encode(text, 10) == []


def test_only_the_beginning_of_a_text_counts(tokenizer):
    begin = time.process_time()

    ids = tokenizer.encode("随机" * 500_000, 50)

    assert ids == tokenizer.encode("随机" * 60, 50)
    assert len(ids) == 50
    assert time.process_time() - begin < 2


def test_a_word_of_one_piece_has_its_probability(tokenizer):
    assert tokenizer.log_probability("aba") == pytest.approx(-6.5)
    assert tokenizer.log_probability("a") == pytest.approx(-2.0)
    assert tokenizer.log_probability("随机") is None  # the mark of a space is a piece of its own
    assert tokenizer.log_probability("x") is None
    assert tokenizer.log_probability("") is None
