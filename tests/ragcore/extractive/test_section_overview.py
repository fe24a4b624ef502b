"""The overview of a section names every subsection."""

from __future__ import annotations

import pytest

from ragcore.extractive.formatting import wording_for
from ragcore.extractive.section_overview import overview_passages, section_overview, wanted_summary
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

NAMES = ("Radio unit", "Baseband", "Power supply", "Timing", "Cooling", "Management")
WISH = "Give an overview of the subsystems"


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def source_of(number, path, text):
    passage = Passage(
        chunk=number, document=1, version=1, text=text, title="Orion gateway", heading_path=path, ordinal=number
    )
    return Source(number=number, passage=passage, text=text, score=1.0)


def long_section(heading="Subsystems"):
    """A section whose subsections are passages of their own, two of the first one."""
    top = ("Orion gateway", heading)
    texts = [(top, "The gateway consists of six parts."), *(((*top, name), opening(name)) for name in NAMES)]
    texts.insert(2, ((*top, NAMES[0]), "The radio unit also has an antenna port of its own."))
    return [source_of(number, path, text) for number, (path, text) in enumerate(texts, start=1)]


def opening(name):
    return f"The {name.lower()} is one part of the whole. It is described in more words here."


def answer(wish, sources, tokenizer):
    return "".join(wanted_summary(wish, sources, tokenizer, wording_for(wish, "en")))


@pytest.mark.parametrize("wish", [WISH, "概述 subsystems", "Summarise the subsystems of the Orion gateway"])
def test_each_subsection_is_named_once_with_its_first_sentence(tokenizer, wish):
    text = answer(wish, long_section(), tokenizer)

    assert [line.split("**")[1] for line in text.splitlines()] == list(NAMES)
    assert "- **Baseband**: The baseband is one part of the whole. [4]" in text.splitlines()


def test_headings_within_one_passage_are_subsections_too(tokenizer):
    text = "\n\n".join(f"### {name}\n\n{opening(name)}" for name in NAMES)

    subsections = section_overview(WISH, [source_of(1, ("Orion gateway", "Subsystems"), text)], tokenizer)

    assert [subsection.name for subsection in subsections] == list(NAMES)


def test_a_subsection_that_begins_with_a_table_is_named_without_a_sentence(tokenizer):
    sources = long_section()
    table = "| Part | Mass |\n| --- | --- |\n| Fan | 2 kg of steel |\n"
    sources[-1] = source_of(8, ("Orion gateway", "Subsystems", "Management"), table)

    assert answer(WISH, sources, tokenizer).splitlines()[-1] == "- **Management** [8]"


def test_a_section_that_is_not_named_and_a_whole_document_are_summed_up_as_before(tokenizer):
    for wish in ("Give an overview of the interfaces", "Summarise the Orion gateway", "What are the subsystems?"):
        assert section_overview(wish, long_section(), tokenizer) == []
    assert answer("Summarise the Orion gateway", long_section(), tokenizer)


def test_a_heading_with_one_subsection_has_no_overview(tokenizer):
    assert section_overview(WISH, long_section()[:2], tokenizer) == []


def test_the_passages_are_those_in_which_subsections_begin(tokenizer):
    passages = [source.passage for source in long_section()]

    assert [passage.chunk for passage in overview_passages(WISH, passages, tokenizer)] == [2, 4, 5, 6, 7, 8]
