"""What does not fit is refused at the door."""

import pytest

from chat.concurrency.executors import run_db
from tests.chat.conftest import Api

GENERATE = "/api/v1/rag/generate"


def nested(levels):
    """A JSON object inside of itself."""
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "   "},
        {"query": "x" * 2001},
        {"query": 5},
        {"query": "a\x00b"},
        {"query": "a\ud800b"},
        {"query": "q", "unknown": 1},
        {"query": "q", "top_k": 0},
        {"query": "q", "top_k": 51},
        {"query": "q", "top_k": "5"},
        {"query": "q", "temperature": 2.1},
        {"query": "q", "max_tokens": 4097},
        {"query": "q", "mode": "genius"},
        {"query": "q", "style": "novel"},
        {"query": "q", "preset": "free"},
        {"query": "q", "conversation_id": ""},
        {"query": "q", "tenant_id": "x" * 65},
        {"query": "q", "sets": [0]},
        {"query": "q", "sets": [2**70]},
        {"query": "q", "filters": {"axis": "Z"}},
        {"query": "q", "filters": {"clearance": 4}},
        {"query": "q", "constraints": {"max_cost": 1}},
        {"query": "q", "rewrite_method": 5},
        {"query": "q", "rerank": "yes"},
        {"query": "q", "filters": {"metadata": {"a": "b\x00"}}},
        {"query": "q", "filters": {"metadata": {"a": "b" * 70_000}}},
        {"query": "q", "filters": {"metadata": {"a": float("nan")}}},
        {"query": "q", "filters": {"metadata": nested(25)}},
        {"query": "q", "filters": {"metadata": nested(400)}},
    ],
)
async def test_bad_values_and_unknown_fields_are_422(api, body):
    response = await api.post(GENERATE, body)

    assert response.status_code == 422, response.content
    assert response.json()["error"]["code"] == "invalid"


async def test_an_unknown_rewrite_method_counts_as_none(api):
    answer = await api.generate("What is a handover?", rewrite_method="telepathy")

    assert "rewrite_method" not in answer["metadata"]["unused_options"]


@pytest.mark.parametrize("key", ["", "rs_wrong"])
async def test_without_a_valid_key_nothing_is_answered(world, key):
    response = await Api(key).post(GENERATE, {"query": "q"})

    assert response.status_code == 401
    assert response.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize("path", [GENERATE, "/v1/chat/completions"])
async def test_who_is_not_signed_in_is_told_so_and_not_that_a_token_is_missing(world, path):
    client = Api("")
    client.client = type(client.client)(enforce_csrf_checks=True)

    response = await client.post(path, {"query": "q", "messages": [{"role": "user", "content": "q"}]})

    assert response.status_code == 401
    assert response.json()["error"]["code"] == "not_authenticated"


async def test_a_session_needs_its_csrf_token(world):
    client = Api("")
    client.client = type(client.client)(enforce_csrf_checks=True)
    await run_db(client.client.force_login, world.reader)

    response = await client.post(GENERATE, {"query": "q"})

    assert response.status_code == 403


async def test_the_tenant_is_compared_and_never_trusted(api, world):
    right = await api.post(GENERATE, {"query": "What is a handover?", "tenant_id": world.reader.tenant.name})
    wrong = await api.post(GENERATE, {"query": "What is a handover?", "tenant_id": "somebody else"})

    assert (right.status_code, wrong.status_code) == (200, 404)


@pytest.mark.parametrize(
    "body", [{"query": "q", "top_k": 21}, {"query": "q", "mode": "report"}, {"query": "q", "style": "simple"}]
)
async def test_the_second_form_has_limits_of_its_own(api, body):
    assert (await api.post("/api/v1/rag/query", body)).status_code == 422


@pytest.mark.parametrize("queries", [[], ["q"] * 101, "q"])
async def test_a_batch_has_one_to_a_hundred_questions(api, queries):
    assert (await api.post("/api/v1/rag/batch", {"queries": queries})).status_code == 422


async def test_more_questions_than_places_are_refused_with_retry_after(api, settings):
    settings.MAX_IN_FLIGHT = 0

    response = await api.post(GENERATE, {"query": "q"})

    assert response.status_code == 503
    assert int(response["Retry-After"]) >= 1


async def test_an_endless_message_of_a_client_is_refused(api):
    messages = [{"role": "assistant", "content": "x" * 200_001}, {"role": "user", "content": "Why?"}]

    response = await api.post("/v1/chat/completions", {"messages": messages})

    assert response.status_code == 422
