"""Steps and handlings that stand in other passages than those that a search brings."""

import pytest

from knowledge.models import Chunk
from tests.factories import ingest

STEPS = 60
DETAIL = "Measure the supply voltage twice, write the result into the log of the site and wait for the green lamp."


@pytest.fixture
def long_procedure(world):
    """A procedure of several passages."""
    steps = "\n".join(f"{n}. Fasten clamp number {n} of the mast. {DETAIL}" for n in range(1, STEPS + 1))
    document = ingest(world.owner, world.knowledge_set, mast=f"# Raising the mast\n\n{steps}\n")["mast"]
    assert Chunk.objects.filter(version__document=document).count() > 3
    return document


async def test_a_step_is_found_in_whichever_passage_it_stands(api, long_procedure):
    answer = await api.generate("what is the last step of raising the mast")

    assert answer["answer"].startswith(f"{STEPS}. Fasten clamp number {STEPS} of the mast.")


async def test_a_step_beyond_the_last_is_refused_and_the_refusal_says_so(api, long_procedure):
    answer = await api.generate(f"what is step {STEPS + 9} of raising the mast")

    assert answer["status"] in ("refused", "search_results")
    assert f"“Raising the mast” has {STEPS} steps." in answer["answer"]


@pytest.fixture
def faults(world):
    """A list of faults, and a document that tells how one of them is handled."""
    rows = "| E-417 | Door stuck | high |\n| E-431 | Lamp flickers | low |\n"
    table = f"| Code | Fault | Priority |\n| --- | --- | --- |\n{rows}"
    care = "# Door stuck\n\nClean the door track and check the light barrier.\n"
    return ingest(world.owner, world.knowledge_set, faults=f"# Lift faults\n\n{table}", care=care)


async def test_handling_is_told_by_another_document(api, faults):
    answer = await api.generate("how do I handle E-417")

    assert "Clean the door track" in answer["answer"]


async def test_handling_that_no_document_tells_is_refused(api, faults):
    answer = await api.generate("how do I handle E-431")

    assert answer["status"] in ("refused", "search_results")
    assert "The sources do not say how E-431 is handled." in answer["answer"]
