"""A follow-up about the row that the answer before told asks for another column of it."""

import pytest

from ragcore.extractive.row_follow_up import question_of_row
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MILESTONES = source(
    1,
    """| No | Milestone | Plan v2 | Plan v4 | Slip (days) | Owner | Reason for slip |
| --- | --- | --- | --- | --- | --- | --- |
| T3 | tower crane up | 2031-03-02 | 2031-04-11 | 40 | Ines | late permit |
| T4 | roof closed | 2031-06-20 | 2031-06-20 | 0 | Olaf | - |
""",
    title="Site plan",
)
VENDORS = source(
    2,
    """| 编号 | 供应商 | 供什么 | 等级 | 交期 | 付款方式 |
| --- | --- | --- | --- | --- | --- |
| G-07 | 青桐轴承 | 滚珠轴承 | B | 5周 | 月结45天 |
| G-08 | 白榆五金 | 螺栓 | A | 2周 | 预付30% |
""",
    title="供应商清单",
)
STATEMENTS = read_statements([MILESTONES, VENDORS], TOKENIZER)
CRANE = "T3 · Plan v4: 2031-04-11 [1]"
BEARINGS = "G-07 · 供应商：青桐轴承 · 供什么：滚珠轴承[1]"


@pytest.mark.parametrize(
    ("question", "answer", "column"),
    [
        ("what was the date in the old baseline", CRANE, "Plan v2"),
        ("and originally?", CRANE, "Plan v2"),
        ("why did it move", CRANE, "Reason for slip"),
        ("who owns it", CRANE, "Owner"),
        ("who is responsible for that", CRANE, "Owner"),
        ("现在评的几级", BEARINGS, "等级"),
        ("付款条件呢", BEARINGS, "付款方式"),
        ("它要多久交货", BEARINGS, "交期"),
    ],
)
def test_another_column_of_the_told_row_is_asked_for(question, answer, column):
    text = question_of_row(question, answer, STATEMENTS, TOKENIZER)

    assert column in text
    assert answer.split(" · ")[0] in text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("and T4?", CRANE),  # names another row
        ("那白榆五金的等级呢", BEARINGS),
        ("where do visitors park their cars", CRANE),  # of something else
        ("why did it move", "The crane comes later. [1]"),  # no row was told
        ("who owns it", f"{CRANE}\n\nT4 · Plan v4: 2031-06-20 [1]"),  # several were
    ],
)
def test_what_names_something_else_is_no_question_about_the_row(question, answer):
    assert question_of_row(question, answer, STATEMENTS, TOKENIZER) == ""


def test_a_row_whose_name_another_one_has_is_told_by_what_differs():
    works = source(
        1,
        """| Model | Approval | Laboratory | Cost |
| --- | --- | --- | --- |
| K4 | CE | Tamm | 12 |
| K4 | UL | Orr | 30 |
""",
        title="Approvals",
    )

    text = question_of_row(
        "which laboratory does it", "K4 · Approval: UL [1]", read_statements([works], TOKENIZER), TOKENIZER
    )

    assert "K4 UL" in text
    assert "Laboratory" in text
