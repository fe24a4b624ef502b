"""The exact answer cache, seen from outside."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from django.utils import timezone
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from accounts.models import User
from accounts.services import api_key_create
from chat import metrics
from chat.answering import cache, pipeline
from chat.concurrency.executors import run_db
from chat.models import Conversation, MessageCitation
from chat.types import AnswerRecord
from knowledge.models import Document, KnowledgeSet
from knowledge.services import document_delete
from tests.chat.conftest import Api
from tests.factories import ingest, make_set, make_user, scope_of
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = ("The random access procedure has four steps [1].",)


async def test_the_second_asker_gets_the_kept_answer_with_citations_of_its_own(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    first = await api.generate(QUESTION)
    _, key = await run_db(api_key_create, user=world.owner, name="x")

    second = await Api(key).generate(f"  {QUESTION.upper()} ")

    assert (first["metadata"]["cache"], second["metadata"]["cache"]) == ("none", "exact")
    assert second["answer"] == first["answer"]
    assert second["message_id"] != first["message_id"]
    assert second["metadata"]["usage"]["total_tokens"] == 0
    assert await run_db(MessageCitation.objects.filter(message_id=second["message_id"], cited=True).count) == 1
    assert len(llm.requests) == 1


async def test_the_cache_can_be_passed_by(api, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    again = await api.generate(QUESTION, cache=False)

    assert again["metadata"]["cache"] == "none"
    assert len(llm.requests) == 2


async def test_other_options_are_another_question(api, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    assert (await api.generate(QUESTION, temperature=1.0))["metadata"]["cache"] == "none"
    assert (await api.generate(QUESTION, citation_format="html"))["metadata"]["cache"] == "exact"


async def test_a_change_of_the_documents_makes_kept_answers_stale(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    await run_db(ingest, world.owner, world.knowledge_set, new="Random access has a fifth step.")

    assert (await api.generate(QUESTION))["metadata"]["cache"] == "none"


async def test_a_deleted_document_is_gone_from_kept_answers(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    scope = await run_db(scope_of, world.owner)
    await run_db(document_delete, scope=scope, actor=world.owner, document_id=world.documents["ra"].pk)
    answer = await api.generate(QUESTION)

    assert answer["metadata"]["cache"] == "none"
    assert "ra" not in {citation["external_id"] for citation in answer["citations"]}


async def test_an_answer_from_a_closed_set_is_never_served_to_outsiders(api, world):
    insider = await run_db(make_user)
    closed = await run_db(make_set, "closed", owners=[world.owner], members=[insider], visibility="members")
    await run_db(ingest, world.owner, closed, secret="The keeper of the vault is agent Lindqvist.")
    _, key = await run_db(api_key_create, user=insider, name="x")
    question = "Who is the keeper of the vault?"

    told = await Api(key).generate(question)
    untold = await api.generate(question)

    assert "Lindqvist" in told["answer"]
    assert "Lindqvist" not in str(untold["answer"]) + str(untold["citations"])
    assert untold["metadata"]["cache"] == "none"


async def test_an_answer_above_the_clearance_is_never_served(api, world):
    low = await run_db(make_user, clearance=0)
    await run_db(
        ingest, world.owner, world.knowledge_set, clearance=3, secret="The keeper of the vault is agent Lindqvist."
    )
    _, key = await run_db(api_key_create, user=low, name="x")
    question = "Who is the keeper of the vault?"

    told = await api.generate(question)
    untold = await Api(key).generate(question)

    assert "Lindqvist" in told["answer"]
    assert "Lindqvist" not in str(untold["answer"]) + str(untold["citations"])


async def test_of_many_askers_at_once_one_makes_the_answer(api, llm):
    llm.default = Reply(texts=ANSWER)

    answers = await asyncio.gather(*(api.generate(QUESTION) for _ in range(8)))

    assert len(llm.requests) == 1
    assert sorted(answer["metadata"]["cache"] for answer in answers) == ["exact"] * 7 + ["none"]


@pytest.mark.full
async def test_fifty_askers_at_once_cost_one_computation(api, world, llm, monkeypatch):
    llm.default = Reply(texts=ANSWER)
    computed = []
    real = pipeline.compute_answer

    async def counted(context):
        computed.append(context)
        return await real(context)

    monkeypatch.setattr(pipeline, "compute_answer", counted)
    keys = [await run_db(api_key_create, user=await run_db(make_user), name="x") for _ in range(5)]

    answers = await asyncio.gather(*(Api(key).generate(QUESTION) for _, key in keys for _ in range(10)))

    assert (len(computed), len(llm.requests)) == (1, 1)
    assert sorted(answer["metadata"]["cache"] for answer in answers) == ["exact"] * 49 + ["none"]
    assert len({answer["message_id"] for answer in answers}) == 50


async def test_a_change_in_another_set_leaves_kept_answers(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    other = await run_db(make_set, "other", owners=[world.owner])
    sets = [world.knowledge_set.pk]
    await api.generate(QUESTION, sets=sets)

    await run_db(ingest, world.owner, other, pay="Salaries are paid on the last working day.")

    assert (await api.generate(QUESTION, sets=sets))["metadata"]["cache"] == "exact"


async def test_a_source_that_may_no_longer_be_read_ends_a_kept_answer(api, world, llm):
    """Also where nothing has announced the change: each source is checked at each hit."""
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    await run_db(Document.objects.filter(pk=world.documents["ra"].pk).update, clearance=4)
    await run_db(User.objects.filter(pk=world.reader.pk).update, clearance=4)
    kept = await api.generate(QUESTION)
    await run_db(Document.objects.filter(pk=world.documents["ra"].pk).update, deleted=timezone.now())
    gone = await api.generate(QUESTION)

    assert (kept["metadata"]["cache"], gone["metadata"]["cache"]) == ("exact", "none")
    assert "ra" not in {citation["external_id"] for citation in gone["citations"]}


async def test_hits_and_misses_are_counted(api, llm):
    llm.default = Reply(texts=ANSWER)
    before = [cache_count("hit"), cache_count("miss")]

    await api.generate(QUESTION)
    await api.generate(QUESTION)

    assert [cache_count("hit") - before[0], cache_count("miss") - before[1]] == [1, 1]


def cache_count(result, kind="exact"):
    return metrics.CACHE.labels(kind, result)._value.get()


async def test_another_profile_is_another_question_unless_it_is_switched_off(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    reader = User.objects.filter(pk=world.reader.pk)
    await api.generate(QUESTION)

    await run_db(Document.objects.filter(pk=world.documents["ho"].pk).update, tags=["BTS"])
    await run_db(reader.update, product="BTS")
    with_profile = await api.generate(QUESTION)
    await run_db(reader.update, use_profile=False)
    without = await api.generate(QUESTION)

    assert with_profile["metadata"]["cache"] == "none"
    assert without["metadata"]["cache"] == "exact"


async def test_a_profile_that_no_document_agrees_with_is_the_same_question(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    await run_db(User.objects.filter(pk=world.reader.pk).update, product="BTS", department="Legal")

    assert (await api.generate(QUESTION))["metadata"]["cache"] == "exact"


async def test_asking_again_and_again_in_the_same_sets_does_not_empty_the_cache(api, world, llm):
    llm.default = Reply(texts=ANSWER)

    def conversation():
        Conversation.objects.create(tenant=world.reader.tenant, user=world.reader).sets.set([world.knowledge_set])

    await run_db(conversation)
    first = await api.generate(QUESTION)
    await run_db(conversation)
    second = await api.generate(QUESTION)

    assert (first["metadata"]["cache"], second["metadata"]["cache"]) == ("none", "exact")


async def test_what_was_asked_lately_is_part_of_the_question_only_where_it_takes_part(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    sets = [world.knowledge_set.pk]
    await api.generate(QUESTION)
    await api.generate(QUESTION, sets=sets)

    def conversation():
        Conversation.objects.create(tenant=world.reader.tenant, user=world.reader).sets.set(sets)

    await run_db(conversation)

    assert (await api.generate(QUESTION))["metadata"]["cache"] == "none"
    assert (await api.generate(QUESTION, sets=sets))["metadata"]["cache"] == "exact"


async def test_a_degraded_answer_is_not_kept(api, llm):
    llm.script(Reply(status=400))
    llm.default = Reply(texts=ANSWER)

    first, second = await api.generate(QUESTION), await api.generate(QUESTION)

    assert (first["status"], second["status"]) == ("degraded", "answered")


async def test_other_options_of_the_set_are_another_question(api, world, llm):
    llm.default = Reply(texts=ANSWER)
    sets = [world.knowledge_set.pk]
    await api.generate(QUESTION, sets=sets)

    await run_db(KnowledgeSet.objects.update, options={"retrieval": {"top_k": 2}})

    assert (await api.generate(QUESTION, sets=sets))["metadata"]["cache"] == "none"


async def test_without_redis_everyone_gets_an_answer_of_their_own(api, llm, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody listens there
    llm.default = Reply(texts=ANSWER)

    first, second = await api.generate(QUESTION), await api.generate(QUESTION)

    assert [answer["status"] for answer in (first, second)] == ["answered"] * 2
    assert second["metadata"]["cache"] == "none"


async def test_an_answer_that_cannot_be_kept_is_given_all_the_same(api, llm, monkeypatch):
    llm.default = Reply(texts=ANSWER)
    keep = Redis.set

    async def full(self, name, *args, **kwargs):
        if str(name).startswith("answer:") and not str(name).endswith(":lock"):
            raise ResponseError("OOM command not allowed when used memory > 'maxmemory'.")
        return await keep(self, name, *args, **kwargs)

    monkeypatch.setattr(Redis, "set", full)

    assert (await api.generate(QUESTION))["status"] == "answered"


async def test_who_gets_the_lock_late_looks_again_before_making_an_answer(redis_client, monkeypatch):
    made = AnswerRecord(text="kept", html="", status="answered", confidence=1.0)
    real = cache.redis_lock

    @asynccontextmanager
    async def late(name, *, wait_seconds):
        redis_client.set("answer:x", json.dumps(made.to_json()))  # its holder ended just before
        async with real(name, wait_seconds=wait_seconds) as first:
            yield first

    async def usable(record):
        return True

    async def make():
        raise AssertionError("made twice")

    monkeypatch.setattr(cache, "redis_lock", late)

    record, hit = await cache.through_cache("answer:x", is_usable=usable, compute=make)

    assert (record.text, hit) == ("kept", True)
