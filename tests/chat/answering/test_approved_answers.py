"""A fixed list of questions has the answers, events and stored rows that were approved.

After a change that is meant to change answers: look at `.pytest_cache/received_answers.json`, and copy it over
`approved_answers.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from accounts.services import api_key_create
from chat.models import Conversation, Message
from chat.selectors import citations_of
from chat.turns.lifecycle import turn_start
from chat.turns.stream_reader import read_events
from chat.types import AnswerRequest
from knowledge import model_registry
from knowledge.models import Chunk, Document
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.chat.answering.approved import TEXTS, Normal, PromptedLLM, differences, events_in_short, trace_in_short
from tests.chat.conftest import Api, World, sse
from tests.factories import ingest, make_set, make_user, scope_of
from tests.scripted_llm import serving

APPROVED = Path(__file__).with_name("approved_answers.json")
RA = "How many steps does the random access procedure have?"
CA = "载波聚合最多支持多少个载波？"
COMPARE = "Compare random access and handover: when does each of them fail?"
QUESTIONS = {
    "basic": {"query": RA},
    "basic zh": {"query": CA},
    "greeting": {"query": "Hello!"},
    "greeting zh": {"query": "你好"},
    "nothing": {"query": "Who is the king of Spain?"},
    "enhanced": {"query": RA, "mode": "enhanced"},
    "agentic": {"query": RA, "mode": "agentic"},
    "agentic zh": {"query": "寻呼周期默认是多少？", "mode": "agentic"},
    "ultimate": {"query": COMPARE, "mode": "ultimate"},
    "ultimate without rounds": {"query": RA, "mode": "ultimate", "use_agentic_rag": False},
    "adaptive": {"query": COMPARE, "strategy": "adaptive"},
    "adaptive zh": {"query": "比较载波聚合和寻呼的区别", "strategy": "adaptive"},
    "self_rag": {"query": RA, "strategy": "self_rag"},
    "self_rag zh": {"query": CA, "strategy": "self_rag", "mode": "agentic"},
    "simple": {"query": "What is a handover?", "style": "simple", "citation_format": "html"},
    "precise": {"query": CA, "style": "precise", "citation_format": "plain"},
    "report": {"query": COMPARE, "style": "report", "include_inline": False},
    "conversation": {"query": "What is a handover?", "conversation_id": "talk"},
    "follow-up": {"query": "And when does it fail?", "conversation_id": "talk"},
    "about the conversation": {"query": "What did I ask before?", "conversation_id": "talk"},
    "multi": {"query": RA, "rewrite_method": "multi"},
    "hyde": {"query": RA, "rewrite_method": "hyde", "compression_method": "hybrid"},
    "decompose": {"query": COMPARE, "rewrite_method": "decompose"},
    "accurate": {"query": RA, "preset": "accurate"},
    "fast": {"query": RA, "preset": "fast"},
    "cheap": {"query": CA, "preset": "cheap"},
    "nothing may be spent": {"query": RA, "constraints": {"max_cost_per_query": 0}},
}
STREAMED = ("basic", "basic zh", "greeting", "nothing", "agentic", "self_rag zh", "adaptive", "multi")
LOOPS = ("agentic", "ultimate", "self_rag", "accurate")


@pytest.fixture
def asker(transactional_db, redis_client):
    owner, reader = make_user(), make_user()
    knowledge_set = make_set("radio", owners=[owner])
    documents = ingest(owner, knowledge_set, **TEXTS)
    _, key = api_key_create(user=reader, name="tests")
    return World(owner, reader, key, knowledge_set, documents)


@pytest.fixture
def with_model(monkeypatch):
    with serving() as server:
        prompted = PromptedLLM(url=server.url)
        monkeypatch.setattr(server, "next_reply", prompted.next_reply, raising=False)
        model = OpenAIChatModel(server.url, "key", "scripted")

        def switch() -> None:
            monkeypatch.setattr(model_registry, "chat_model", lambda: model)
            monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(model))

        yield switch


def normal() -> Normal:
    documents = dict(Document.objects.values_list("pk", "external_id"))
    chunks = {}
    for pk, document, ordinal in Chunk.objects.values_list("pk", "version__document_id", "ordinal"):
        chunks[pk] = f"{documents[document]}#{ordinal}"
    return Normal(documents=documents, chunks=chunks)


def stored(message_id: str) -> dict:
    """The row of an answer, apart from what its reply shows, too."""
    message = Message.objects.get(pk=message_id)
    kept = {name: getattr(message, name) for name in ("answer", "answer_html", "state", "sentences")}
    metadata = sorted(message.metadata)
    cited = [(row.number, row.document.external_id, row.excerpt, row.cited) for row in citations_of(message=message)]
    return {**kept, "citations": cited, "trace": message.trace, "metadata": metadata}


async def answered(api: Api, normal: Normal, query: dict) -> dict:
    response = await api.post("/api/v1/rag/generate", query)
    body = response.json()
    assert response.status_code == 200, body
    kept, reply = normal(await sync_to_async(stored)(body["message_id"])), normal(body)
    kept["trace"] = trace_in_short(kept["trace"])
    return {"reply": reply, "stored": {key: value for key, value in kept.items() if value != reply.get(key)}}


async def streamed(api: Api, normal: Normal, query: dict, *, is_ordered: bool) -> list:
    response = await api.post("/api/v1/rag/generate/stream", {**query, "cache": False})
    events = normal(await sse(response))
    return events_in_short(events, is_ordered=is_ordered)


async def completed(api: Api, normal: Normal, query: dict) -> list:
    body = {"model": "ragsite", "messages": [{"role": "user", "content": query["query"]}], "stream": True}
    response = await api.post("/v1/chat/completions", body)
    text = "".join([part.decode() async for part in response.streaming_content])
    found, content = [], ""
    for line in text.splitlines():
        if line.startswith("data: {"):
            data = normal(json.loads(line.removeprefix("data: ")))
            delta = data["choices"][0]["delta"] if data["choices"] else {}
            content += delta.get("content", "")
            if set(delta) != {"content"}:
                found.append(data)
    return [content, *found]


async def on_the_page(world: World, normal: Normal, query: str, *, is_ordered: bool, **options) -> list:
    scope = await sync_to_async(scope_of)(world.reader)
    request = AnswerRequest(query=query, cache=False, given=frozenset(options), **options)
    message = await turn_start(scope=scope, user=world.reader, request=request, channel=Conversation.Channel.WEB)
    events = [{"type": e.type, **e.data} async for e in read_events(message.pk, 0, scope=scope)]
    return events_in_short(normal(events), is_ordered=is_ordered)


async def test_a_fixed_list_of_questions_has_the_answers_that_were_approved(asker, with_model, pytestconfig):
    api, names = Api(asker.key), await sync_to_async(normal)()
    received: dict = {}
    for model in ("without a model", "with a model"):
        if model == "with a model":
            with_model()
        for name, query in QUESTIONS.items():
            in_conversation = {"conversation_id": f"talk {model}"} if "conversation_id" in query else {}
            received[f"{name}, {model}"] = await answered(api, names, {**query, **in_conversation})
        received[f"again, {model}"] = (await answered(api, names, QUESTIONS["basic"]))["reply"]["metadata"]
        for name in STREAMED:
            ordered = not any(value in LOOPS for value in QUESTIONS[name].values())
            key = f"{name}, streamed {model}"
            received[key] = await streamed(api, names, QUESTIONS[name], is_ordered=ordered)
        received[f"completion, {model}"] = await completed(api, names, QUESTIONS["basic"])
        received[f"page, {model}"] = await on_the_page(asker, names, RA, is_ordered=True)
        received[f"page agentic, {model}"] = await on_the_page(asker, names, CA, is_ordered=False, mode="agentic")

    lines = (f"{json.dumps(key)}: {json.dumps(received[key], ensure_ascii=False)}" for key in sorted(received))
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    place = pytestconfig.rootpath / ".pytest_cache" / "received_answers.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8")
    approved = json.loads(APPROVED.read_text(encoding="utf-8"))
    assert differences(approved, json.loads(text)) == []
