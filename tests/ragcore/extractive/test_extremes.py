"""The best and the worst row of a column, by which of its sides is good."""

import pytest

from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import answers_by_rows, find_rows_of_kind
from tests.ragcore.extractive.stock_of_tables import LINES, PUMPS, SERVERS, TOKENIZER


def first_cells(question, *sources):
    rows = find_rows_of_kind(question, read_statements(sources, TOKENIZER), TOKENIZER)
    return rows and [cells[0] for cells, _number in rows.rows]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("which line has the best yield", ["Line C"]),
        ("worst yield", ["Line B"]),
        ("line with the worst scrap", ["Line B"]),  # of scrap little is good
        ("which line is best in terms of downtime", ["Line C"]),
        ("whose scrap is the best?", ["Line C"]),
        ("which line had the poorest yield", ["Line B"]),
        ("least reliable line", ["Line B"]),
        ("what is the best way to improve the yield", None),
        ("how do I get the best yield", None),
        ("which line is best", None),  # no column is named
        ("who has the worst commute", None),
    ],
)
def test_best_and_worst(question, chosen):
    assert first_cells(question, LINES) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("在线率最差的服务器", ["甲二"]),
        ("哪台服务器在线率最好", ["甲一"]),
        ("故障次数最差的是哪台", ["甲二"]),
        ("哪台服务器最稳定", ["甲一"]),
        ("最不可靠的服务器是哪台", ["甲二"]),
        ("功耗最好的是哪台服务器", ["乙一"]),
        ("最好的服务器", None),
        ("怎样得到最好的在线率", None),
    ],
)
def test_best_and_worst_in_chinese(question, chosen):
    assert first_cells(question, SERVERS) == chosen


@pytest.mark.parametrize(
    ("question", "source", "chosen"),
    [
        ("良率最差的产线是哪条", LINES, ["Line B"]),
        ("停机时间最长的是哪条线", LINES, ["Line B"]),
        ("效率最好的泵是哪款", PUMPS, ["CP-45"]),
        ("which server has the worst uptime", SERVERS, ["甲二"]),
        ("which server has the lowest power consumption", SERVERS, ["乙一"]),
    ],
)
def test_a_column_is_named_in_the_other_language(question, source, chosen):
    assert first_cells(question, source) == chosen
    assert answers_by_rows(question, read_statements([source], TOKENIZER), TOKENIZER)
