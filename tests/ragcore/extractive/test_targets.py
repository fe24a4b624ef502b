"""Rows whose number is compared with a target."""

import pytest

from ragcore.extractive.direct_answers import find_missing
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import find_rows_of_kind
from ragcore.ports import GenerationRequest
from tests.contracts.generator import source
from tests.ragcore.extractive.stock_of_tables import LINES, SERVERS, TOKENIZER

QUALITY = source(
    8,
    """## Calls

| Site | Loss (%) | Latency (ms) |
| --- | --- | --- |
| North | 0.4 | 20 |
| South | 1.7 | 35 |
| Target | 1.0 | 30 |

## Goals

| Indicator | Target |
| --- | --- |
| Jitter | 5 ms |

| Link | Jitter (ms) |
| --- | --- |
| L1 | 3 |
| L2 | 8 |
""",
    title="Quality of calls",
)


def first_cells(question, *sources):
    rows = find_rows_of_kind(question, read_statements(sources, TOKENIZER), TOKENIZER)
    return rows and [cells[0] for cells, _number in rows.rows]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("lines with a yield below target", ["Line B"]),
        ("which lines miss the yield target", ["Line B"]),
        ("which lines meet the yield target?", ["Line A", "Line C"]),
        ("which lines exceed their maximum downtime", ["Line B", "Line C"]),
        ("list the lines with scrap above the threshold", ["Line B"]),
        ("how many lines are below the yield target", ["Line B"]),
        ("良率没达到目标的产线", ["Line B"]),
        ("哪些产线停机时间超过上限", ["Line B", "Line C"]),
        ("what should I do when the yield misses the target", None),
        ("what is the yield target", None),
        ("why is the yield of line B below target", None),
    ],
)
def test_targets_of_a_column_and_of_a_sentence(question, chosen):
    assert first_cells(question, LINES) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("哪些服务器功耗超限", ["甲二"]),
        ("在线率不达标的服务器有哪些", ["甲二"]),
        ("哪些服务器的在线率达标", ["甲一", "乙一"]),
        ("功耗不超过上限的服务器", ["甲一", "乙一"]),
        ("servers with power consumption above the limit", ["甲二"]),
        ("在线率不达标怎么办", None),
    ],
)
def test_targets_in_chinese(question, chosen):
    assert first_cells(question, SERVERS) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [("sites with a loss above target", ["South"]), ("which links exceed the jitter target", ["L2"])],
)
def test_targets_of_a_row_and_of_another_table(question, chosen):
    assert first_cells(question, QUALITY) == chosen


def test_the_sentence_that_states_the_target_stands_above_the_rows():
    request = GenerationRequest(question="which lines miss the yield target", sources=(LINES,))

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text.startswith("The yield target is 97 %. [2]\n\n")
    assert "95.0 %" in text


def test_a_target_that_nothing_tells_is_missing():
    statements = read_statements([SERVERS], TOKENIZER)

    assert find_missing("故障次数超过目标的服务器", statements, TOKENIZER).kind == "target"
    assert find_missing("在线率不达标的服务器", statements, TOKENIZER) is None
