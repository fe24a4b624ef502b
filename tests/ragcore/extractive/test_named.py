"""A question that names a document's title is answered from it, not from another company's report (A4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.named import about_named, named_titles
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


def test_what_is_said_of_another_line_is_no_answer():
    lines = ("Line #1 leaves at 7:10.", "Line #2 leaves at 7:20.", "Line #3 leaves at 6:55.")
    buses = source(1, " ".join(lines))
    request = GenerationRequest(question="when does line #2 leave", sources=(buses,))

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert "7:20" in text
    assert "7:10" not in text
    assert "6:55" not in text
