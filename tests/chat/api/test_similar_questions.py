"""Answers to reworded questions, seen from outside: an option, off by default."""

from __future__ import annotations

import pytest

from accounts.services import api_key_create
from chat import metrics
from chat.answering.similar_questions import FLOOR, FLOORS, least_cosine
from chat.concurrency.executors import run_db
from knowledge import model_registry
from knowledge.models import SiteOptions
from ragcore.understanding.same_question import is_same_question
from tests.chat.conftest import Api
from tests.factories import ingest, make_set, make_user
from tests.ragcore.understanding.near_misses import CHINESE_PARAPHRASES, ENGLISH_PARAPHRASES
from tests.scripted_llm import Reply

QUESTION = "How many steps are there in the random access procedure?"
REWORDED = "What is the number of steps in the random access procedure?"
NEAR_MISS = "How many steps are there in the two-step random access procedure?"
ANSWER = ("The random access procedure has four steps [1].",)


@pytest.fixture
def switched_on(world, llm):
    llm.default = Reply(texts=ANSWER)
    SiteOptions.objects.update_or_create(
        tenant=world.owner.tenant, defaults={"options": {"answer": {"semantic_cache": True}}}
    )


def counted(result: str) -> float:
    return metrics.CACHE.labels("semantic", result)._value.get()


async def test_a_reworded_question_gets_the_kept_answer(api, llm, switched_on):
    before = counted("hit")
    first = await api.generate(QUESTION)

    second = await api.generate(REWORDED)
    third = await api.generate(QUESTION)

    assert [one["metadata"]["cache"] for one in (first, second, third)] == ["none", "semantic", "exact"]
    assert second["answer"] == first["answer"]
    assert second["citations"]
    assert (len(llm.requests), counted("hit") - before) == (1, 1)


async def test_a_near_miss_is_refused_and_counted(api, llm, switched_on):
    before = counted("refused")
    await api.generate(QUESTION)

    assert (await api.generate(NEAR_MISS))["metadata"]["cache"] == "none"
    assert (len(llm.requests), counted("refused") - before) == (2, 1)


async def test_it_is_off_by_default(api, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    assert (await api.generate(REWORDED))["metadata"]["cache"] == "none"


async def test_a_reworded_question_never_crosses_rights_nor_options(api, world, llm, switched_on):
    closed = await run_db(make_set, "closed", owners=[world.owner], visibility="members")
    await run_db(ingest, world.owner, closed, secret="Random access has a secret fifth step.")
    low = await run_db(make_user, clearance=0)
    keys = [(await run_db(api_key_create, user=user, name="x"))[1] for user in (world.owner, low)]

    await Api(keys[0]).generate(QUESTION)

    for key in (world.key, keys[1]):
        assert (await Api(key).generate(REWORDED))["metadata"]["cache"] == "none"
    assert (await Api(keys[0]).generate(REWORDED, style="simple"))["metadata"]["cache"] == "none"
    assert (await Api(keys[0]).generate(REWORDED, cache=False))["metadata"]["cache"] == "none"


async def test_without_redis_it_is_answered_all_the_same(api, llm, switched_on, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody listens there

    assert (await api.generate(QUESTION))["status"] == "answered"


def test_questions_that_are_the_same_are_near_enough_for_the_packaged_model():
    pairs = [pair for pair in (*ENGLISH_PARAPHRASES, *CHINESE_PARAPHRASES) if is_same_question(*pair)]
    embedder = model_registry.embedder()
    first, second = (embedder.embed_queries([pair[side] for pair in pairs]) for side in (0, 1))

    cosines = (first * second).sum(axis=1)

    assert (cosines >= least_cosine(embedder.model)).mean() >= 0.9, sorted(cosines)[:20]
    assert least_cosine("another") == FLOOR > max(FLOORS.values())
