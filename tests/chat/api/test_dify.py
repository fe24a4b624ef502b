"""Knowledge sets as the external knowledge of Dify; requests as its description of that API has them."""

from __future__ import annotations

import pytest

from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document
from tests.chat.conftest import Api
from tests.factories import ingest, make_set, make_user

ADDRESS = "/api/v1/dify/retrieval"
QUESTION = "How many steps does the random access procedure have?"
SETTING = {"top_k": 2, "score_threshold": 0.5}


def body(**values):
    return {"knowledge_id": "radio", "query": QUESTION, "retrieval_setting": SETTING, **values}


async def records(api, **values):
    answer = await api.post(ADDRESS, body(**values))
    assert answer.status_code == 200, answer.content
    return answer.json()["records"]


async def test_passages_come_best_first_with_a_probability_and_metadata(api, world):
    first, *others = await records(api, retrieval_setting={"top_k": 3, "score_threshold": 0})

    assert first["title"] == world.documents["ra"].title
    assert "four steps" in first["content"]
    assert first["metadata"]["external_id"] == "ra"
    assert 0.5 < first["score"] <= 1
    assert all(0 <= other["score"] < first["score"] and isinstance(other["metadata"], dict) for other in others)


async def test_the_threshold_and_the_number_are_followed(api):
    assert len(await records(api, retrieval_setting={"top_k": 1, "score_threshold": 0})) == 1
    assert await records(api, query="What does the canteen serve on Mondays?") == []


async def test_a_set_is_named_by_its_code_or_number(api, world):
    assert await records(api, knowledge_id=str(world.knowledge_set.pk)) == await records(api)


async def test_the_question_within_a_prompt_is_searched(api):
    prompt = f"Use this.\n<context>\n{'Words of no use. ' * 300}\n</context>\n<query>{QUESTION}</query>"

    assert await records(api, query=prompt) == await records(api)


CONDITIONS = {
    "is": ([{"name": ["release"], "comparison_operator": "is", "value": "16"}], {"a"}),
    "a name alone": ([{"name": "release", "comparison_operator": "is", "value": "16"}], {"a"}),
    "in": ([{"name": ["release"], "comparison_operator": "in", "value": ["16", "17"]}], {"a", "b"}),
    "a range": (
        [
            {"name": ["year"], "comparison_operator": "≥", "value": "2021"},
            {"name": ["year"], "comparison_operator": "<", "value": 2024},
        ],
        {"b"},
    ),
    "a day": ([{"name": ["approved"], "comparison_operator": "after", "value": 1672531200}], {"b"}),
    "a day as text": ([{"name": ["approved"], "comparison_operator": "before", "value": "2023-01-01T08:00"}], {"a"}),
}


@pytest.fixture
def attributed(shared_rows, redis_client):
    return shared_rows(attributed_make)


def attributed_make():
    owner = make_user()
    of_set = make_set("notes", owners=[owner])
    text = "The mast is inspected twice a year by two people."
    attributes = {
        "a": {"release": "16", "year": 2020, "approved": "2020-05-04"},
        "b": {"release": "17", "year": 2022, "approved": "2024-01-31"},
    }
    documents = ingest(owner, of_set, a=text, b=f"{text} In winter, too.")
    for name, document in documents.items():
        Document.objects.filter(pk=document.pk).update(metadata=attributes[name])
    epoch_advance(tenant_id=owner.tenant_id)
    _, key = api_key_create(user=owner, name="tests")
    return key


@pytest.mark.parametrize(("conditions", "documents"), CONDITIONS.values(), ids=CONDITIONS.keys())
async def test_conditions_narrow_the_search(attributed, conditions, documents):
    values = {"conditions": conditions, "logical_operator": "and"}
    sent = {"knowledge_id": "notes", "query": "How often is the mast inspected?", "metadata_condition": values}
    answer = await Api(attributed).post(ADDRESS, {**sent, "retrieval_setting": {"top_k": 5, "score_threshold": 0}})

    assert answer.status_code == 200, answer.content
    assert {record["metadata"]["external_id"] for record in answer.json()["records"]} == documents


FAULTS = {
    "no question": ({"query": ""}, "query"),
    "another operator": (
        {"metadata_condition": {"conditions": [{"name": ["x"], "comparison_operator": "contains", "value": "y"}]}},
        "'contains' is not known; there are is, in, =",
    ),
    "either of two": (
        {
            "metadata_condition": {
                "logical_operator": "or",
                "conditions": [{"name": [n], "comparison_operator": "is", "value": "1"} for n in "ab"],
            }
        },
        "logical_operator and",
    ),
    "no day": (
        {"metadata_condition": {"conditions": [{"name": ["x"], "comparison_operator": "after", "value": {}}]}},
        "must be a day",
    ),
    "too many passages": ({"retrieval_setting": {"top_k": 51, "score_threshold": 0}}, "retrieval_setting.top_k"),
}


@pytest.mark.parametrize(("values", "words"), FAULTS.values(), ids=FAULTS.keys())
async def test_what_cannot_be_done_is_told_in_its_form(api, values, words):
    answer = await api.post(ADDRESS, body(**values))

    assert answer.status_code == 422
    assert answer.json()["error_code"] == 422
    assert words in answer.json()["error_msg"]


async def test_a_set_that_one_may_not_read_is_as_unknown_as_none(api):
    hidden = await api.post(ADDRESS, body(knowledge_id=await hidden_code()))
    unknown = await api.post(ADDRESS, body(knowledge_id="nowhere"))

    assert (hidden.status_code, hidden.json()["error_code"]) == (404, 2001)
    assert hidden.json()["error_msg"].replace("secret", "nowhere") == unknown.json()["error_msg"]


async def hidden_code():
    return (await run_db(make_set, "secret", owners=[await run_db(make_user)], visibility="members")).code


async def test_a_wrong_key_is_told_in_its_form(world):
    answer = await Api("wrong").post(ADDRESS, body())

    assert (answer.status_code, answer.json()["error_code"]) == (401, 1002)
    assert answer.json()["error_msg"]
