"""Every method of rewriting through the API: the form that it promises is searched with."""

import json

import pytest

from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from knowledge.services.options import set_options_update, site_options_update
from ragcore.options import REWRITE_METHODS
from ragcore.text.normalise import nfkc
from ragsite.openapi import merged_schema
from tests.chat.conftest import Api
from tests.factories import make_admin, scope_of
from tests.scripted_llm import Reply

ANSWER = "The random access procedure has four steps [1]."
COURTEOUS = "请问一下，载波聚合最多支持多少个载波？"
# (method, question, forms) where rules write them
FORMS = [
    (
        "variants",
        "What is RA?",
        ["What is random access?", "RA definition concept basics", "RA how it works technical details"],
    ),
    (
        "variants",
        "什么是载波聚合？",
        ["什么是carrier aggregation？", "载波聚合 定义 概念 基础", "载波聚合 工作原理 技术细节"],
    ),
    ("simplify", COURTEOUS, ["载波聚合最多支持多少个载波？"]),
    ("clarify", "How many steps does RA have?", ["How many steps does RA (random access) have?"]),
    ("clarify", "载波聚合", ["载波聚合是什么"]),
    ("domain", "How many steps does RA have?", ["How many steps does random access have?"]),
    ("domain", "CA最多支持多少个载波？", ["载波聚合最多支持多少个载波？"]),
]


def forms_of(body):
    return {nfkc(form) for form in body["metadata"]["rewritten_queries"]}


@pytest.mark.parametrize(("method", "question", "forms"), FORMS)
async def test_by_rules_a_method_brings_its_form(api, method, question, forms):
    answer = await api.generate(question, rewrite_method=method)
    found = (await api.post("/api/v1/rag/retrieve", {"query": question, "rewrite_method": method})).json()

    assert set(map(nfkc, forms)) <= forms_of(answer)  # beside those that every question has
    assert forms_of(found) == set(map(nfkc, forms))
    assert found["metadata"]["rewrite_method"] == method
    assert "rewrite_method" not in answer["metadata"]["unused_options"]


@pytest.mark.parametrize(
    ("method", "question", "prompt", "form"),
    [
        ("simplify", COURTEOUS, "rewrite_simplify", "载波聚合支持多少个载波"),
        ("clarify", "How many steps does RA have?", "rewrite_clarify", "How many steps does random access (RA) take?"),
        ("domain", "How many steps does RA have?", "rewrite_domain", "Number of steps of the RA procedure"),
    ],
)
async def test_a_model_is_asked_with_the_prompt_of_the_method(api, llm, method, question, prompt, form):
    llm.script(Reply(texts=(json.dumps({"queries": [form]}),)))
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate(question, rewrite_method=method)

    asked = llm.requests[0].body["messages"][0]["content"]
    assert asked.startswith(OPENINGS[prompt])
    assert form in answer["metadata"]["rewritten_queries"]


OPENINGS = {
    "rewrite_simplify": "Write the question between <question> and </question> as short and plain",
    "rewrite_clarify": "Write the question between <question> and </question> so that",
    "rewrite_domain": "Write the question between <question> and </question> in the words that specialists",
}


async def test_variants_ask_no_model(api, llm):
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate("What is RA?", rewrite_method="variants")

    assert len(llm.requests) == 1
    assert answer["metadata"]["rewritten_queries"]


@pytest.mark.parametrize("method", ["variants", "simplify", "clarify", "domain"])
@pytest.mark.parametrize("level", ["site", "set"])
async def test_a_method_of_the_site_or_a_set_is_used_where_the_request_names_none(api, world, level, method):
    _, question, forms = next(form for form in FORMS if form[0] == method)
    options = {"answer": {"rewrite_method": method}}

    def configured():
        if level == "site":
            root = make_admin()
            return site_options_update(scope=scope_of(root), actor=root, options=options)
        kept = {"set_id": world.knowledge_set.pk, "options": options}
        return set_options_update(scope=scope_of(world.owner), actor=world.owner, **kept)

    await run_db(configured)
    _, key = await run_db(lambda: api_key_create(user=world.reader, name="later"))
    answer = await Api(key).generate(question, sets=[world.knowledge_set.pk])

    assert set(map(nfkc, forms)) <= forms_of(answer)


def test_the_description_of_the_api_names_every_method():
    schemas = merged_schema()["components"]["schemas"]

    for name in ("GenerateIn", "RetrieveIn", "BatchIn"):
        assert schemas[name]["properties"]["rewrite_method"]["enum"] == list(REWRITE_METHODS)
