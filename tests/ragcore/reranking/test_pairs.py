"""Known scores are not computed again, and a model that failed is left alone for a while."""

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.ports import RerankInput
from ragcore.reranking.pairs import PairReranker, pair_text
from ragcore.types import Passage, Query


class ByLength:
    """Scores a text by its length and remembers what it was asked."""

    cliff, low = 0.8, 0.0

    def __init__(self, name="by length", *, fails=0):
        self.name = self.scores_name = name
        self.fails, self.asked = fails, []

    def scores(self, question, texts):
        self.asked.append((question, list(texts)))
        if self.fails:
            self.fails -= 1
            raise ModelUnavailableError("reranker_failed", problem="out of order")
        return [float(len(text)) for text in texts]


class Kept:
    """A ScoreCache in a dictionary."""

    def __init__(self):
        self.scores = {}

    def get(self, question, texts):
        return [self.scores.get((question, text)) for text in texts]

    def put(self, question, scores):
        self.scores |= {(question, text): score for text, score in scores.items()}


def passage(chunk, text, **fields):
    return Passage(chunk=chunk, document=chunk, version=1, text=text, **{"title": "", **fields})


def ask(reranker, *texts, question="q"):
    candidates = [RerankInput(passage=passage(n, text), arms={}) for n, text in enumerate(texts)]
    return [scored.score for scored in reranker.score(Query(text=question, terms=()), candidates)]


def test_only_what_is_new_is_computed():
    scorer = ByLength()
    reranker = PairReranker(scorer, Kept())

    assert ask(reranker, "a", "bb") == [1, 2]
    assert ask(reranker, "bb", "ccc", "a") == [2, 3, 1]

    assert [texts for _, texts in scorer.asked] == [["a", "bb"], ["ccc"]]


def test_the_same_text_in_two_documents_is_computed_once():
    scorer = ByLength()

    assert ask(PairReranker(scorer), "same", "same") == [4, 4]
    assert scorer.asked == [("q", ["same"])]


def test_scores_are_those_of_one_question_and_one_model():
    kept, first, second = Kept(), ByLength("one"), ByLength("two")
    ask(PairReranker(first, kept), "a")

    ask(PairReranker(first, kept), "a", question="another")
    ask(PairReranker(second, kept), "a")

    assert (len(first.asked), len(second.asked)) == (2, 1)


def test_a_model_that_failed_is_left_alone_and_then_asked_again():
    now = [100.0]
    scorer = ByLength(fails=1)
    reranker = PairReranker(scorer, rest_seconds=60, clock=lambda: now[0])

    for moment in (100.0, 159.0):
        now[0] = moment
        with pytest.raises(ModelUnavailableError, match="out of order"):
            ask(reranker, "a")
    assert len(scorer.asked) == 1

    now[0] = 160.0
    assert ask(reranker, "a") == [1]


def test_what_is_known_is_given_while_the_model_rests():
    scorer = ByLength()
    reranker = PairReranker(scorer, Kept())
    ask(reranker, "a")
    scorer.fails = 1
    with pytest.raises(ModelUnavailableError):
        ask(reranker, "new")

    assert ask(reranker, "a") == [1]


def test_a_failure_leaves_nothing_in_the_cache():
    kept = Kept()

    with pytest.raises(ModelUnavailableError):
        ask(PairReranker(ByLength(fails=1), kept), "a")

    assert kept.scores == {}


def test_the_model_reads_title_and_headings_once_each():
    text = pair_text(passage(1, "It lasts 4 h.", title="Battery", heading_path=("Battery", "Runtime")))

    assert text == "Battery › Runtime\nIt lasts 4 h."
