"""Which reranker orders, by configuration."""

import pytest

from knowledge import model_registry
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from tests.factories import ingest, scope_of
from tests.ragcore.reranking.cross_encoders import save_cross_encoder
from tests.ragcore.reranking.scripted_reranker import Reply, serving


@pytest.fixture(autouse=True)
def fresh_engines():
    model_registry.reranker_of.cache_clear()
    yield
    model_registry.reranker_of.cache_clear()


@pytest.fixture
def server(settings):
    with serving() as scripted:
        settings.RERANKER, settings.RERANKER_URL, settings.RERANKER_API_KEY = "http", scripted.url, "key-7"
        yield scripted


@pytest.fixture
def ask(owner, common, redis_client):
    ingest(owner, common, rach="Random access begins with a preamble.", ca="Aggregation combines random carriers.")

    def ask(query="How does random access begin?"):
        state = retrieve(scope=scope_of(owner), request=RetrievalRequest(query=query)).state
        record = next(r for r in state.records if r.stage == "rerank")
        return state, record

    return ask


def test_the_linear_one_is_the_default_and_needs_no_second():
    assert model_registry.reranker().name == "linear"
    assert model_registry.second_reranker() is None


def test_none_is_none(settings):
    settings.RERANKER = "none"

    assert model_registry.reranker() is None
    assert model_registry.second_reranker() is None


@pytest.mark.django_db
def test_a_server_orders_and_is_asked_once_for_the_same_question(server, ask):
    state, record = ask()
    again, _ = ask()

    assert record.note["reranker"] == "http"
    assert len(server.requests) == 1
    assert server.requests[0].authorization == "Bearer key-7"
    assert [c.scores["rerank"] for c in state.candidates] == [c.scores["rerank"] for c in again.candidates]


@pytest.mark.django_db
@pytest.mark.parametrize("reply", [Reply(body=b"I would rank them so:"), Reply(status=401)])
def test_where_the_server_fails_the_linear_one_orders_and_the_record_says_so(server, ask, reply):
    server.default = reply

    state, record = ask()

    assert record.error is None
    assert record.note == {"reranker": "linear", "instead_of": "http", "error": "reranker_refused"}
    assert state.candidates[0].passage.external_id == "rach"


@pytest.mark.full
@pytest.mark.django_db
def test_a_model_that_cannot_be_loaded_does_not_stop_the_search(settings, ask, tmp_path):
    settings.RERANKER = f"cross_encoder:{tmp_path}"

    _, record = ask()

    assert record.note["reranker"] == "linear"
    assert record.note["error"] == "reranker_refused"


@pytest.mark.full
@pytest.mark.django_db
def test_a_cross_encoder_orders(settings, ask, tmp_path):
    model = save_cross_encoder(tmp_path)
    settings.RERANKER, settings.RERANKER_BATCH = f"cross_encoder:{model}", 1

    state, record = ask()

    assert record.note["reranker"] == f"cross_encoder:{model}"
    scores = [c.scores["rerank"] for c in state.candidates]
    assert scores == sorted(scores, reverse=True)
    assert state.scale.cliff == 0.8


@pytest.mark.django_db
def test_a_reranker_that_is_away_does_not_stop_the_start(settings, caplog):
    settings.RERANKER, settings.RERANKER_URL, settings.RERANKER_SECONDS = "http", "http://127.0.0.1:9", 0.1

    model_registry.warm()

    assert "is not ready" in caplog.text
