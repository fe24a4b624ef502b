"""Rows of databases and lines of fields, answered with the fields that are asked for."""

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.support import support_states
from ragcore.parsing.csv import CsvParser
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
LISTED = """# SP-1002

- **part_no**: SP-1002
- **name**: Power unit
- **price_eur**: 899.5
- **stock**: 3
- **lead_time_days**: 42
- **warehouse**: Porto
- **remark**: Needs a certified electrician. Two persons lift it.
"""
OTHER = (
    LISTED.replace("SP-1002", "SP-1001").replace("Power unit", "Fan tray").replace("42", "21").replace("899.5", "12")
)
TEMPLATE = """# SP-1002: Power unit

part_no: SP-1002; name: Power unit; price_eur: 899.5; stock: 3; lead_time_days: 42; warehouse: Porto
"""
CHINESE = """# 备件 SP-1002

编号：SP-1002；名称：电源模块；单价：899.5；库存：3；交货期：42天；供应商：伏特公司；仓库：波尔图
"""
PROSE = "The line opens at 7:10. Note: bring a ticket. Hint: it is cheaper online. Warning: no dogs are allowed."


def answer(question, *texts, language="en"):
    sources = tuple(
        source(number, text, title=text.split("\n")[0].lstrip("# ")) for number, text in enumerate(texts, start=1)
    )
    request = GenerationRequest(question=question, sources=sources, language=language)
    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))
    return text, support_states(text, sources, tokenizer=TOKENIZER)


@pytest.mark.parametrize(
    ("question", "document", "has", "lacks"),
    [
        ("What is the lead time of SP-1002?", LISTED, "lead time days: 42", "stock"),
        ("How much does the power unit cost?", LISTED, "price eur: 899.5", "warehouse"),
        ("where is the power unit stored", LISTED, "warehouse: Porto", "price"),
        ("tell me about SP-1002", LISTED, "stock: 3 · lead time days: 42", ";"),
        ("What is the lead time of SP-1002?", TEMPLATE, "lead time days: 42", "stock"),
        ("How much does the power unit cost?", TEMPLATE, "price eur: 899.5", "warehouse"),
        ("where is the power unit stored", TEMPLATE, "warehouse: Porto", "price"),
        ("SP-1002的交货期是多久？", CHINESE, "交货期：42天", "库存"),
        ("电源模块的供应商是谁", CHINESE, "供应商：伏特公司", "单价"),
        ("电源模块多少钱", CHINESE, "单价：899.5", "仓库"),
        ("SP-1002 放在哪个仓库", CHINESE, "仓库：波尔图", "交货期"),
        ("SP-1002是什么", CHINESE, "名称：电源模块", "；"),
    ],
)
def test_the_asked_fields_of_a_row_are_told_with_their_labels(question, document, has, lacks):
    text, sentences = answer(question, document, language="zh" if document is CHINESE else "en")

    assert has in text
    assert lacks not in text
    assert {(sentence.support, sentence.quoted) for sentence in sentences} == {("supported", True)}


def test_the_row_that_the_question_names_answers():
    text, _sentences = answer("What is the lead time of the fan tray?", LISTED, OTHER)

    assert "lead time days: 21" in text
    assert "42" not in text


def test_text_with_colons_is_no_record():
    text, _sentences = answer("when does the line open", PROSE)

    assert text.startswith("The line opens at 7:10. [1]") or "7:10" in text.split("**Also")[0]
    assert "·" not in text


def test_a_field_beside_a_value_of_another_row_is_no_quotation():
    csv = "part_no,name,price_eur\nSP-1,Fan tray,129\nSP-2,Power unit,899\n"
    rows = source(1, CsvParser().parse(csv.encode(), name="parts.csv").markdown(), title="parts")

    right, wrong = (
        support_states(f"SP-1 · price eur: {price} [1]", [rows], tokenizer=TOKENIZER)[0] for price in (129, 899)
    )

    assert (right.support, right.quoted) == ("supported", True)
    assert not wrong.quoted


def test_a_long_row_of_a_table_is_not_told_as_a_heap_of_cells():
    names = [f"column_{at}" for at in range(12)]
    cells = [f"value {at} of a row that is long" for at in range(12)]
    csv = "\n".join([",".join(["part", *names, "colour"]), ",".join(["SP-77", *cells, "grey"]), "SP-80" + ",x" * 13])
    text, _sentences = answer("what colour is SP-77", CsvParser().parse(csv.encode(), name="p.csv").markdown())

    assert text == "SP-77 · colour: grey [1]"
