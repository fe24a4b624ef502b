"""Reranking by a server."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import ModelUnavailableError, RerankerRefusedError
from ragcore.reranking.http_api import HttpPairScorer, logit
from ragcore.reranking.pairs import PairReranker
from tests.contracts.reranker import PairRerankerContract
from tests.ragcore.reranking.scripted_reranker import Reply, probability, serving
from tests.ragcore.reranking.test_pairs import Kept, ask


@pytest.fixture
def server():
    with serving() as scripted:
        yield scripted


@pytest.fixture
def scorer(server, waits):
    scorer = HttpPairScorer(server.url, "key-3", batch=3, sleep=waits.append)
    yield scorer
    scorer.close()


class TestHttpReranker(PairRerankerContract):
    @pytest.fixture
    def reranker(self, scorer):
        return PairReranker(scorer)


class TestHttpRerankerOfTheOtherProtocol(PairRerankerContract):
    @pytest.fixture
    def reranker(self, server):
        return PairReranker(HttpPairScorer(server.url, model="jina-reranker"))


def test_texts_are_sent_in_batches_with_the_key_and_come_back_in_order(scorer, server):
    texts = ["alpha", "beta", "gamma", "delta"]

    found = scorer.scores("q", texts)

    assert found == pytest.approx([probability(text) * 10 - 5 for text in texts])
    assert [request.body["texts"] for request in server.requests] == [texts[:3], texts[3:]]
    assert {request.path for request in server.requests} == {"/rerank"}
    assert server.requests[0].body["raw_scores"] is True
    assert server.requests[0].authorization == "Bearer key-3"


def test_an_address_that_names_the_path_is_used_as_it_is(server):
    HttpPairScorer(f"{server.url}/v1/rerank", model="m").scores("q", ["a"])

    assert server.requests[0].path == "/v1/rerank"
    assert server.requests[0].body["model"] == "m"
    assert server.requests[0].body["documents"] == ["a"]


def test_scores_of_one_server_or_model_are_not_those_of_another(server):
    kept = Kept()
    with serving() as other:
        scorers = [HttpPairScorer(server.url), HttpPairScorer(other.url), HttpPairScorer(other.url, model="m")]
        for scorer in (*scorers, HttpPairScorer(other.url + "/")):  # the last one is the second one
            ask(PairReranker(scorer, kept), "a")

        assert [scorer.name for scorer in scorers] == ["http", "http", "http:m"]
        assert (len(server.requests), len(other.requests)) == (1, 2)


def test_a_refusal_has_the_words_of_the_server_without_the_key(scorer, server):
    server.default = Reply(status=404, body=b"no model for key-3")

    with pytest.raises(RerankerRefusedError) as refused:
        scorer.scores("q", ["a"])

    assert refused.value.data["detail"] == "no model for …"


def test_probabilities_become_logits(server):
    found = HttpPairScorer(server.url, model="m").scores("q", ["abc"])

    p = probability("abc")
    assert found == [pytest.approx(math.log(p / (1 - p)))]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again(scorer, server, waits, status):
    # the first time on the kept connection, which counts as none: the request goes out at once over a fresh one
    server.script(Reply(status=status), Reply(hangs_up=True), Reply(hangs_up=True))

    assert len(scorer.scores("q", ["a"])) == 1
    assert waits == [0.2, 0.6]


def test_after_two_repetitions_it_gives_up(scorer, server, waits):
    server.default = Reply(status=503)

    with pytest.raises(ModelUnavailableError, match="503"):
        scorer.scores("q", ["a"])

    assert len(server.requests) == 3


def test_nothing_is_repeated_beyond_the_time_of_the_question(server, waits):
    server.default = Reply(status=503)

    with pytest.raises(ModelUnavailableError):
        HttpPairScorer(server.url, budget_seconds=0.15, sleep=waits.append).scores("q", ["a"])

    assert waits == []


@pytest.mark.parametrize("reply", [Reply(hangs=True), Reply(drips=True)])
def test_a_server_that_does_not_end_is_given_up_in_time(server, reply, waits):
    server.default = reply

    with pytest.raises(ModelUnavailableError):
        HttpPairScorer(server.url, budget_seconds=0.2, sleep=waits.append).scores("q", ["a"])

    assert len(server.requests) == 1


def test_nobody_there_is_unavailable(waits):
    with pytest.raises(ModelUnavailableError, match="ConnectError"):
        HttpPairScorer("http://127.0.0.1:9", sleep=waits.append).scores("q", ["a"])


@pytest.mark.parametrize(
    "body",
    [
        b"The first text is the best.",
        b'[{"index": 0, "score": 1.5}, {"index": 1, "sc',
        b"[]",
        b"{}",
        b"null",
        b"3",
        b'[{"index": 0, "score": 1.0}]',
        b'[{"index": 0, "score": 1.0}, {"index": 0, "score": 2.0}]',
        b'[{"index": 0, "score": 1.0}, {"index": 2, "score": 2.0}]',
        b'[{"index": 0, "score": 1.0}, {"index": 1, "score": 2.0}, {"index": 2, "score": 2.0}]',
        b'[{"index": 0, "score": NaN}, {"index": 1, "score": 2.0}]',
        b'[{"index": 0, "score": Infinity}, {"index": 1, "score": 2.0}]',
        b'[{"index": 0, "score": "1.0"}, {"index": 1, "score": 2.0}]',
        b'[{"index": 0, "score": true}, {"index": 1, "score": 2.0}]',
        b'[{"index": 0, "score": null}, {"index": 1, "score": 2.0}]',
        b'[{"index": "0", "score": 1.0}, {"index": 1, "score": 2.0}]',
        b'{"results": [{"index": 0, "relevance_score": 0.5}]}',
        b'{"results": "none"}',
        b"\xff\xfe",
    ],
)
def test_answers_that_are_not_a_number_for_every_text_are_refused_at_once(scorer, server, waits, body):
    server.script(Reply(body=body))

    with pytest.raises(RerankerRefusedError):
        scorer.scores("q", ["a", "b"])

    assert (len(server.requests), waits) == (1, [])


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413, 422])
def test_a_refusal_is_not_repeated(scorer, server, waits, status):
    server.default = Reply(status=status, body=b"no")

    with pytest.raises(RerankerRefusedError, match=str(status)):
        scorer.scores("q", ["a"])

    assert (len(server.requests), waits) == (1, [])


def test_an_answer_without_end_is_refused(scorer, server):
    server.script(Reply(body=b" " * (5 * 1024 * 1024)))

    with pytest.raises(RerankerRefusedError, match="does not end"):
        scorer.scores("q", ["a"])


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_logits_keep_the_order_of_scores(first, second):
    assert logit(first) <= logit(second) or first > second
