"""How something is done, told by the whole section that says it."""

import pytest

from ragcore.extractive.answer_patterns import asked_action, asks_procedure
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

GUIDE = source(
    1,
    """# IT guide

## VPN

The client is called Tunnel.

1. Start Tunnel and pick a gateway.
2. Enter your user name.
3. Confirm on the phone.

Two devices can be connected at the same time.

## Printers

Hold your badge to the printer.
""",
    title="IT guide",
)


def answer(question, *sources):
    return "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(GenerationRequest(question=question, sources=sources)))


def test_all_steps_are_told_in_their_order_with_what_stands_around_them():
    assert answer("how do I connect to the vpn", GUIDE) == (
        "The client is called Tunnel. [1]\n\n1. Start Tunnel and pick a gateway. [1]\n2. Enter your user name. [1]\n"
        "3. Confirm on the phone. [1]\n\nTwo devices can be connected at the same time. [1]"
    )


def test_steps_that_are_written_as_sentences_are_told_too():
    case = source(
        1,
        """# Case

## What was done

Step 1. Check whether the alarm is real. The reading was stable.

Step 2. Find the place of the fault. It was the connector.

Step 3. Replace the connector and measure again.

## What was changed

- The list asks for a photograph now.
- All sites of the team were inspected.
- A rule opens a ticket.
""",
        title="VSWR alarm on one sector",
    )

    text = answer("what should I do about the VSWR alarm", case)

    assert text.startswith("- Step 1. Check whether the alarm is real. [1] The reading was stable. [1]\n- Step 2.")
    assert "photograph" not in text


def test_a_section_without_steps_is_answered_by_its_sentences():
    assert answer("how do I print with the printer", GUIDE).startswith("Hold your badge to the printer. [1]")


def test_more_steps_than_anybody_reads_are_not_told_whole():
    steps = "\n".join(f"{n}. Tighten screw number {n} of the frame with the small key." for n in range(1, 60))

    assert answer("how do I tighten the frame", source(1, f"## Frame\n\n{steps}\n")).count("[1]") < 20


@pytest.mark.parametrize(
    "question",
    [
        "how do i book a rack",
        "电脑丢了怎么办",
        "如何申请软件",
        "what do I do when it leaks",
        "坏件返修怎么走流程",
        "walk me through it",
    ],
)
def test_questions_for_a_procedure(question):
    assert asks_procedure(question)


@pytest.mark.parametrize("question", ["how many racks are there", "机架怎么样", "how long does it take", "谁负责机架"])
def test_other_questions(question):
    assert not asks_procedure(question)


ROAD_MAP = source(
    2,
    """# Plan of radio units

## Birch

- Radio unit with 64 ports.
- First prototype in May.
- The price of the filter is open.
""",
    title="Plan of radio units",
)
MOUNTING = source(
    3,
    """# Radio units on site

A radio unit is mounted below the antenna. Its connectors point downwards.
""",
    title="Radio units on site",
)


def test_points_that_say_nothing_of_what_is_to_be_done_are_no_steps():
    shown = answer("how do i mount a radio unit", ROAD_MAP, MOUNTING)

    assert "1. Radio unit with 64 ports" not in shown
    assert "mounted below the antenna" in shown


@pytest.mark.parametrize(
    ("question", "action"),
    [
        ("how do i install a radio unit", "install"),
        ("How can the pump be stopped?", ""),
        ("how to reset my badge", "reset"),
        ("how do I make it work", ""),
        ("怎么安装射频单元", ""),
    ],
)
def test_what_is_to_be_done_is_the_verb_behind_how(question, action):
    assert asked_action(question) == action
