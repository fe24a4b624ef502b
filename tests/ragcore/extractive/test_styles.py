"""Quoted answers that are to be short, or nothing but quotations, and parts with sources of their own."""

from __future__ import annotations

import itertools

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.styles import quoted, shortened
from ragcore.extractive.summary import MOST_POINTS, summary_runs
from ragcore.ports import AnswerPart, GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MAST = source(
    1,
    "# The mast\n\nThe mast of Ulm is a tower for antennas. It was built in 1987 by Weber. The mast is painted red.",
)
MAST_ZH = source(1, "天线杆是支撑天线的塔。天线杆建于一九八七年。天线杆涂成红色。", title="天线杆")


def text_of(question: str, style: str, passage=MAST) -> str:
    request = GenerationRequest(question=question, sources=(passage,), style=style)
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(request))


@pytest.mark.parametrize(
    ("question", "passage"), [("What do you know about the mast of Ulm?", MAST), ("介绍一下天线杆。", MAST_ZH)]
)
def test_the_styles_differ_in_what_they_show(question, passage):
    report, short, close = (text_of(question, style, passage) for style in ("report", "simple", "precise"))

    assert len({report, short, close}) == 3
    assert len(short) < len(report)
    assert short.count("[1]") < report.count("[1]")
    lines = [line for line in close.splitlines() if line]
    assert all(line.startswith("> ") and line.endswith("[1]") for line in lines)
    plain = passage.text.replace("\n", " ")
    assert all(line.removeprefix("> ").removesuffix("[1]").strip() in plain for line in lines)


def test_a_short_answer_has_the_best_sentences_and_no_further_points():
    text = "One [1] Two [1] Three [1]\n\n**Also relevant**\n\n- Four [2]"

    assert shortened(text, lambda sentence: {"Two": 2.0, "Three": 1.0}.get(sentence, 0.0)) == "Two [1] Three [1]"
    assert shortened("1. First. [1] More. [1]\n2. Second. [1]") == "1. First. [1]\n2. Second. [1]"
    assert shortened("Only one. [1]") == "Only one. [1]"
    assert shortened("| a | b |\n| --- | --- |\n| 1 | 2 [1] |") == "| a | b |\n| --- | --- |\n| 1 | 2 [1] |"


def test_quotations_stand_alone_without_headings_and_emphasis():
    text = "**The passage that fits best**\n\nIt is **red**. [1] It is tall. [2]\n\n- A point. [1]"

    assert quoted(text) == "> It is red. [1]\n\n> It is tall. [2]\n\n> A point. [1]"


def test_parts_have_sources_and_leads_of_their_own():
    parts = (
        AnswerPart(question="", sources=(), otherwise="Nothing there."),
        AnswerPart(question="When was the mast built?", sources=(MAST,), lead="#### Others\n\n"),
        AnswerPart(question="What?", sources=(), lead="#### Never shown\n\n"),
    )

    request = GenerationRequest(question="When?", sources=(MAST,), parts=parts)
    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text.startswith("Nothing there.\n\n#### Others\n\n")
    assert "1987" in text
    assert "Never shown" not in text


def test_a_summary_takes_sentences_of_all_parts_in_their_order():
    facts = [
        f"## Part {n}\n\nThe {who} {does} every {what}.\n"
        for n, (who, does, what) in enumerate(
            itertools.zip_longest(
                ["guard", "clerk", "nurse", "pilot", "baker", "farmer", "painter", "miner", "weaver"],
                ["opens", "signs", "checks", "lands", "bakes", "ploughs", "dries", "digs", "spins"],
                ["gate", "letter", "patient", "aircraft", "loaf", "meadow", "canvas", "tunnel", "thread"],
            )
        )
    ]
    passage = source(1, "# Rules\n\n" + "\n".join(facts))

    runs = summary_runs([passage], TOKENIZER)

    places = [statement.position for run in runs for statement in run]
    assert len(runs) == MOST_POINTS
    assert places == sorted(places)
    assert runs == summary_runs([passage], TOKENIZER)
