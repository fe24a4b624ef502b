import pytest

from ragcore.chunking.atoms import caption_kind


@pytest.mark.parametrize(
    "line",
    ["Table 3: Timers", "**Table A.1-2** Values", "Tab. 4", "表3 定时器", "表 3-1：参数", "表二 人员", "TABLE 7"],
)
def test_a_line_with_a_number_names_a_table(line):
    assert caption_kind(line) == "table"


@pytest.mark.parametrize("line", ["Figure 2 - Antenna", "Fig. 5a", "图 2 天线", "图1-1", "_Figure 3_", "圖 4"])
def test_a_line_with_a_number_names_a_figure(line):
    assert caption_kind(line) == "figure"


@pytest.mark.parametrize(
    "line",
    [
        "Table 3 lists the timers.",
        "Figure 2 shows the antenna.",
        "表3所示的参数如下",
        "图2中给出了天线",
        "Table salt",
        "表示方法",
        "图书馆",
        "See Table 3",
        "Table 3\nand more",
        "Table 3 " + "x" * 300,
        "",
    ],
)
def test_other_lines_name_nothing(line):
    assert caption_kind(line) is None
