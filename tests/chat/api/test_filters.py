"""Filters of searches and answers, and what can be filtered by, over HTTP."""

import json

import pytest
import pytest_asyncio

from chat.concurrency.executors import run_db
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Attribute, Document
from ragsite.openapi import merged_schema
from tests.chat.conftest import Api, sse
from tests.factories import make_set, make_user

RETRIEVE = "/api/v1/rag/retrieve"
GENERATE = "/api/v1/rag/generate"
FILTERS = "/api/v1/rag/filters"
QUESTION = "How many steps does the random access procedure have?"


@pytest_asyncio.fixture
async def labelled(world):
    """The documents of the world with tags and attributes, in a set of axis X as well."""
    await run_db(_label, world)
    return world


def _label(world):
    tenant = world.knowledge_set.tenant
    attributes = {
        "ra": {"release": ["16", "17"], "year": 2020, "approved": "2020-05-04"},
        "ho": {"release": "17", "year": "2022"},
        "ca": {"release": "18", "year": 2024, "approved": "2024-11-30T08:00:00Z"},
    }
    for key, metadata in attributes.items():
        Document.objects.filter(pk=world.documents[key].pk).update(metadata=metadata, tags=["5G", key])
    Attribute.objects.create(tenant=tenant, code="release", name="Release", name_zh="版本")
    world.documents["ra"].sets.add(make_set("test", axis="X", name="Testing", owners=[world.owner]))
    make_set("closed", axis="X", owners=[world.owner], visibility="members")
    epoch_advance(tenant_id=tenant.pk)


async def found(api, **filters):
    response = await api.post(RETRIEVE, {"query": QUESTION, "filters": filters})
    assert response.status_code == 200, response.content
    return {hit["external_id"] for hit in response.json()["hits"]}


@pytest.mark.usefixtures("labelled")
async def test_values_lists_ranges_and_days_narrow_a_search(api):
    assert await found(api, metadata={"release": "16"}) == {"ra"}
    assert await found(api, metadata={"release": ["16", "18"]}) == {"ra", "ca"}
    assert await found(api, metadata={"year": {"gte": 2021, "lte": 2023}}) == {"ho"}
    assert await found(api, metadata={"approved": {"gt": "2020-05-04", "lte": "2024-11-30"}}) == {"ca"}
    assert await found(api, metadata={"year": {"lt": 2024}, "release": "17"}, tags=["ra", "ca"]) == {"ra"}
    assert await found(api, capability=["test"]) == {"ra"}


FAULTS = (
    ({"colour": "red"}, "filters.colour", "Unknown field."),
    ({"axis": "Z"}, "filters.axis", "Must be one of 1, X, Y."),
    ({"tags": "5G"}, "filters.tags", "list"),
    ({"tags": [5]}, "filters.tags.0", "string"),
    ({"tags": ["x" * 129]}, "filters.tags.0", "128"),
    ({"metadata": ["a"]}, "filters.metadata", "object"),
    ({"metadata": {"year": {"near": 2020}}}, "filters.metadata", "year: unknown operator 'near'"),
    ({"metadata": {"year": {"gte": "soon"}}}, "filters.metadata", "year: bounds must be"),
    ({"metadata": {"year": {"gte": {"gte": 1}}}}, "filters.metadata", "year: bounds must be"),
    ({"metadata": {"year": None}}, "filters.metadata", "year: must be"),
    ({"metadata": {"year": []}}, "filters.metadata", "year: a list must hold"),
)


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("address", [RETRIEVE, GENERATE, f"{FILTERS}/count", "/v1/chat/completions"])
async def test_a_fault_of_a_filter_is_named(api, address):
    question = {"messages": [{"role": "user", "content": "q"}]} if address.startswith("/v1") else {"query": "q"}

    for filters, field, words in FAULTS:
        response = await api.post(address, {"filters": filters, **({} if address.endswith("count") else question)})
        detail = response.json()["error"]["details"][0]
        assert (response.status_code, detail["field"]) == (422, field), response.content
        assert words in detail["message"]


@pytest.mark.usefixtures("labelled")
async def test_a_code_that_does_not_exist_is_refused_by_name(api):
    for address in (RETRIEVE, GENERATE, f"{GENERATE}/stream", f"{FILTERS}/count"):
        body = {"filters": {"capability": ["test", "tset"]}, **({} if address.endswith("count") else {"query": "q"})}
        response = await api.post(address, body)
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (422, "unknown_filter")
        assert error["details"] == [{"field": "filters.capability", "code": "tset"}]


@pytest.mark.usefixtures("labelled")
async def test_an_attribute_that_no_document_has_is_no_error_but_is_said(api):
    body = {"query": QUESTION, "filters": {"metadata": {"relaese": "17"}}}

    hits = (await api.post(RETRIEVE, body)).json()
    answer = (await api.post(GENERATE, body)).json()

    assert (hits["hits"], hits["searched"]) == ([], 0)
    assert [one["code"] for one in hits["warnings"]] == ["no_match", "unknown_attribute"]
    assert hits["warnings"][1]["field"] == "filters.metadata.relaese"
    assert answer["status"] == "refused"
    assert answer["metadata"]["warnings"] == hits["warnings"]


@pytest.mark.usefixtures("labelled")
async def test_an_answer_keeps_to_its_filters_and_another_filter_is_another_answer(api):
    one = await api.generate(QUESTION, filters={"tags": ["ra"]})
    other = await api.generate(QUESTION, filters={"tags": ["ho"]})

    assert {citation["external_id"] for citation in one["citations"]} == {"ra"}
    assert "ra" not in {citation["external_id"] for citation in other["citations"]}
    assert (other["metadata"]["cache"], one["metadata"]["warnings"]) == ("none", [])


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize("stream", [False, True])
async def test_the_openai_form_takes_filters(api, stream):
    body = {
        "messages": [{"role": "user", "content": QUESTION}],
        "filters": {"metadata": {"release": "16"}},
        "stream": stream,
    }

    response = await api.post("/v1/chat/completions", body)

    if stream:
        choices = [event["choices"][0] for event in await sse(response)]
        context = next(choice["delta"]["context"] for choice in choices if "context" in choice["delta"])
    else:
        context = response.json()["choices"][0]["message"]["context"]
    assert {citation["external_id"] for citation in context["citations"]} == {"ra"}


@pytest.mark.usefixtures("labelled")
async def test_what_can_be_filtered_by_is_listed_with_counts(api):
    body = (await api.get(FILTERS)).json()

    assert [(axis["axis"], [(one["code"], one["documents"]) for one in axis["sets"]]) for axis in body["axes"]] == [
        ("1", [("radio", 3)]),
        ("X", [("test", 1)]),
    ]
    assert body["tags"] == {
        "values": [{"value": value, "documents": n} for value, n in (("5G", 3), ("ca", 1), ("ho", 1), ("ra", 1))],
        "more": 0,
    }
    release, year, approved = body["attributes"]["values"]
    assert (release["code"], release["name"], release["kind"], release["documents"]) == (
        "release",
        "Release",
        "number",
        3,
    )
    assert release["values"][0] == {"value": "17", "documents": 2}
    assert (year["code"], year["kind"], approved["code"], approved["kind"]) == ("year", "number", "approved", "day")


@pytest.mark.usefixtures("labelled")
async def test_names_are_in_the_language_of_the_caller_and_words_narrow_the_list(api):
    body = (await api.get(f"{FILTERS}?q=5g", **{"Accept-Language": "zh-CN"})).json()

    assert [one["value"] for one in body["tags"]["values"]] == ["5G"]
    assert [(one["name"], one["values"]) for one in body["attributes"]["values"]][0] == ("版本", [])


async def test_a_stranger_is_told_of_nothing_that_is_closed(labelled, api):
    await run_db(labelled.knowledge_set.__class__.objects.update, visibility="members")
    await run_db(epoch_advance, tenant_id=labelled.knowledge_set.tenant_id)

    body = (await api.get(FILTERS)).json()

    assert (await api.get(f"{FILTERS}?q={'x' * 129}")).status_code == 422
    nothing = {"values": [], "more": 0}
    assert body == {
        "axes": [],
        "tags": nothing,
        "attributes": nothing,
        "counted": {"documents": 0, "newest_only": False},
    }


@pytest.mark.usefixtures("world")
async def test_filters_are_for_people_who_are_known():
    assert (await Api("").get(FILTERS)).status_code == 401
    assert (await Api("").post(f"{FILTERS}/count", {})).status_code == 401


@pytest.mark.usefixtures("labelled")
async def test_a_count_says_how_much_is_left_and_why_nothing(api, world):
    some = (await api.post(f"{FILTERS}/count", {"filters": {"tags": ["ra", "ho"]}})).json()
    none = (await api.post(f"{FILTERS}/count", {"sets": [world.knowledge_set.pk], "filters": {"axis": "X"}})).json()

    assert (some["documents"], some["passages"], some["warnings"]) == (2, 2, [])
    assert (none["documents"], none["passages"], [one["code"] for one in none["warnings"]]) == (0, 0, ["no_match"])


async def test_a_browser_may_list_and_count_with_its_session(world):
    client = Api("").client
    await run_db(client.force_login, await run_db(make_user))

    assert (await client.get(FILTERS)).status_code == 200
    assert (await client.post(f"{FILTERS}/count", "{}", content_type="application/json")).status_code == 200


def test_filters_are_described():
    schema = merged_schema()

    assert {"get"} == set(schema["paths"][FILTERS])
    assert "gte" in json.dumps(schema["components"]["schemas"]["FiltersIn"])
    assert "filters" in schema["components"]["schemas"]["CompletionIn"]["properties"]
