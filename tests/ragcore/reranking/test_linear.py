import pytest

from ragcore.reranking.linear import LinearReranker
from tests.contracts.reranker import QUESTION, RerankerContract, given


@pytest.fixture(scope="module")
def reranker():
    return LinearReranker.shipped()


class TestLinearReranker(RerankerContract):
    def test_a_passage_that_says_it_comes_before_one_that_does_not(self, reranker):
        candidates = given(["The base station is down at noon. 基站断电", "Apples need forty minutes in the oven."])

        first, second = reranker.score(QUESTION, candidates)

        assert first.score > second.score
