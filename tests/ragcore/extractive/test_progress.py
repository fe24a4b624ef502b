"""Rows that are not done yet, by the column of their status."""

import pytest

from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.progress import unfinished_wish
from ragcore.extractive.row_question import RowQuestion
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import find_rows_of_kind
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
ACTIONS = source(
    1,
    """| No | Action | Owner | Status |
| --- | --- | --- | --- |
| A1 | new gasket drawing | Ines | done |
| A2 | second supplier | Olaf | in progress |
| A3 | leak test at the line | Ines | not started |
""",
    title="Pump recall report",
)
ACTIONS_ZH = source(
    1,
    """| 编号 | 措施 | 责任人 | 状态 |
| --- | --- | --- | --- |
| 1 | 更换垫片图纸 | 甲 | 已完成 |
| 2 | 引入第二供应商 | 乙 | 进行中 |
| 3 | 产线加检漏 | 丙 | 未开始 |
| 4 | 通知客户 | 丙 | 逾期 |
""",
    title="水泵召回报告",
)


@pytest.mark.parametrize(
    ("question", "table", "names"),
    [
        ("which actions of the pump recall are still open", ACTIONS, ["A2", "A3"]),
        ("list the recall actions that are not done yet", ACTIONS, ["A2", "A3"]),
        ("水泵召回的措施里还没完成的有哪几项", ACTIONS_ZH, ["2", "3", "4"]),
        ("召回整改到现在没弄完的有哪些", ACTIONS_ZH, ["2", "3", "4"]),
    ],
)
def test_open_items_are_listed_by_their_status(question, table, names):
    rows = find_rows_of_kind(question, read_statements([table], TOKENIZER), TOKENIZER)

    assert rows is not None
    assert [row[0] for row, _source in rows.rows] == names


def test_a_column_whose_cells_say_something_else_is_no_status():
    table = source(
        1, "| Part | Status |\n| --- | --- |\n| Lid | blue, open |\n| Base | grey |\n", title="Finishes of parts"
    )

    wish, question = unfinished_wish("which parts are still open"), RowQuestion.of("which parts are open", TOKENIZER)

    assert wish is not None
    assert wish.choose(question, LookupTable(read_statements([table], TOKENIZER), TOKENIZER)) is None
