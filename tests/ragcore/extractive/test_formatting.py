"""The form of an extractive answer follows the question."""

import pytest

from ragcore.extractive.comparison import find_compared
from ragcore.extractive.formatting import table, with_figure, wording_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
EMBB = source(1, "eMBB serves phones. eMBB offers 20 Gbit/s to one cell.", title="eMBB")
URLLC = source(2, "URLLC serves machines. URLLC answers within one millisecond.", title="URLLC")


def answer(question, *sources):
    request = GenerationRequest(question=question, sources=sources)
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(request))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is the difference between eMBB and URLLC?", ["eMBB", "URLLC"]),
        ("Compare the fixed line with the radio link.", ["fixed line", "radio link"]),
        ("How does a splitter differ from a coupler?", ["splitter", "coupler"]),
        ("GPON vs XG-PON", ["GPON", "XG-PON"]),
        ("GPON和EPON有什么区别？", ["GPON", "EPON"]),
        ("单模光纤与多模光纤的差异是什么？", ["单模光纤", "多模光纤"]),
        ("比较一下有线接入和无线接入", ["有线接入", "无线接入"]),
    ],
)
def test_the_compared_things_are_read_from_the_question(question, names):
    assert [thing.name for thing in find_compared(question, TOKENIZER)] == names


@pytest.mark.parametrize("question", ["What is the difference?", "How fast is GPON?", "区别是什么？", "?"])
def test_a_question_that_names_no_two_things_compares_nothing(question):
    assert find_compared(question, TOKENIZER) is None


def test_a_comparison_is_a_table_with_a_column_for_each_thing():
    text = answer("What is the difference between eMBB and URLLC?", EMBB, URLLC)

    head, rule, row = text.splitlines()
    assert head == "| Aspect | eMBB | URLLC |"
    assert rule == "| --- | --- | --- |"
    _, said, left, right, _ = row.split("|")
    assert said.strip() == "What the sources say"
    assert "20 Gbit/s to one cell. [1]" in left
    assert "within one millisecond. [2]" in right


def test_aspects_that_both_sides_give_are_rows_of_their_own():
    left = source(1, "# GPON\n\n- Rate: 2.5 Gbit/s\n- Reach: 20 km\n", title="GPON")
    right = source(2, "# EPON\n\n- Rate: 1 Gbit/s\n", title="EPON")

    text = answer("GPON vs EPON", left, right)

    assert "| Rate | 2.5 Gbit/s [1] | 1 Gbit/s [2] |" in text
    assert "| Reach" not in text


def test_a_table_of_the_source_that_compares_both_is_the_answer():
    given = "| 项目 | GPON | EPON |\n|---|---|---|\n| 下行速率 | 2.5 Gbit/s | 1 Gbit/s |\n| 分路比 | 1:64 | 1:32 |\n"

    text = answer("GPON和EPON有什么区别？", source(1, given, title="无源光网络"))

    assert text == (
        "| 项目 | GPON | EPON |\n| --- | --- | --- |\n"
        "| 下行速率 | 2.5 Gbit/s[1] | 1 Gbit/s[1] |\n| 分路比 | 1:64[1] | 1:32[1] |"
    )


def test_a_thing_that_no_source_describes_leaves_the_answer_to_sentences():
    text = answer("What is the difference between eMBB and mMTC?", EMBB)

    assert "|" not in text
    assert "[1]" in text


def test_steps_are_a_numbered_list_in_the_order_of_the_source():
    steps = source(
        1,
        "# Router\n\nTo restart the router:\n\n1. Hold the restart button of the router.\n2. Wait for the lamp.\n"
        "3. Release it.\n",
    )

    text = answer("How do I restart the router with its restart button?", steps)

    assert text.startswith(
        "To restart the router: [1]\n\n1. Hold the restart button of the router. [1]\n2. Wait for the lamp. [1]\n"
        "3. Release it. [1]"
    )


def test_a_definition_stands_before_what_the_source_says_first():
    text = answer(
        "What is OCS?",
        source(1, "The OCS refuses expired accounts. The OCS is a system that charges in real time. The OCS logs."),
    )

    assert text.startswith("The OCS is a system that charges in real time. [1]")


def test_headings_and_words_of_ours_are_in_the_script_of_the_question():
    assert wording_for("網絡切片是什麼？", "other").supplement == "補充要點"
    assert wording_for("网络切片是什么？", "other").supplement == "补充要点"
    assert wording_for("What is slicing?", "other").supplement == "Also relevant"


@pytest.mark.parametrize(
    ("question", "sentence", "shown"),
    [
        ("When was the mast built?", "It was built in 1987.", "It was built in **1987**."),
        ("How many cells are there?", "There are 12 cells on 3 masts.", "There are 12 cells on 3 masts."),
        ("How many cells has site 7?", "Site 7 has 12.", "Site 7 has **12**."),
        ("When is the window?", "Every second Tuesday 01:00 to 03:30.", "Every second Tuesday 01:00 to 03:30."),
        ("How many ms does it take?", "It takes 123ms.", "It takes 123ms."),
        ("When was it built?", "Board LTE-1800 was built.", "Board LTE-1800 was built."),
        ("How many dBm has the port?", "It has -14 dBm.", "It has **-14** dBm."),
        ("Who built it in 1987?", "Weber built it in 1988.", "Weber built it in 1988."),
    ],
)
def test_only_the_one_figure_that_can_be_meant_is_in_bold(question, sentence, shown):
    assert with_figure(question, sentence) == shown


def test_a_bar_in_a_cell_does_not_end_the_cell():
    assert table(["a", "b"], [["x|y", "z"]]).splitlines()[2] == "| x\\|y | z |"


def test_rows_of_dots_and_pointers_to_figures_are_no_statements():
    text = "..11 1...\n\n见图3。\n\n如图 3-1 所示。\n\nSee Figure 5.1.\n\nThe figure shows the mast."

    assert [s.text for s in read_statements([source(1, text)], TOKENIZER)] == ["The figure shows the mast."]


def test_rows_of_a_table_that_are_the_compared_things_become_its_columns():
    text = answer(
        "授权调度和免授权调度有什么区别？",
        source(
            1,
            "| 方式 | 时延 | 场景 |\n|---|---|---|\n| 基于授权 | 较高 | 大包 |\n| 免授权 | 较低 | 小包 |",
            title="调度",
        ),
    )

    assert "| 方式 | 基于授权 | 免授权 |" in text
    assert "| 时延 | 较高[1] | 较低[1] |" in text


def test_the_point_under_the_name_of_a_thing_says_what_it_is():
    text = answer(
        "主站和从站有什么不同？",
        source(
            1,
            "- **主站**：终端首先接入的站。它下发配置。\n- **从站**：后来添加的站。\n"
            "- **汇聚站**：主站和从站的上级。\n\n从站由主站释放。",
            title="双站组网",
        ),
    )

    assert "| 主站：终端首先接入的站。它下发配置。[1] | 从站：后来添加的站。[1] |" in text
    assert "汇聚站" not in text
