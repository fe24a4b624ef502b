import pytest

from ragcore.ports import RerankInput
from ragcore.reranking.linear import LinearReranker
from ragcore.text.source_code import fence_source
from ragcore.types import Passage
from tests.contracts.reranker import QUESTION, RerankerContract, given


@pytest.fixture(scope="module")
def reranker():
    return LinearReranker.shipped()


class TestLinearReranker(RerankerContract):
    def test_a_passage_that_says_it_comes_before_one_that_does_not(self, reranker):
        candidates = given(["The base station is down at noon. 基站断电", "Apples need forty minutes in the oven."])

        first, second = reranker.score(QUESTION, candidates)

        assert first.score > second.score

    def test_source_code_stands_in_the_order_of_fusion_on_the_places_that_it_gets_among_prose(self, reranker):
        code = ["x = 1", "def base_station_down():\n    return base_station.is_down", "y = 2"]
        texts = [fence_source(text, language="python", first=1, last=2) for text in code]
        candidates = [
            RerankInput(passage=Passage(chunk=n, document=n, version=1, text=text, title=""), arms={"fuse.rsf": fused})
            for n, (text, fused) in enumerate(zip(texts, (0.9, 0.5, 0.7), strict=True))
        ]

        first, second, third = (scored.score for scored in reranker.score(QUESTION, candidates))

        assert first >= third >= second
        assert first > second
