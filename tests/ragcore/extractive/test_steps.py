"""How something is done, told by the whole section that says it."""

import numpy as np
import pytest

from ragcore.extractive.answer_patterns import asked_action, asks_course, asks_procedure
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.steps import find_procedure
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


COURSES = [  # a question how something goes on, the heading, and the numbered steps that tell it
    (
        "How does a device recover from a beam failure?",
        "Beam failure recovery",
        (
            "**Detection.** The device counts failures of the beam until the highest number is reached.",
            "**Candidate.** The device looks for another beam above the threshold.",
            "**Request.** It starts random access on the new one.",
            "**Response.** A control message arrives, and the connection goes on.",
        ),
    ),
    (
        "How is a complaint handled?",
        "Handling of a complaint",
        (
            "The front desk writes the complaint down.",
            "The owner of the process looks for the cause.",
            "Whoever complained gets a letter.",
        ),
    ),
    (
        "What happens when the pump fails?",
        "Failure of the pump",
        ("The valve closes.", "The second pump starts.", "The control room acknowledges the failure."),
    ),
    (
        "How are invoices paid?",
        "Payment of invoices",
        ("Invoices are scanned.", "The head of the department signs.", "The bank gets the order on Friday."),
    ),
    (
        "What happens after a power loss?",
        "Power loss",
        ("The battery takes over.", "After ten minutes the diesel engine starts.", "Cooling comes back last."),
    ),
    (
        "How did the team find the fault?",
        "How the fault was found",
        ("The team read the log.", "It swapped the cable.", "The port itself was broken."),
    ),
    ("终端如何从波束失败中恢复？", "波束失败恢复", ("终端检测波束失败。", "终端寻找候选波束。", "终端发起随机接入。")),
    ("泵故障后会怎样？", "泵故障", ("阀门自动关闭。", "备用泵启动。", "控制室确认故障。")),
    ("发票是怎么进行支付的？", "发票支付", ("扫描发票。", "部门主管签字。", "周五由银行付款。")),
    ("断电时会发生什么？", "断电", ("电池接管供电。", "十分钟后柴油机启动。", "空调最后恢复。")),
    ("投诉处理过程是什么？", "投诉处理", ("前台登记投诉。", "责任人查找原因。", "给投诉人回信。")),
    ("切换过程是怎样的？", "切换过程", ("终端上报测量结果。", "源站决定切换。", "目标站确认完成。")),
]


@pytest.mark.parametrize(("question", "heading", "steps"), COURSES)
@pytest.mark.parametrize("mark", ["{}.", "{})", "({})"])
def test_how_something_goes_on_is_told_to_its_end(question, heading, steps, mark):
    listed = "\n".join(f"{mark.format(number)} {step}" for number, step in enumerate(steps, 1))
    guide = source(
        1, f"# Guide\n\n## {heading}\n\n{listed}\n\n## Other\n\nThe guide is read every year.", title="Guide"
    )

    text = answer(question, guide)

    places = [text.find(step.rpartition("** ")[2].rstrip(".。")) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(("mark", "is_course"), [("-", False), ("*", False), ("1.", True), ("2)", True)])
def test_points_that_are_not_numbered_tell_no_course(mark, is_course):
    question = "How does a device recover from a beam failure?"
    points = ("A beam failure costs time.", "A device recovers from it by random access.", "Hands block beams.")
    listed = "\n".join(f"{mark} {point}" for point in points)
    statements = read_statements([source(1, f"# Guide\n\n## Beam failure\n\n{listed}")], JiebaTokenizer())

    procedure = find_procedure(question, statements, np.zeros(len(statements), np.float32), JiebaTokenizer())

    assert (procedure is not None) == is_course


def test_steps_that_are_too_long_are_told_by_their_first_sentences():
    further = "It is done with great care and takes as long as it takes, whatever else there is to do that day. " * 3
    steps = "\n".join(f"{n}. Part {n} of the frame is moved. {further}" for n in range(1, 7))

    text = answer(
        "How is the frame moved?", source(1, f"# Guide\n\n## How the frame is moved\n\n{steps}\n", title="Guide")
    )

    assert all(f"{n}. Part {n} of the frame is moved. [1]" in text for n in range(1, 7))
    assert text.count("with great care") <= 1


@pytest.mark.parametrize("question", ["how does it recover", "what happens if it fails", "这会怎么样", "恢复过程"])
def test_questions_how_something_goes_on(question):
    assert asks_course(question)


@pytest.mark.parametrize("question", ["how many racks are there", "who does it", "有几个机架"])
def test_other_questions_do_not_ask_how_it_goes_on(question):
    assert not asks_course(question)
