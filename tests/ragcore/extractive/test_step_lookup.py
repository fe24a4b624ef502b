"""One step of a procedure by its number."""

import pytest

from ragcore.extractive.direct_answers import find_missing, is_told
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.step_lookup import step_wish
from ragcore.ports import GenerationRequest
from tests.contracts.generator import source
from tests.ragcore.extractive.stock_of_tables import FILTER, SEALS, TOKENIZER


def answer(question, *sources):
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=sources)))


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("what is step 3 of changing the filter", "3. Unscrew the cover. [5]"),
        ("step 4 of changing the filter", "4. Replace the cartridge. Keep the old seal. [5]"),
        ("What is the second step when I change the filter?", "2. Release the pressure. [5]"),
        ("what do I do after step 2 of changing the filter", "3. Unscrew the cover. [5]"),
        ("what comes before step 2 when changing the filter", "1. Close the inlet valve. [5]"),
        ("the last step of changing the filter", "5. Screw the cover on. [5]"),
        (
            "what is the last but one step of changing the filter",
            "4. Replace the cartridge. Keep the old seal. [5]",
        ),
        ("换滤芯第三步是什么", "3. 旋下滤筒。[6]"),
        ("更换滤芯第三步之后做什么", "4. 取出旧滤芯。[6]"),
        ("更换滤芯的最后一步", "6. 检查渗漏。[6]"),
        ("更换滤芯第2步前面要做什么", "1. 关闭进水阀。[6]"),
        ("换密封圈第二步怎么做", "2. 拆下端盖。[6]"),  # which the document writes as 第二步：
    ],
)
def test_a_step_is_told_with_its_number(question, step):
    assert answer(question, FILTER, SEALS) == step
    assert is_told(question, read_statements([FILTER, SEALS], TOKENIZER), TOKENIZER)


@pytest.mark.parametrize(
    ("question", "lead"),
    [("how many steps are there to change the filter?", "**5 steps**"), ("更换滤芯一共有几步", "**6 步**")],
)
def test_steps_are_counted(question, lead):
    assert answer(question, FILTER, SEALS).startswith(f"{lead}\n\n1. ")


@pytest.mark.parametrize(
    ("question", "name", "total"),
    [
        ("what is step 9 of changing the filter", "Changing the filter", 5),
        ("what comes after step 5 of changing the filter", "Changing the filter", 5),
        ("更换密封圈第五步是什么", "更换密封圈", 3),
    ],
)
def test_a_step_beyond_the_last_is_missing(question, name, total):
    missing = find_missing(question, read_statements([FILTER, SEALS], TOKENIZER), TOKENIZER)

    assert (missing.kind, missing.name, missing.total) == ("step", name, total)


@pytest.mark.parametrize(
    "question",
    ["how do I change the filter", "怎么更换密封圈", "which step needs the old seal", "what step comes after approval"],
)
def test_questions_for_no_certain_step(question):
    assert step_wish(question) is None


def test_a_procedure_of_something_else_does_not_answer():
    statements = read_statements([FILTER], TOKENIZER)

    assert not is_told("what is the first step to become a supplier", statements, TOKENIZER)
    assert find_missing("what is step 9 of hiring a supplier", statements, TOKENIZER) is None


def test_a_procedure_that_is_not_all_there_lacks_no_step():
    part = source(1, "# Changing the belt\n\n4. Loosen the bolt.\n5. Take the belt off.\n", title="Changing the belt")
    statements = read_statements([part], TOKENIZER)

    assert find_missing("what is step 2 of changing the belt", statements, TOKENIZER) is None
    assert answer("what is step 5 of changing the belt", part) == "5. Take the belt off. [1]"
