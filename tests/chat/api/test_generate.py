"""`POST /api/v1/rag/generate` and what happens when parts of it fail."""

import asyncio

import pytest

from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from chat.models import Message
from tests.chat.conftest import Api
from tests.factories import make_tenant, make_user
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = ("The random access ", "procedure has four steps [Sou", "rce 1].")
REFUSAL = "The knowledge base does not contain an answer to this question."


async def stored(answer):
    return await run_db(Message.objects.prefetch_related("citations").get, pk=answer["message_id"])


async def test_an_answer_without_a_language_model_is_cited_and_complete(api, world):
    answer = await api.generate(QUESTION)

    assert answer["status"] == "answered"
    assert "four steps" in answer["answer"]
    (first, *_) = answer["citations"]
    assert (first["external_id"], first["version"], first["title"]) == ("ra", 1, "ra")
    assert first["document_id"] == world.documents["ra"].pk
    assert f"[{first['citation_num']}]" in answer["answer"][first["position"] :][:4]
    assert {s["support"] for s in answer["sentences"]} == {"supported"}
    assert 0 < answer["confidence"] <= 1
    assert answer["metadata"]["model"] == "extractive"
    assert answer["metadata"]["cache"] == "none"


async def test_markers_of_a_model_are_normalised_and_bound_to_chunks(api, world, llm):
    llm.script(Reply(texts=ANSWER, usage=(70, 30)))

    answer = await api.generate(QUESTION)

    assert answer["answer"] == "The random access procedure has four steps [1]."
    assert '<button class="cite" type="button" data-cite="1" data-place="0">1</button>' in answer["answer_html"]
    assert answer["metadata"]["usage"] == {
        "prompt_tokens": 70,
        "completion_tokens": 30,
        "reasoning_tokens": 0,
        "total_tokens": 100,
    }
    message = await stored(answer)
    cited = [c for c in message.citations.all() if c.cited]
    assert [(c.number, c.document_id) for c in cited] == [(1, world.documents["ra"].pk)]
    assert cited[0].version_id == world.documents["ra"].live_version_id
    assert (message.state, message.status) == ("done", "answered")


async def test_the_prompt_holds_sources_and_question(api, llm):
    llm.script(Reply(texts=ANSWER))

    await api.generate(QUESTION, temperature=0.7, max_tokens=123)

    body = llm.requests[0].body
    assert "[Source 1] (File: ra)" in body["messages"][-1]["content"]
    assert QUESTION in body["messages"][-1]["content"]
    assert (body["temperature"], body["max_tokens"]) == (0.7, 123)


async def test_a_refusal_of_the_model_has_no_citations(api, llm):
    llm.script(Reply(texts=(REFUSAL, " [1]")))

    answer = await api.generate("What does TS 38.999 say about the random access procedure?")

    assert (answer["status"], answer["citations"], answer["confidence"]) == ("refused", [], 0)


async def test_a_refusal_of_what_the_sources_say_is_not_believed(api, llm):
    llm.script(Reply(texts=(REFUSAL, " [1]")), Reply(texts=("The random access procedure has 9 steps.",)))

    answer = await api.generate(QUESTION)

    assert answer["status"] == "answered"
    assert "four steps" in answer["answer"]
    assert "9" not in answer["answer"]
    assert len(llm.requests) == 2


async def test_nothing_visible_is_refused_without_asking_the_model(world, llm):
    stranger = await run_db(make_user, tenant=await run_db(make_tenant))
    _, key = await run_db(api_key_create, user=stranger, name="x")

    answer = await Api(key).generate(QUESTION)

    assert (answer["status"], answer["answer"]) == ("refused", REFUSAL.rstrip("."))
    assert llm.requests == []


async def test_a_question_far_from_everything_gets_titles_and_bold_words_and_no_model(api, world, llm):
    await run_db(_raise_thresholds, world)

    answer = await api.generate(QUESTION, sets=[world.knowledge_set.pk])

    assert answer["status"] == "search_results"
    assert "**ra**" in answer["answer"]
    assert "**random**" in answer["answer"]
    assert "[1]" in answer["answer"]
    assert llm.requests == []


def _raise_thresholds(world):
    world.knowledge_set.options = {"retrieval": {"min_match": 10.0, "min_cosine": 1.0}}
    world.knowledge_set.save()


@pytest.mark.parametrize("reply", [Reply(status=500), Reply(status=400), Reply(texts=())])
async def test_a_model_that_is_down_gives_a_degraded_answer_from_the_sources(api, llm, reply):
    llm.default = reply

    answer = await api.generate(QUESTION)

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]
    assert answer["metadata"]["error_message"]
    assert answer["metadata"]["error_message"] not in answer["answer"]


async def test_a_model_that_stops_in_the_middle_leaves_a_marked_answer(api, llm):
    llm.script(Reply(texts=("The procedure has ", "four steps [1]. And"), cut_after=2, finish=False))
    llm.default = Reply(status=400)  # nor does it give the rest

    answer = await api.generate(QUESTION)

    assert answer["status"] == "degraded"
    assert answer["answer"] == "The procedure has four steps [1]. And"
    assert "incomplete" in answer["metadata"]["error_message"]


async def test_a_strict_client_gets_an_error_instead_of_a_degraded_answer(api, llm):
    llm.default = Reply(status=500)

    response = await api.post("/api/v1/rag/generate", {"query": QUESTION, "strict": True})

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "model_unavailable"


async def test_inline_markers_and_citations_can_be_left_out(api, llm):
    llm.default = Reply(texts=ANSWER)

    answer = await api.generate(QUESTION, include_inline=False, include_citations=False)

    assert answer["answer"] == "The random access procedure has four steps."
    assert "<button" not in answer["answer_html"]
    assert (answer["citations"], answer["formatted_citations"]) == ([], "")


@pytest.mark.parametrize(
    ("form", "wanted"),
    [("markdown", "- \\[1\\] ra"), ("plain", "[1] ra"), ("html", '<ol class="sources"><li value="1">ra</li></ol>')],
)
async def test_the_list_of_sources_has_the_form_asked_for(api, llm, form, wanted):
    llm.default = Reply(texts=ANSWER)

    answer = await api.generate(QUESTION, citation_format=form, cache=False)

    assert answer["formatted_citations"] == wanted.replace("\\", "")


async def test_options_without_effect_are_named(api):
    answer = await api.generate(QUESTION, enable_kg_enhancement=True)

    assert answer["metadata"]["unused_options"] == ["enable_kg_enhancement"]


async def test_the_kind_of_fact_that_is_wanted_is_taken_and_not_named_as_unused(api):
    answer = await api.generate(QUESTION, prompt_type="relationship")

    assert answer["query_analysis"]["target"] == "relationship"
    assert answer["metadata"]["unused_options"] == []


async def test_a_conversation_goes_on_with_what_was_said(api, llm):
    llm.default = Reply(texts=ANSWER)

    first = await api.generate(QUESTION, conversation_id="my-chat")
    await api.generate("And what is sent on PRACH?", conversation_id="my-chat")

    assert first["conversation_id"] == "my-chat"
    sent = [message["content"] for message in llm.requests[-1].body["messages"]]
    assert sent[1:3] == [QUESTION, "The random access procedure has four steps."]


async def test_turns_of_one_conversation_run_one_after_another(api, llm):
    llm.default = Reply(texts=ANSWER)

    await asyncio.gather(*(api.generate(f"{QUESTION} {n}", conversation_id="serial") for n in range(4)))

    sent = sorted(len(request.body["messages"]) for request in llm.requests)
    assert [count for count in sent if count > 1] == [2, 4, 6, 8]  # one message: to understand the question


async def test_the_id_of_someone_elses_conversation_leads_to_a_conversation_of_ones_own(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    mine = await stored(await api.generate(QUESTION))
    _, key = await run_db(api_key_create, user=world.owner, name="x")

    theirs = await stored(
        await Api(key).generate("What is the random access procedure?", conversation_id=str(mine.conversation_id))
    )

    assert theirs.conversation_id != mine.conversation_id
    assert len(llm.requests[1].body["messages"]) == 2
