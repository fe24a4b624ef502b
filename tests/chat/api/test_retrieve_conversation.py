"""`/rag/retrieve` in a conversation: the question is understood with the turns before it."""

import json

import pytest

from accounts.services import api_key_create
from chat.api.responses import RetrieveOut
from chat.concurrency.executors import run_db
from tests.chat.conftest import Api
from tests.factories import ingest, make_user
from tests.scripted_llm import Reply

EARLIER = {"question": "What is the random access procedure?", "answer": "A procedure with four steps."}
BEFORE = {"question": "What is the preamble on PRACH?", "answer": "It begins random access."}
HANDOVER = {"question": "What is a handover?", "answer": "A change of the cell."}
QUESTION = "How many steps does it have?"
UNDERSTOOD = "How many steps does the random access procedure have?"
NO_CONVERSATION = {"understood": None, "rewritten_queries": [], "rewrite_method": "none", "history_turns": 0}


async def asked(api, query=QUESTION, **body):
    response = await api.post("/api/v1/rag/retrieve", {"query": query, **body})
    assert response.status_code == 200, response.content
    return response.json()


async def refused(api, **body):
    response = await api.post("/api/v1/rag/retrieve", {"query": QUESTION, **body})
    assert response.status_code == 422, response.content


def searched(body):
    """The forms that were searched with, from the trace."""
    return next((s["note"]["queries"] for s in body["trace"]["stages"] if s["stage"] == "merge.queries"), [])


# ── what was said before ────────────────────────────────────────────────────────────────────────


async def test_a_question_is_understood_with_the_turns_sent_along(api, world):
    others = {f"x{n}": f"The {name} has {n + 2} steps." for n, name in enumerate(["ladder", "recipe", "dance", "test"])}
    await run_db(ingest, world.owner, world.knowledge_set, **others)

    alone, together = await asked(api), await asked(api, history=[EARLIER])

    assert alone["hits"][0]["external_id"] != "ra"
    assert together["hits"][0]["external_id"] == "ra"
    assert together["metadata"]["understood"] == UNDERSTOOD


async def test_in_a_conversation_the_form_with_its_context_is_searched_with_too(api):
    body = await asked(api, history=[BEFORE, EARLIER], trace=True)

    assert body["metadata"] == {
        "understood": UNDERSTOOD,
        "rewritten_queries": searched(body),
        "rewrite_method": "history",
        "history_turns": 2,
    }
    assert len(searched(body)) == 2
    assert "PRACH" in searched(body)[1]
    RetrieveOut.model_validate(body)


async def test_who_asks_for_no_other_form_gets_the_standalone_one_alone(api):
    body = await asked(api, history=[EARLIER], rewrite_method="none", trace=True)

    assert body["metadata"]["rewritten_queries"] == [UNDERSTOOD]
    assert body["metadata"]["rewrite_method"] == "none"
    assert searched(body) == []


async def test_a_method_that_the_client_names_is_kept(api):
    body = await asked(api, history=[EARLIER], rewrite_method="multi")

    assert body["metadata"]["rewrite_method"] == "multi"


async def test_the_last_turns_decide(api):
    body = await asked(api, "When is it used?", history=[EARLIER, HANDOVER])

    assert "handover" in body["metadata"]["understood"]
    assert body["hits"][0]["external_id"] == "ho"
    assert body["metadata"]["history_turns"] == 2


async def test_a_chinese_question_is_understood_too(api):
    turn = {"question": "载波聚合是什么？", "answer": "把多个载波合并使用。"}

    body = await asked(api, "它最多支持多少个载波？", history=[turn])

    assert "载波聚合" in body["metadata"]["understood"]
    assert body["hits"][0]["external_id"] == "ca"


async def test_hits_are_best_first_once_each_and_no_more_than_asked_for(api):
    body = await asked(api, history=[BEFORE, EARLIER], top_k=2)

    scores = [hit["score"] for hit in body["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert len({hit["chunk_id"] for hit in body["hits"]}) == len(scores) <= 2
    assert all(hit["score"] == hit["scores"]["merge.queries"] for hit in body["hits"])


async def test_without_a_conversation_nothing_has_changed(api):
    plain, empty = await asked(api), await asked(api, history=[])

    assert plain["metadata"] == empty["metadata"] == NO_CONVERSATION
    assert [hit["scores"] for hit in plain["hits"]] == [hit["scores"] for hit in empty["hits"]]
    assert all("merge.queries" not in hit["scores"] for hit in plain["hits"])


# ── with a language model ───────────────────────────────────────────────────────────────────────


async def test_a_model_understands_the_question_and_is_shown_the_turns_as_material(api, llm):
    said = {"standalone": UNDERSTOOD, "terms": ["random access procedure"], "queries": ["random access steps"]}
    await asked(api, history=[EARLIER])  # the first request of a process may take longer than a model may
    llm.script(Reply(texts=(json.dumps(said),)))

    body = await asked(api, history=[EARLIER])

    assert body["metadata"]["understood"] == UNDERSTOOD
    assert "random access steps" in body["metadata"]["rewritten_queries"]
    prompt = "\n".join(message["content"] for message in llm.requests[-1].body["messages"])
    assert EARLIER["question"] in prompt.partition("<conversation>")[2].partition("</conversation>")[0]


async def test_a_model_that_fails_leaves_the_rules(api, llm):
    llm.default = Reply(status=500)

    body = await asked(api, history=[EARLIER])

    assert llm.requests
    assert body["metadata"]["understood"] == UNDERSTOOD
    assert body["hits"][0]["external_id"] == "ra"


# ── a conversation that is kept here ────────────────────────────────────────────────────────────


async def test_the_turns_of_a_conversation_count_and_sent_ones_come_behind_them(api):
    await api.generate(EARLIER["question"], conversation_id="my-talk")

    kept = await asked(api, conversation_id="my-talk")
    both = await asked(api, "When is it used?", conversation_id="my-talk", history=[HANDOVER])

    assert kept["metadata"]["understood"] == UNDERSTOOD
    assert kept["metadata"]["history_turns"] == 1
    assert "handover" in both["metadata"]["rewritten_queries"][-1]
    assert both["metadata"]["history_turns"] == 2


async def test_searching_adds_nothing_to_a_conversation(api):
    await api.generate(EARLIER["question"], conversation_id="my-talk")

    await asked(api, conversation_id="my-talk")

    assert (await asked(api, conversation_id="my-talk"))["metadata"]["history_turns"] == 1


async def test_nobody_sees_the_conversation_of_another_person(api):
    made = await api.generate(EARLIER["question"], conversation_id="my-talk")
    stranger = await run_db(make_user)
    _, key = await run_db(api_key_create, user=stranger, name="x")

    for conversation in ("my-talk", made["conversation_id"]):
        body = await asked(Api(key), conversation_id=conversation)
        assert body["metadata"]["history_turns"] == 0
        assert body["metadata"]["understood"] is None


# ── bad and odd turns ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "history",
    [
        [{"question": ""}],
        [{"question": " "}],
        [{"answer": "An answer without a question."}],
        [{"question": "x" * 2001}],
        [{"question": "x", "answer": "x" * 20_001}],
        [{"question": "x", "answer": "\x00"}],
        [{"question": "x", "role": "user"}],
        ["What is random access?"],
        [{"question": "x"}] * 51,
        None,
    ],
)
async def test_a_history_that_is_none_is_refused(api, history):
    await refused(api, history=history)


async def test_the_longest_conversation_is_no_problem(api):
    turns = [{"question": f"What is cell {n}? ".ljust(2000, "x"), "answer": "It grows. " * 2000} for n in range(50)]

    assert (await asked(api, history=turns))["metadata"]["history_turns"] == 50
