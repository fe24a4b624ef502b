import numpy as np
import pytest

from ragcore.text.matching import cosine, cosine_matrix, jaccard, keywords, overlap
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


def test_keywords_are_topic_words_each_once():
    assert keywords("What is the handover of a handover request?", TOKENIZER) == ["handov", "request"]
    assert keywords("什么是网络切片", TOKENIZER) == ["网络", "切片"]


def test_overlap_is_the_share_of_wanted_keywords():
    assert overlap("handover failure", "The handover took place.", TOKENIZER) == 0.5
    assert overlap("the", "a cell", TOKENIZER) == 0.0
    assert overlap("", "text", TOKENIZER) == 0.0


def test_cosine_of_zero_is_zero():
    zero, one = np.zeros(2, np.float32), np.array([3, 4], np.float32)

    assert cosine(zero, one) == 0.0
    assert cosine(one, 2 * one) == pytest.approx(1.0)
    assert cosine_matrix(np.stack([zero, one]), np.stack([one])).tolist() == [[0.0], [pytest.approx(1.0)]]


def test_jaccard_of_known_sets():
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert jaccard(set(), set()) == 0.0
