"""Two editions that a question compares are read whole."""

import pytest

from knowledge.models import Chunk
from tests.factories import ingest

SECTIONS = 40
PARTS = (
    "pump valve hose motor fan filter belt lamp switch cable door lock wheel brake spring chain gear seal bearing clamp"
)


def manual(year, days):
    names = [f"{side} {part}" for part in PARTS.split() for side in ("left", "right")]
    told = (
        f"## The {name}\n\nThe {name} is checked every {days + n} days by the {names[-n]} crew. Before that the {name}"
        f" is taken out of box {n} with tool {n + 7}, cleaned beside the {names[n // 2]} and laid on table {n * 3}.\n"
        for n, name in enumerate(names)
    )
    return f"# Care rules ({year} edition)\n\n" + "\n".join(told)


@pytest.fixture
def editions(world):
    texts = {f"Care rules ({year} edition)": manual(year, days) for year, days in ((2021, 30), (2023, 60))}
    documents = ingest(world.owner, world.knowledge_set, **texts)
    assert all(Chunk.objects.filter(version__document=one).count() > 3 for one in documents.values())
    return documents


async def test_sections_that_the_search_did_not_find_are_compared(api, editions):
    answer = (await api.generate("what changed in the 2023 edition of the care rules"))["answer"]

    shown = answer.count(" is checked every ") // 2
    assert answer.startswith("| Aspect | 2023 edition | 2021 edition |")
    assert answer.endswith(f"**{SECTIONS - shown} more differences**")


async def test_of_an_edition_that_is_too_long_no_section_is_called_missing(api, editions, monkeypatch):
    monkeypatch.setattr("chat.answering.whole_editions.MOST_PASSAGES", 2)

    answer = (await api.generate("what changed in the 2023 edition of the care rules"))["answer"]

    assert "—" not in answer
