"""What the tools find, answer and read, and for whom."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from chat.mcp import tools
from chat.models import Message
from knowledge.models import Chunk, Document
from tests.chat.mcp.conftest import SECRET, agent, called, given, refused, revoke
from tests.factories import ingest, make_admin, make_set, make_user
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"


def set_clearance(document: Document, value: int) -> None:
    Document.objects.filter(pk=document.pk).update(clearance=value)


def chunk_of(document: Document) -> Chunk:
    return Chunk.objects.filter(version__document=document, retired=None).first()


async def test_the_tools_say_what_they_take_and_their_limits(world):
    async with agent(world.key) as client:
        found = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert set(found) == {"search", "answer", "fetch_source", "list_sets"}
    assert all(tool.description and tool.output_schema for tool in found.values())
    properties = found["search"].input_schema["properties"]
    assert (properties["query"]["minLength"], properties["query"]["maxLength"]) == (1, 2000)
    assert (properties["top_k"]["minimum"], properties["top_k"]["maximum"]) == (1, 50)
    assert "ctx" not in properties
    assert found["search"].input_schema["required"] == ["query"]


async def test_a_search_gives_passages_with_their_places(world):
    found = await given(world.key, "search", query=QUESTION, top_k=2)

    assert found["hits"][0]["external_id"] == "ra"
    assert found["hits"][0]["document_id"] == world.documents["ra"].pk
    assert len(found["hits"]) <= 2
    assert found["relevant"] is True
    assert [hit["score"] for hit in found["hits"]] == sorted((h["score"] for h in found["hits"]), reverse=True)


async def test_what_a_model_reads_names_every_passage_and_fences_the_text(world):
    text = (await called(world.key, "search", query=QUESTION)).content[0].text

    assert f"document_id {world.documents['ra'].pk}" in text
    assert text.index("<context>") < text.index("four steps") < text.index("</context>")


@pytest.mark.parametrize("by", ["pk", "code"])
async def test_sets_are_named_by_id_or_by_code(world, by):
    def another():
        other = make_set("other", owners=[world.owner])
        ingest(world.owner, other, lonely="The random access procedure of the other set has nine steps.")
        return getattr(other, by)

    name = await run_db(another)

    found = await given(world.key, "search", query=QUESTION, sets=[name])

    assert {hit["external_id"] for hit in found["hits"]} == {"lonely"}


@pytest.mark.parametrize("name", ["nothing", 10**9])
async def test_a_set_that_does_not_exist_is_said_to_not_exist(world, name):
    error = await refused(world.key, "search", query=QUESTION, sets=[name])

    assert (error["code"], error["message"]) == ("not_found", f"There is no knowledge set {name}.")


@pytest.mark.every_row
@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "  "},
        {"query": "x" * 2001},
        {"query": "a\x00b"},
        {"query": "q", "top_k": 0},
        {"query": "q", "top_k": 51},
        {"query": "q", "sets": [0]},
        {"query": "q", "sets": ["x" * 129]},
        {"query": "q", "top_k": "5"},
        {"query": "q", "top_k": 5.0},
        {"query": "q", "sets": [True]},
        {"query": "q", "filters": {}},
        {"query": 5},
        {},
    ],
)
async def test_what_the_http_api_refuses_the_tools_refuse_too(world, arguments):
    error = await refused(world.key, "search", **arguments)

    assert error["code"] == "invalid"
    assert all(detail["field"] and detail["message"] for detail in error["details"])


async def test_every_argument_that_does_not_fit_is_named_in_words(world):
    result = await called(world.key, "search", query="", top_k=51)

    assert result.content[0].text == (
        "The request is not valid. query: This field may not be blank. "
        "top_k: Ensure this value is less than or equal to 50."
    )


async def test_an_answer_has_citations_that_can_be_read(world, llm):
    llm.default = Reply(texts=("The random access ", "procedure has four steps [1]."))

    answer = await given(world.key, "answer", query=QUESTION, style="simple")
    cited = answer["citations"][0]
    source = await given(world.key, "fetch_source", chunk_id=cited["chunk_id"], document_id=cited["document_id"])

    assert (answer["status"], answer["answer"]) == ("answered", "The random access procedure has four steps [1].")
    assert "four steps" in source["text"]
    stored = await run_db(Message.objects.select_related("conversation").get, pk=answer["message_id"])
    assert (stored.conversation.user_id, stored.request["style"]) == (world.reader.pk, "simple")


async def test_an_answer_without_a_model_is_put_together_from_the_documents(world):
    answer = await given(world.key, "answer", query=QUESTION)

    assert "four steps" in answer["answer"]
    assert answer["citations"][0]["external_id"] == "ra"


async def test_a_long_document_is_read_on_where_the_last_call_ended(world, monkeypatch):
    monkeypatch.setattr(tools, "SOURCE_CHARACTERS", 50)
    document = world.documents["ra"]
    parts, offset = [], 0
    while offset is not None:
        part = await given(world.key, "fetch_source", document_id=document.pk, offset=offset)
        parts.append(part["text"])
        offset = part["next_offset"]

    whole = await run_db(lambda: Document.objects.get(pk=document.pk).live_version.markdown)
    assert len(parts) > 2
    assert "".join(parts) == whole
    assert part["total_characters"] == len(whole)


async def test_a_source_must_be_named(world):
    assert (await refused(world.key, "fetch_source"))["code"] == "invalid"


async def test_a_passage_of_another_document_is_not_found(world):
    chunk = await run_db(chunk_of, world.documents["ra"])

    error = await refused(world.key, "fetch_source", chunk_id=chunk.pk, document_id=world.documents["ho"].pk)

    assert error["code"] == "not_found"


async def test_sets_are_listed_with_their_names(world):
    found = await given(world.key, "list_sets")

    assert [(one["code"], one["id"]) for one in found["sets"]] == [("radio", world.knowledge_set.pk)]


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


async def test_nothing_of_another_tenant_is_found_read_or_named(world, stranger):
    question = "What is the code name of the merger with Contoso?"
    theirs = await given(stranger.key, "search", query=question)
    ours = await given(world.key, "search", query=question)
    answer = await given(world.key, "answer", query=question)
    sets = await given(world.key, "list_sets")

    assert [hit["content"] for hit in theirs["hits"]] == [SECRET]
    assert "Bluebird" not in str(ours) + str(answer) + str(sets)
    for name in (stranger.knowledge_set.pk, "secrets"):
        assert (await refused(world.key, "search", query=question, sets=[name]))["code"] == "not_found"


async def test_what_exists_elsewhere_reads_like_what_does_not_exist(world, stranger):
    there = await refused(world.key, "fetch_source", document_id=stranger.document.pk)
    nowhere = await refused(world.key, "fetch_source", document_id=10**9)
    passage = await refused(world.key, "fetch_source", chunk_id=stranger.chunk.pk)
    no_passage = await refused(world.key, "fetch_source", chunk_id=10**9)

    assert there["message"] == nowhere["message"].replace(str(10**9), str(stranger.document.pk))
    assert (there["code"], passage["message"]) == (nowhere["code"], no_passage["message"])


async def test_an_administrator_of_everything_asks_within_the_own_tenant_only(world, stranger):
    key = (await run_db(lambda: api_key_create(user=make_admin(), name="agent")))[1]

    assert (await refused(key, "fetch_source", document_id=stranger.document.pk))["code"] == "not_found"
    assert (await refused(key, "search", query="merger", sets=["secrets"]))["code"] == "not_found"


async def test_what_is_above_the_clearance_does_not_exist(world):
    low = await run_db(lambda: make_user(clearance=0))
    key = (await run_db(lambda: api_key_create(user=low, name="agent")))[1]
    document = world.documents["ra"]
    chunk = await run_db(chunk_of, document)
    assert (await given(key, "fetch_source", document_id=document.pk))["text"]

    await run_db(set_clearance, document, 3)

    assert (await refused(key, "fetch_source", document_id=document.pk))["code"] == "not_found"
    assert (await refused(key, "fetch_source", chunk_id=chunk.pk))["code"] == "not_found"


async def test_a_key_that_is_revoked_ends_a_session_that_is_open(world):
    async with agent(world.key) as client:
        assert not (await client.call_tool("list_sets", {})).is_error
        await revoke(world.reader)
        result = await client.call_tool("list_sets", {})

    assert result.structured_content["error"]["code"] == "not_authenticated"


# ── faults ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_database_that_is_down_is_told_as_such_and_no_more(world, monkeypatch):
    def down(**_):
        raise OperationalError("secret host")

    monkeypatch.setattr(tools, "list_readable_sets", down)

    error = await refused(world.key, "list_sets")

    assert error["code"] == "unavailable"
    assert "secret" not in str(error)


async def test_a_fault_of_ours_is_told_without_its_text(world, monkeypatch):
    def broken(**_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(tools, "list_readable_sets", broken)

    result = await called(world.key, "list_sets")

    assert result.is_error
    assert "secret" not in result.content[0].text


async def test_too_many_questions_at_once_are_refused(world, settings):
    settings.MAX_IN_FLIGHT = 0

    assert (await refused(world.key, "answer", query=QUESTION))["code"] == "busy"
    assert (await refused(world.key, "search", query=QUESTION))["code"] == "busy"
