"""All things of a kind with a property of each."""

import pytest

from ragcore.extractive.property_lists import find_property_lists
from ragcore.extractive.sentences import read_statements
from tests.contracts.generator import source
from tests.ragcore.extractive.stock_of_tables import LINES, PUMPS, SERVERS, TOKENIZER

RADIOS = source(
    8,
    """| 型号 | 类别 | 重量(kg) | 接口数 |
| --- | --- | --- | --- |
| 灵犀1 | 基站 | 12 | 4 |
| 灵犀2 | 终端 | 0.3 | 1 |
| 灵犀3 | 基站 | 15 | 8 |

| 附件 | 用于 | 重量(kg) |
| --- | --- | --- |
| 支架 | 基站 | 2 |
""",
    title="灵犀产品",
)


def listed(question, *sources):
    lists = find_property_lists(question, read_statements(sources, TOKENIZER), TOKENIZER)
    return [(rows.head[1:], [cells[0] for cells, _number in rows.rows]) for rows in lists]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Which CP or VP pumps are there and what do they weigh?",
            [(("Weight (kg)",), ["CP-20", "CP-45"]), (("Weight (kg)",), ["VP-8"])],
        ),
        ("which CP models are available and how much does each weigh", [(("Weight (kg)",), ["CP-20", "CP-45"])]),
        ("Which CPs do we have and what is their flow?", [(("Flow (m3/h)",), ["CP-20", "CP-45"])]),
        ("list the vane pumps with their efficiency", [(("Efficiency (%)",), ["VP-8"])]),
        ("list all spare parts and what they weigh", [(("Weight (kg)",), ["Seal set", "Vane kit"])]),
        ("有哪些CP泵，各自多重", [(("Weight (kg)",), ["CP-20", "CP-45"])]),
        ("what does the CP-20 weigh", []),
        ("list the weight of the CP-20", []),
        ("which pumps weigh more than 10 kg", []),
        ("which is the heaviest pump", []),
    ],
)
def test_kinds_by_the_letters_of_codes_and_by_title(question, expected):
    assert listed(question, PUMPS, LINES, SERVERS) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("基站有哪些型号，各自多重", [(("重量(kg)",), ["灵犀1", "灵犀3"])]),
        ("有哪几款终端，重量分别是多少", [(("重量(kg)",), ["灵犀2"])]),
        ("列出所有基站的接口数", [(("接口数",), ["灵犀1", "灵犀3"])]),
        ("灵犀1多重", []),
    ],
)
def test_kinds_by_a_column(question, expected):
    assert listed(question, RADIOS, SERVERS) == expected
