"""A question that names a document's title is answered from it, not from another company's report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragcore.extractive.answer_patterns import spells_out
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.named import about_codes, about_named, named_titles, without_siblings
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
REPORTS = {
    "Acme Tools Ltd.": "Acme raised ten million in January. It closed a branch.",
    "Border Foods Inc.": "Border raised six million in March.",
    "Steam": "Steam drives an engine.",
}


def sources(*titles: str) -> list[Source]:
    return [
        Source(
            number=number,
            passage=Passage(chunk=number, document=number, version=number, title=title, text=REPORTS[title]),
            text=REPORTS[title],
            score=1.0 / number,
        )
        for number, title in enumerate(titles, 1)
    ]


@pytest.mark.parametrize(
    ("question", "titles", "left"),
    [
        ("What did Acme Tools Ltd. raise in 2020?", ("Acme Tools Ltd.", "Border Foods Inc."), {"Acme Tools Ltd."}),
        ("What did Acme Tools Ltd. and Border Foods Inc. raise?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What was raised in January?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What did Border Foods Inc. raise?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What does steam drive?", ("Steam", "Acme Tools Ltd."), None),
    ],
)
def test_only_sentences_of_named_documents_are_left_where_the_best_source_is_named(question, titles, left):
    found = read_statements(sources(*titles), TOKENIZER)

    kept = about_named(found, named_titles(question, found, TOKENIZER))

    assert {found[at].source.passage.title for at in kept} == (left or set(titles))
    assert about_named([], frozenset()) == []


def test_a_title_within_a_longer_named_title_is_not_named():
    found = read_statements(sources("Acme Tools Ltd.", "Border Foods Inc."), TOKENIZER)
    short = [replace(s, source=replace(s.source, passage=replace(s.source.passage, title="Acme Tools"))) for s in found]

    named = named_titles("What did Acme Tools Ltd. raise?", [*found, *short], TOKENIZER)

    assert named == {"Acme Tools Ltd."}


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("what does V3.2.0 need", {"Notes V3.2.0"}),
        ("in which version is the fault of V3.2.0 gone", {"Notes V3.2.0", "Notes V3.2.1"}),
        ("how do V3.2.0 and V3.2.1 differ", {"Notes V3.2.0", "Notes V3.2.1"}),
        ("what is needed", {"Notes V3.2.0", "Notes V3.2.1"}),
    ],
)
def test_a_version_is_told_of_by_the_document_that_is_called_after_it(question, left):
    found = read_statements(
        [
            source(1, "It mends the fault of V3.2.0. It needs OMC 6.", title="Notes V3.2.1"),
            source(2, "This one needs OMC 5.", title="Notes V3.2.0"),
        ],
        TOKENIZER,
    )

    assert {found[at].source.passage.title for at in about_codes(question, found)} == left


def test_what_is_said_of_another_line_is_no_answer():
    lines = ("Line #1 leaves at 7:10.", "Line #2 leaves at 7:20.", "Line #3 leaves at 6:55.")
    buses = source(1, " ".join(lines))
    request = GenerationRequest(question="when does line #2 leave", sources=(buses,))

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert "7:20" in text
    assert "7:10" not in text
    assert "6:55" not in text


ROAD_MAP = (
    "# Road map\n\n## Next: Aspen\n\nGeneral availability is in October 2026.\n\n"
    "## Under study: Cedar\n\nA decision falls after the auction, not before 2027.\n\n"
    "## Where we are\n\nCedar and Aspen have 20 people.\n"
)


@pytest.mark.parametrize(
    ("question", "lost"),
    [
        ("When will Cedar be available?", {"General availability is in October 2026."}),
        ("when will aspen be available", {"A decision falls after the auction, not before 2027."}),
        ("When will Aspen and Cedar be available?", set()),
        ("When is general availability?", set()),
        ("When will Birch be available?", set()),
    ],
)
def test_what_stands_under_the_heading_of_another_thing_is_no_answer(question, lost):
    found = read_statements([source(1, ROAD_MAP)], TOKENIZER)
    scores = np.zeros(len(found), np.float32)

    after = without_siblings(question, found, scores)

    assert {one.text for one, score in zip(found, after, strict=True) if score < 0} == lost


def test_what_is_said_of_another_label_is_no_answer():
    found = read_statements(
        [source(1, "The value of port C was 2.3. Port A was closed. The storm lasted long.")], TOKENIZER
    )

    after = without_siblings("What was measured on port A?", found, np.zeros(len(found), np.float32))

    assert [one.text for one, score in zip(found, after, strict=True) if score < 0] == ["The value of port C was 2.3."]


@pytest.mark.parametrize(
    ("question", "text", "is_told"),
    [
        ("NSACF 是什么意思", "Rel-17 引入网络切片准入控制功能 NSACF，可以限制终端数。", True),
        ("what is RMA", "Ask for a return material authorisation (RMA) first.", True),
        ("what is RMA", "RMA: return material authorisation", True),
        ("what is RMA", "Send the RMA with the pump.", False),
        ("NSACF 是什么意思", "NSACFX 与 NSACF 不同", False),
        ("what is a pump", "A pump (P10) moves water.", False),
    ],
)
def test_an_abbreviation_is_spelt_out_by_the_words_beside_it(question, text, is_told):
    assert spells_out(question, [text]) is is_told
