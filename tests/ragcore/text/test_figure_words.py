"""Words about pictures in questions and sentences."""

from __future__ import annotations

import pytest

from ragcore.text.figure_words import asks_for_picture, figure_numbers, names_figure


@pytest.mark.parametrize(
    "question",
    [
        *("Show the diagram of the mast", "What does the panel look like?", "Is there a picture of it?", "see fig. 3"),
        *("机柜长什么样？", "有没有接线图", "图3说明了什么", "请给出安装示意图", "Where is the cable in figure 4-2?"),
    ],
)
def test_a_question_asks_for_a_picture(question):
    assert asks_for_picture(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many steps are there?",
        "What are the sales figures of 2025?",
        "定时器等待多久？",
        "地图怎么用",
        "imagine a cell",
    ],
)
def test_a_question_asks_for_none(question):
    assert not asks_for_picture(question)


@pytest.mark.parametrize(
    ("sentence", "is_named"),
    [
        ("The rings are closed, see Figure 3.", True),
        ("Turn the screw as shown in the figure below", True),
        ("如图所示，先拧紧螺丝。", True),
        ("接线见图2-1。", True),
        ("The figures rose by 3 percent.", False),
        ("先拧紧螺丝。", False),
        ("他们力图3天完成", True),  # read as a number of a figure: then the passage must have one, too
    ],
)
def test_a_sentence_names_a_picture(sentence, is_named):
    assert names_figure(sentence) is is_named


def test_numbers_are_equal_however_they_are_written():
    assert figure_numbers("Figure 4–2 and fig. 3, 图4-2") == {"4-2", "3"}
    assert figure_numbers("图 5：拓扑") == {"5"}
    assert figure_numbers("30% of the figure") == set()
