"""Rows of a kind are listed and counted over the whole of a table that stands in several passages."""

import pytest

from knowledge import model_registry
from knowledge.models import Chunk
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.model_profile import ModelProfile
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.factories import ingest
from tests.scripted_llm import Reply, serving

ROWS = 90
URGENT = 7
STEP = "Send a technician to the site, measure the supply voltage twice and write the result into the log of the site."


@pytest.fixture(params=["markdown"])
def alarms(world, request):
    """A table of several passages in which the urgent rows stand far apart."""
    step = ROWS // URGENT
    rows = "\n".join(
        f"| ALM-{n} | Fault of unit {n} | {'urgent' if n % step == 1 and n < step * URGENT else 'minor'} | {STEP} |"
        for n in range(ROWS)
    )
    table = f"# Alarms of the P10\n\n| Alarm | Name | Severity | What to do |\n| --- | --- | --- | --- |\n{rows}\n"
    document = ingest(world.owner, world.knowledge_set, written=request.param, alarms=table)["alarms"]
    assert Chunk.objects.filter(version__document=document).count() > 3
    return document


@pytest.fixture
def model(monkeypatch):
    """Makes a scripted model with this profile, which writes this text, the one of the site."""
    with serving() as server:

        def use(profile, text):
            chat = OpenAIChatModel(server.url, "key", "scripted")
            chat.profile = profile
            monkeypatch.setattr(model_registry, "chat_model", lambda: chat)
            monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(chat, profile))
            server.default = Reply(texts=(text,))
            return server

        yield use
        server.release.set()


async def test_all_rows_are_counted_wherever_they_stand(api, alarms):
    answer = await api.generate("how many urgent alarms does the P10 have")

    assert answer["answer"].startswith(f"**{URGENT} urgent alarms in all**")
    assert answer["answer"].count("| urgent") == URGENT
    assert len({citation["chunk_id"] for citation in answer["citations"]}) > 1


async def test_rows_are_listed_without_a_number_where_none_is_asked(api, alarms):
    answer = await api.generate("list the urgent alarms of the P10")

    assert answer["answer"].startswith("| Alarm |")
    assert answer["answer"].count("| urgent") == URGENT


async def test_a_table_that_is_too_long_is_not_counted(api, alarms, monkeypatch):
    monkeypatch.setattr("chat.answering.retrieval.MOST_PASSAGES", 2)

    answer = await api.generate("how many urgent alarms does the P10 have")

    assert "in all" not in answer["answer"]


@pytest.mark.parametrize("alarms", ["text"], indirect=True)
async def test_rows_without_the_names_of_their_columns_are_not_counted(api, alarms):
    answer = await api.generate("how many urgent alarms does the P10 have")

    assert "in all" not in answer["answer"]


async def test_with_a_model_that_only_chooses_sentences_they_are_quoted_as_without_one(api, alarms, model):
    without = await api.generate("how many urgent alarms does the P10 have", cache=False)
    model(ModelProfile(way="fill", believes_refusals=False), "There are two [1].")

    answer = await api.generate("how many urgent alarms does the P10 have", cache=False)

    assert answer["answer"] == without["answer"]


async def test_a_model_that_writes_gets_no_table_of_many_passages(api, alarms, model):
    server = model(ModelProfile(), "There are seven [1].")

    await api.generate("how many urgent alarms does the P10 have", cache=False)

    prompt = server.requests[-1].body["messages"][-1]["content"]
    assert 0 < prompt.count("| urgent") < URGENT


@pytest.mark.parametrize("reply", [Reply(status=500), Reply(texts=("[1]",))], ids=["broken", "marks alone"])
async def test_a_model_that_writes_nothing_of_use_leaves_the_whole_table_to_be_quoted(api, alarms, model, reply):
    without = await api.generate("how many urgent alarms does the P10 have", cache=False)
    server = model(ModelProfile(), "")
    server.default = reply

    answer = await api.generate("how many urgent alarms does the P10 have", cache=False)

    assert answer["answer"] == without["answer"]
    assert {citation["chunk_id"] for citation in answer["citations"]} == {
        citation["chunk_id"] for citation in without["citations"]
    }


async def test_a_model_cannot_cite_a_passage_that_it_has_not_read(api, alarms, model):
    server = model(ModelProfile(), f"The P10 has seven urgent alarms {''.join(f'[{n}]' for n in range(1, 21))}.")

    answer = await api.generate("how many urgent alarms does the P10 have", cache=False)

    prompt = server.requests[-1].body["messages"][-1]["content"]
    texts = [chunk.text async for chunk in Chunk.objects.filter(version__document=alarms)]
    read = sum(text.strip()[:200] in prompt for text in texts)
    assert 0 < len(answer["citations"]) <= read < len(texts)
