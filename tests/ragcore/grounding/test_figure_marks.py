"""A figure that no source of its sentence has is marked while the text streams."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcore.extractive.formatting import wording_for
from ragcore.grounding.figure_marks import FigureMarks
from ragcore.types import Passage, Source

QUESTION = "How many sequences has the preamble in release 17?"
WITH_FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # which no example changes


def marked(text, sources, tokenizer, size=5, question=QUESTION):
    marks = FigureMarks(sources, tokenizer, question, wording_for(question, "other"))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(map(marks.feed, pieces)) + marks.flush(), marks.count


@pytest.mark.parametrize("size", [1, 3, 7, 400])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has 64 sequences [1]. More follows.", "It has 64 sequences [1]. More follows."),
        ("It has 65 sequences [1]. More.", "It has 65 sequences (not in the cited source: 65) [1]. More."),
        ("It has 65 sequences. [1] More.", "It has 65 sequences (not in the cited source: 65). [1] More."),
        ("The preamble has 65", "The preamble has 65 (not in the sources: 65)"),
        ("It has 64 sequences [3].", "It has 64 sequences (not in the cited source: 64) [3]."),
        ("64 or 65, by TS 38.999 [1].", "64 or 65, by TS 38.999 (not in the cited source: 65, 38.999) [1]."),
        ("It is new in release 17 [1].", "It is new in release 17 [1]."),
        ("1. It has four steps [1].\n2. It has 9 steps [1].\n",
         "1. It has four steps [1].\n2. It has 9 steps (not in the cited source: 9) [1].\n"),
        ("| a | 99 |\n|---|---|\n| b | 98 |\n", "| a | 99 |\n|---|---|\n| b | 98 |\n"),
        ("```\nx = 99\ny = 98\n```\n", "```\nx = 99\ny = 98\n```\n"),
        ("## Part 77\nText [1].", "## Part 77\nText [1]."),
    ],
)  # fmt: skip
def test_a_note_stands_before_the_end_of_the_sentence(text, expected, size, sources, tokenizer):
    assert marked(text, sources, tokenizer, size)[0] == expected


RADIO = "在 5G 网络中，下行采用 64 QAM，时延为 20 ms，基站有 4T4R 天线。"


@pytest.mark.parametrize(
    "text",
    [
        "5G网络支持64QAM，时延20ms[1]。",
        "gNodeB 有 4T4R天线[1]。",
        "The 5G-network has a delay of 20ms [1].",
        "Step 1: Open the cabinet [1].",
        "步骤1：打开机柜[1]。第2步：断电[1]。",
        "（1）打开机柜[1]。（2）断电[1]。",
        "主要有以下 3 个原因：\n",
        "1.1 Open the cabinet [1].",
        "The delay is 20 ms [1]. See [docs](https://h/v9-1).",
        "$$\nE = 7 + 8\n$$\nThe delay is 20 ms [1].",
        "It is `x = 9` and $y = 8$ [1].",
        "a | 99\n--|--\nb | 98\n",
        "```\n~~~\nx = 9\n```\nThe delay is 20 ms [1].",
    ],
)
@pytest.mark.parametrize("size", [3, 500])
def test_what_states_no_figure_or_writes_it_otherwise_gets_no_note(text, size, tokenizer):
    radio = Passage(chunk=1, document=1, version=1, text=RADIO, title="", external_id="r")
    sources = [Source(number=1, passage=radio, text=RADIO, score=0.9)]

    assert marked(text, sources, tokenizer, size) == (text, 0)


def test_half_a_number_gets_no_note(sources, tokenizer):
    marks = FigureMarks(sources, tokenizer, QUESTION, wording_for(QUESTION, "other"))

    assert marks.feed("It has 6") + marks.flush(is_whole=False) == "It has 6"


def test_in_chinese(sources, tokenizer):
    text, count = marked("最多支持 64 个载波[2]。", sources, tokenizer, question="最多支持多少个载波？")

    assert text == "最多支持 64 个载波（所引来源中没有：64）[2]。"
    assert count == 1


@WITH_FIXTURES
@given(text=st.text(alphabet="ab 。.[]1\n|#`4", max_size=200), size=st.integers(1, 9))
def test_nothing_else_is_changed(text, size, sources, tokenizer):
    """However a text is cut, what is shown without the notes is the text."""
    whole, count = marked(text, sources, tokenizer, size)

    assert re.sub(r" \(not in the (?:cited source|sources): [^)]*\)", "", whole) == text
    assert ("not in the" in whole) == (count > 0)


@WITH_FIXTURES
@given(size=st.integers(1, 60))
def test_cuts_make_no_difference(size, sources, tokenizer):
    text = "It has 65 sequences [1]. It was 12.5 MHz wide. 共有 7 个步骤[2]。Four steps! See [1]\n\n- 88 items\n- x [3]"

    assert marked(text, sources, tokenizer, size) == marked(text, sources, tokenizer, len(text))
