"""Imported and extracted facts in answers: cited, within the asker's rights, and only where they answer."""

from __future__ import annotations

import io
import re
import time

import pytest
from django.urls import reverse

from accounts.selectors import scope_for
from chat.answers.approval import answer_approve
from chat.concurrency.executors import run_db
from chat.conversations.sharing import link_create
from chat.errors import FactsNotApprovableError
from chat.models import FactCitation, Message
from chat.pages.shared_view import shared_turns
from knowledge.models import Chunk, KnowledgeSet, Triple
from knowledge.services.fact_decisions import fact_reject
from knowledge.services.triples import import_delete, triples_import
from tests.chat.conftest import sse
from tests.factories import ingest, make_set, make_tenant, make_user
from tests.knowledge.fills import triples_tend
from tests.scripted_llm import Reply

BELGIUM = b"subject,relation,object\nBelgium,leader,Charles Michel\nBelgium,capital,Brussels\n"
QUESTION = "Who is the leader of Belgium?"
STATED = "The leader of Belgium is Charles Michel."
RESPONSE = "How many steps does the random access procedure have?"
STEPS = b"subject,relation,object\nrandom access procedure,steps,7\n"


def facts_add(world, content=BELGIUM, *, into=None, name="countries.csv"):
    into = into or world.knowledge_set
    owner = into.owners.first()
    taken = triples_import(
        scope=scope_for(owner), actor=owner, lines=io.BytesIO(content), form="csv", set_id=into.pk, name=name
    )
    assert taken.accepted
    return taken.imports[0]


def members_set(world, *readers):
    into = make_set("closed", owners=[world.owner], visibility=KnowledgeSet.Visibility.MEMBERS)
    into.members.add(*readers)
    return into


# ── without a language model ──


@pytest.mark.parametrize("mode", ["basic", "enhanced", "agentic", "ultimate"])
async def test_an_imported_fact_answers_in_every_mode(api, world, mode):
    await run_db(facts_add, world)

    answer = await api.generate(QUESTION, mode=mode, cache=False)

    assert answer["status"] == "answered"
    assert answer["answer"] == f"{STATED} [1]"
    [citation] = answer["citations"]
    assert citation["title"] == "fact, imported from countries.csv"
    assert (citation["chunk_id"], citation["document_id"]) == (None, None)
    assert citation["fact_id"] == (await run_db(Triple.objects.get, relation="leader")).pk
    assert citation["content"] == STATED
    assert answer["confidence"] > 0.7
    assert [sentence["support"] for sentence in answer["sentences"]] == ["supported"]
    assert "fact, imported from countries.csv" in answer["formatted_citations"]
    assert await run_db(FactCitation.objects.count) == 1


@pytest.mark.parametrize("options", [{"strategy": "adaptive"}, {"strategy": "self_rag"}, {"style": "precise"}])
async def test_strategies_and_styles_have_facts_too(api, world, options):
    await run_db(facts_add, world)

    assert STATED in (await api.generate(QUESTION, cache=False, **options))["answer"]


async def test_a_chinese_question_is_answered_from_a_fact(api, world):
    await run_db(facts_add, world, "subject,relation,object\n比利时,领导人,夏尔·米歇尔\n".encode(), name="国家.csv")

    answer = await api.generate("比利时的领导人是谁？", cache=False)

    assert answer["answer"] == "比利时的领导人是夏尔·米歇尔。 [1]"


async def test_a_stream_cites_facts(api, world):
    await run_db(facts_add, world)

    events = await sse(await api.post("/api/v1/rag/generate/stream", {"query": QUESTION, "cache": False}))

    assert STATED in "".join(event["content"] for event in events if event["type"] == "chunk")
    [citations] = [event["citations"] for event in events if event["type"] == "citations"]
    assert citations[0]["title"] == "fact, imported from countries.csv"


async def test_the_second_form_lists_facts_among_its_sources(api, world):
    await run_db(facts_add, world)

    answer = (await api.post("/api/v1/rag/query", {"query": QUESTION})).json()

    [source] = answer["sources"]
    assert (source["id"], source["title"], source["content"]) == (None, "fact, imported from countries.csv", STATED)
    assert [citation["citation_num"] for citation in answer["citations"]] == [source["citation_id"]]


async def test_a_fact_and_a_passage_that_contradict_each_other_are_both_shown(api, world):
    before = await api.generate(RESPONSE, cache=False)
    assert "four steps" in before["answer"]
    await run_db(facts_add, world, STEPS, name="steps.csv")

    answer = await api.generate(RESPONSE, cache=False)

    first, rest = answer["answer"].split("\n\n", 1)
    assert "7" in first
    assert rest == before["answer"].replace("[1]", "[2]")
    assert [c["fact_id"] is None for c in answer["citations"]].count(False) == 1


@pytest.mark.parametrize(
    "question",
    ["Where is the preamble sent?", "What does the source cell send?", RESPONSE, "载波聚合最多支持多少个载波？"],
)
async def test_a_fact_that_does_not_answer_changes_nothing(api, world, question):
    before = await api.generate(question, cache=False)
    about = (
        "subject,relation,object\nrandom access procedure,standard,TS 38.321\nPRACH,part of,NR\n载波聚合,标准,36.300\n"
    )
    await run_db(facts_add, world, about.encode())

    after = await api.generate(question, cache=False)

    assert after["answer"] == before["answer"]
    assert after["fact_chain"] is None


async def test_several_leaders_are_all_there(api, world):
    await run_db(facts_add, world)
    await run_db(facts_add, world, b"subject,relation,object\nBelgium,leader,Elio Di Rupo\n", name="old.csv")

    answer = await api.generate(QUESTION, cache=False)

    assert "Charles Michel. [" in answer["answer"]
    assert "Elio Di Rupo. [" in answer["answer"]
    assert {c["external_id"] for c in answer["citations"]} == {"countries.csv", "old.csv"}


async def test_a_fact_that_was_read_in_a_passage_is_cited_as_its_passage(api, world):
    def read():
        options = {"facts": {"reading": "rules"}}
        into = make_set("units", owners=[world.owner], options=options)
        ingest(world.owner, into, units="The Control Unit is part of the base station.\n\n" + 30 * "Masts are tall. ")
        triples_tend()
        return Triple.objects.get(subject="Control Unit").chunk_id

    chunk = await run_db(read)
    answer = await api.generate("What is the Control Unit part of?", cache=False)

    assert answer["status"] == "answered"
    assert "part of the base station" in answer["answer"]
    assert {c["chunk_id"] for c in answer["citations"]} == {chunk}
    assert [fact["citation_num"] for fact in answer["fact_chain"]["facts"]] == [1]


# ── the chain ──


async def test_the_chain_can_be_read_with_the_answer_and_beside_its_fact(api, world, client):
    await run_db(facts_add, world)

    answer = await api.generate(QUESTION, cache=False)

    chain = answer["fact_chain"]
    assert (chain["question_type"], chain["answers"]) == ("subject", ["Charles Michel"])
    assert [step["name"] for step in chain["chain"]] == [
        "reason_1", "knowledge_1", "reason_2", "knowledge_2", "reason_3",
    ]  # fmt: skip
    assert chain["facts"][0] | {"id": 0} == {
        "id": 0, "subject": "Belgium", "relation": "leader", "object": "Charles Michel", "text": STATED,
        "states_answer": True, "file": "countries.csv", "citation_num": 1,
    }  # fmt: skip
    await client_login(client, world.reader)
    panel = await run_db(client.get, reverse("chat:source", args=[answer["message_id"], 1]))
    page = panel.content.decode()
    assert STATED in page
    assert "fact, imported from countries.csv" in page
    assert "Therefore the answer is: Charles Michel." in page


async def client_login(client, user):
    await run_db(client.force_login, user)


async def test_a_given_type_decides_what_is_asked_for(api, world):
    await run_db(facts_add, world, b"subject,relation,object,subject_type\nSchiphol,location,Haarlemmermeer,Airport\n")

    by_type = await api.generate("Schiphol", prompt_type="type", cache=False)
    by_object = await api.generate("Schiphol", prompt_type="object", cache=False)

    assert by_type["answer"] == "The type of Schiphol is airport. [1]"
    assert by_type["fact_chain"]["question_type"] == by_type["query_analysis"]["target"] == "type"
    assert by_object["status"] != "answered"
    assert by_object["query_analysis"]["target"] == "object"


# ── with a language model ──


async def test_a_model_reads_facts_and_their_chain(api, world, llm):
    await run_db(facts_add, world)
    llm.default = Reply(texts=("Charles Michel leads Belgium [1].",))

    answer = await api.generate(QUESTION, cache=False)

    prompt = llm.requests[-1].body["messages"][-1]["content"]
    assert "[Source 1] (File: fact, imported from countries.csv)" in prompt
    assert STATED in prompt
    assert "Therefore the answer is: Charles Michel." in prompt
    assert answer["answer"].startswith("Charles Michel leads Belgium")
    assert answer["citations"][0]["fact_id"]


async def test_a_model_is_told_of_facts_behind_the_passages(api, world, llm):
    await run_db(facts_add, world, STEPS, name="steps.csv")

    def both(request):
        number = re.search(r"\[Source (\d+)\] \(File: fact, imported", request.body["messages"][-1]["content"])[1]
        return Reply(texts=(f"The random access procedure has four steps [1]. By a list it has 7 steps [{number}].",))

    llm.respond = both

    answer = await api.generate(RESPONSE, cache=False)

    prompt = llm.requests[-1].body["messages"][-1]["content"]
    assert prompt.index("four steps") < prompt.index("fact, imported from steps.csv")
    assert "say both" in prompt
    assert {c["fact_id"] is None for c in answer["citations"]} == {True, False}


@pytest.mark.parametrize("mode", ["agentic", "ultimate"])
async def test_a_model_reads_facts_in_rounds(api, world, llm, mode):
    await run_db(facts_add, world, STEPS, name="steps.csv")
    llm.default = Reply(texts=("Four steps [1].",))

    await api.generate(RESPONSE, mode=mode, cache=False)

    prompts = [request.body["messages"][-1]["content"] for request in llm.requests]
    assert any("fact, imported from steps.csv" in prompt and "<chain>" in prompt for prompt in prompts)


async def test_without_facts_a_prompt_has_no_word_of_them(api, world, llm):
    llm.default = Reply(texts=("Four steps [1].",))

    answer = await api.generate(RESPONSE, cache=False)

    assert "chain" not in llm.requests[-1].body["messages"][-1]["content"]
    assert answer["fact_chain"] is None


# ── rights ──


async def test_facts_of_another_set_tenant_or_filter_answer_nothing(api, world):
    def facts_of_others():
        facts_add(world, into=members_set(world))
        tenant = make_tenant()
        facts_add(world, into=make_set("foreign", owners=[make_user(tenant=tenant)], tenant=tenant))

    await run_db(facts_of_others)
    assert (await api.generate(QUESTION, cache=False))["status"] != "answered"

    await run_db(facts_add, world)
    other = await run_db(make_set, "other", owners=[world.owner])
    assert (await api.generate(QUESTION, cache=False, sets=[other.pk]))["status"] != "answered"
    assert (await api.generate(QUESTION, cache=False, filters={"tags": ["x"]}))["status"] != "answered"
    assert (await api.generate(QUESTION, cache=False, sets=[world.knowledge_set.pk]))["status"] == "answered"


async def test_a_fact_of_a_passage_that_the_asker_may_not_read_does_not_exist(api, world):
    def read():
        into = members_set(world)
        into.options = {"facts": {"reading": "rules"}}
        into.save()
        ingest(world.owner, into, units="The Control Unit is part of the base station.")
        triples_tend()
        assert Triple.objects.filter(subject="Control Unit").exists()
        return into

    into = await run_db(read)
    question = "What is the Control Unit part of?"
    hidden = await api.generate(question, cache=False)
    assert hidden["status"] != "answered"
    assert "Control Unit" not in str(hidden["fact_chain"])

    await run_db(into.members.add, world.reader)
    assert "base station" in (await api.generate(question, cache=False))["answer"]


async def test_an_answer_from_facts_is_kept_while_its_facts_are_there(api, world):
    await run_db(facts_add, world, b"subject,relation,object\nFrance,leader,Somebody\n")
    assert (await api.generate(QUESTION))["status"] != "answered"

    imported = await run_db(facts_add, world)
    assert (await api.generate(QUESTION))["answer"] == f"{STATED} [1]"  # what was kept before holds no longer
    again = await api.generate(QUESTION)
    assert (again["metadata"]["cache"], again["citations"][0]["fact_id"] is None) == ("exact", False)

    await run_db(lambda: import_delete(scope=scope_for(world.owner), actor=world.owner, import_id=imported))
    assert (await api.generate(QUESTION))["status"] != "answered"


async def test_a_rejected_fact_answers_nothing(api, world):
    await run_db(facts_add, world)
    assert (await api.generate(QUESTION))["status"] == "answered"
    fact = await run_db(Triple.objects.get, relation="leader")

    await run_db(lambda: fact_reject(scope=scope_for(world.owner), actor=world.owner, triple_id=fact.pk))

    assert (await api.generate(QUESTION))["status"] != "answered"


async def test_who_may_not_see_a_fact_sees_nothing_of_it_in_answers_of_others(api, world, client):
    def prepare():
        into = members_set(world, world.reader)
        facts_add(world, into=into)
        return into

    into = await run_db(prepare)
    answer = await api.generate(QUESTION, cache=False)
    assert answer["status"] == "answered"

    def seen_by(user):
        link = link_create(scope=scope_for(world.reader), message_id=answer["message_id"], is_whole=False, days=7)
        [turn] = shared_turns(scope=scope_for(user), link=link).turns
        return "".join(part.html for part in turn.parts) + "".join(
            source.title + source.html for source in turn.sources
        )

    colleague = await run_db(make_user)
    assert "Michel" not in await run_db(seen_by, colleague)
    await run_db(into.members.add, colleague)
    page = await run_db(seen_by, colleague)
    assert "Michel" in page
    assert "fact, imported from countries.csv" in page

    await run_db(into.members.remove, world.reader)  # nor does the asker open it any more
    await client_login(client, world.reader)
    panel = await run_db(client.get, reverse("chat:source", args=[answer["message_id"], 1]))
    assert panel.status_code == 404
    turn = await run_db(client.get, reverse("chat:message", args=[answer["message_id"]]))
    assert "countries.csv" not in turn.content.decode()


async def test_an_answer_that_cites_facts_is_not_approved(api, world):
    await run_db(facts_add, world)
    answer = await api.generate(QUESTION, cache=False)

    def approve():
        chunk = Chunk.objects.filter(version__document=world.documents["ra"]).first()
        message = Message.objects.get(pk=answer["message_id"])
        answer_approve(
            scope=scope_for(world.owner), actor=world.owner, question=QUESTION, answer=STATED, chunks=[chunk],
            message=message,
        )  # fmt: skip

    with pytest.raises(FactsNotApprovableError):
        await run_db(approve)


async def test_ten_thousand_facts_about_one_thing_take_bounded_time(api, world):
    lines = "\n".join(f"Belgium,property {number},value {number}" for number in range(10_000))
    await run_db(facts_add, world, f"subject,relation,object\n{lines}\nBelgium,leader,Charles Michel\n".encode())
    await api.generate(QUESTION, cache=False)

    begun = time.perf_counter()
    answer = await api.generate(QUESTION, cache=False)

    assert answer["answer"] == f"{STATED} [1]"
    assert time.perf_counter() - begun < 5
