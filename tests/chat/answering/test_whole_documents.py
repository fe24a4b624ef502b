"""A document that is named and to be summed up is read whole, within rights."""

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError

from accounts.models import User
from chat.answering import retrieval
from knowledge.models import Chunk, Document
from tests.factories import ingest
from tests.scripted_llm import Reply

FILLER = "Users of the network are put into a profile by their speed, and every profile has timers of its own. "
NOTE = (
    "Design note DN-0083, revision B, approved on 9 April 2025.\n\n"
    "Abstract. Timers that depend on the speed of the user halve the number of lost links.\n\n"
    + "\n\n".join(f"## Part {number}\n\n{12 * FILLER}" for number in range(6))
    + "\n\n## Results\n\nRadio links of fast trains failed 51 times instead of 142 times.\n"
)
WISH = "give me a short summary of DN-0083"


@pytest.fixture
def note(world):
    ingest(world.owner, world.knowledge_set, timers=NOTE)
    return Document.objects.get(external_id="timers")


async def test_a_document_named_by_the_code_in_its_first_lines_is_summed_up_from_its_beginning_to_its_end(api, note):
    answer = await api.generate(WISH)

    assert answer["status"] == "answered"
    assert "halve the number of lost links" in answer["answer"]
    assert "51 times" in (await api.generate("sum up the results of DN-0083"))["answer"]


async def test_the_overview_of_a_long_section_names_all_of_its_subsections(api, world):
    names = ("Radio unit", "Baseband", "Power supply", "Timing", "Cooling", "Management")
    parts = "\n\n".join(f"### {name}\n\nThe {name.lower()} has one task. {30 * FILLER}" for name in names)
    text = f"# Orion gateway\n\n## Subsystems\n\nThe gateway has several parts.\n\n{parts}"
    await sync_to_async(ingest)(world.owner, world.knowledge_set, written="markdown", orion=text)
    assert await Chunk.objects.filter(version__document__external_id="orion", kind="section").aexists()

    answer = await api.generate("Give an overview of the subsystems")

    assert answer["status"] == "answered"
    assert [line.split("**")[1] for line in answer["answer"].splitlines() if "**" in line] == list(names)
    assert len({citation["chunk_id"] for citation in answer["citations"]}) == len(names)


async def test_a_document_of_another_code_is_not_summed_up(api, note):
    assert (await api.generate("give me a short summary of DN-0084"))["status"] != "answered"


async def test_nobody_gets_the_summary_of_what_they_may_not_see(api, world, note):
    assert "lost links" in (await api.generate(WISH, cache=False))["answer"]
    await sync_to_async(User.objects.filter(pk=world.reader.pk).update)(clearance=2)
    await sync_to_async(Document.objects.filter(pk=note.pk).update)(clearance=3)

    assert "lost links" not in (await api.generate(WISH, cache=False))["answer"]


async def test_where_the_whole_cannot_be_read_the_answer_comes_from_what_was_found(api, note, monkeypatch, caplog):
    def fail(**given):
        raise DatabaseError("gone")

    monkeypatch.setattr(retrieval, "document_passages", fail)

    answer = await api.generate(WISH)

    assert answer["status"] in ("answered", "search_results")
    assert "could not be read whole" in caplog.text


async def test_a_language_model_gets_the_beginning_of_the_document_too(api, note, llm):
    llm.default = Reply(texts=("Timers that depend on the speed halve the number of lost links [1].",))

    answer = await api.generate("sum up the results of DN-0083")

    assert answer["status"] == "answered"
    assert "revision B" in str(llm.requests[-1])
