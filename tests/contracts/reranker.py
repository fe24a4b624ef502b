"""What every Reranker must do. Subclass as TestX with a fixture `reranker`; pair models as PairRerankerContract."""

from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from random import Random

import pytest

from ragcore.ports import Reranker, RerankInput
from ragcore.types import Passage, Query

QUESTION = Query(
    text="When is the base station down? 基站何时断电",
    terms=("base", "station", "down", "基站", "断电"),
    words=("when", "is", "the", "base", "station", "down", "基站", "何时", "断电"),
    weights={"base": 1.0, "station": 1.5, "down": 2.0, "基站": 2.0, "断电": 3.0},
    cjk_share=0.3,
)
TEXTS = [
    "The base station is down.",
    "基站已断电，请检查电源。",
    "",
    "mixed 5G 核心网 text " * 800,
    "x",
    "The base station is down at night. " * 3,
]


def given(texts=TEXTS):
    return [
        RerankInput(
            passage=Passage(chunk=n, document=n, version=1, text=text, title="Handbook"),
            arms={"lexical": 5.0 - n / 2, "dense": 0.5, "coarse": 0.4},
        )
        for n, text in enumerate(texts)
    ]


def scores(reranker: Reranker, candidates):
    return [scored.score for scored in reranker.score(QUESTION, candidates)]


class RerankerContract:
    def test_it_has_a_name_and_says_what_a_cliff_is(self, reranker):
        assert reranker.name
        assert reranker.cliff > 0

    def test_every_candidate_gets_one_number_long_and_empty_ones_too(self, reranker):
        found = scores(reranker, given())

        assert len(found) == len(TEXTS)
        assert all(isfinite(score) for score in found)

    def test_no_candidates_give_no_scores(self, reranker):
        assert reranker.score(QUESTION, []) == []

    def test_the_same_question_gets_the_same_scores(self, reranker):
        assert scores(reranker, given()) == pytest.approx(scores(reranker, given()), abs=1e-5)

    def test_the_order_of_the_candidates_does_not_matter(self, reranker):
        straight = given()
        mixed = Random(5).sample(straight, len(straight))

        expected = dict(zip((c.passage.chunk for c in straight), scores(reranker, straight), strict=True))

        found = dict(zip((c.passage.chunk for c in mixed), scores(reranker, mixed), strict=True))
        assert found == pytest.approx(expected, abs=1e-4)

    def test_threads_get_what_one_thread_gets(self, reranker):
        expected = scores(reranker, given())

        with ThreadPoolExecutor(4) as pool:
            parallel = list(pool.map(lambda _: scores(reranker, given()), range(6)))

        for found in parallel:
            assert found == pytest.approx(expected, abs=1e-4)


class PairRerankerContract(RerankerContract):
    def test_a_passage_is_scored_by_itself(self, reranker):
        together = scores(reranker, given())

        alone = [scores(reranker, [candidate])[0] for candidate in given()]

        assert alone == pytest.approx(together, abs=1e-4)

    def test_its_scores_have_an_absolute_measure(self, reranker):
        assert isfinite(reranker.low)
