"""Values that a question asks for and no source tells of its subject."""

from pathlib import Path

import pytest

from ragcore.answerability.asked_values import lacks_column, lacks_role, missing_kinds, statements_about
from ragcore.text.glossary import CedictGlossary
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

PARTS = """| Part | Name | Price | Weight |
| --- | --- | --- | --- |
| PX-4100 | gear pump | 44 EUR | 3 kg |
| PX-4200 | drum pump | 51 EUR | |
"""
SEAL = "The PX-4300 is a seal. It is 30 mm wide and black. It is sold by the dozen."
ROOM = "The robot room is on the second floor. Its door opens with a badge. Ask Ms Lindt for a badge."
零件 = """| 料号 | 名称 | 供应商 |
| --- | --- | --- |
| QF-7700 | 齿轮泵 | 北岭机械 |
| QF-7800 | 隔膜泵 | |
"""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return JiebaTokenizer(glossary=CedictGlossary(Path(tmp_path_factory.mktemp("words"))))


def sources(*texts, title="Stock"):
    return [
        Source(
            number=number,
            passage=Passage(chunk=number, document=number, version=number, text=text, title=title),
            text=text,
            score=1.0,
        )
        for number, text in enumerate(texts, 1)
    ]


def missing(question, texts, tokenizer, near=()):
    return [kind.names[0] for kind in missing_kinds(question, sources(*texts), near=near, tokenizer=tokenizer)]


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("how heavy is the PX-4200", ["weight"]),  # its neighbour has one
        ("PX-4200 weight?", ["weight"]),
        ("what does the px-4300 weigh", ["weight"]),
        ("how much does a PX-4300 cost?", ["price"]),
        ("what colour is the PX-4100", ["colour"]),
        ("who makes the PX-4300", ["manufacturer"]),
        ("phone number of Ms Lindt in the robot room", ["phone number"]),
        ("QF-7800是哪个厂家生产的", ["manufacturer"]),
        ("QF-7700多重", ["weight"]),
        ("QF-7700保修几年", ["warranty"]),
        ("how heavy is the PX-4100", []),
        ("PX-4100 price", []),
        ("what does the PX-4200 cost", []),
        ("how wide is the PX-4300", []),
        ("what colour is the px-4300", []),
        ("QF-7700是哪家生产的", []),
        ("which part is a drum pump", []),  # asks for no such value
        ("is the robot room on the second floor", []),
    ],
)
def test_a_value_is_missing_where_nothing_tells_it_of_the_thing_that_is_asked_about(question, kinds, tokenizer):
    assert missing(question, [PARTS, SEAL, ROOM, 零件], tokenizer) == kinds


def test_one_of_two_values_is_an_answer(tokenizer):
    assert missing("price of the PX-4200, and how heavy is it", [PARTS], tokenizer) == []
    assert missing("how heavy is the PX-4300, and how much does it cost", [SEAL], tokenizer) == ["price", "weight"]


def test_of_several_things_the_row_of_each_counts_beside_a_sentence_that_names_all(tokenizer):
    both = "The PX-4100 is replaced by the PX-4200 in stands of the second hall."
    assert missing("PX-4100和PX-4200的价格对比", [PARTS, both], tokenizer) == []
    assert missing("how heavy are the PX-4300 and the PX-4500", [PARTS, both], tokenizer) == ["weight"]


def test_where_nothing_is_about_the_subject_the_near_texts_decide(tokenizer):
    assert missing("how heavy is a winch", [SEAL], tokenizer, near=["It weighs 4 kg."]) == []
    assert missing("how heavy is a winch", [SEAL], tokenizer, near=["It is green."]) == ["weight"]


def test_a_title_names_the_subject_of_all_its_sentences(tokenizer):
    of_title = sources("It weighs 9 kg.", title="PX-4300 data sheet")
    assert len(statements_about("PX-4300", of_title, tokenizer=tokenizer)) == 1
    assert statements_about("PX-4400", of_title, tokenizer=tokenizer) == []


def test_of_a_table_only_the_row_of_the_thing_counts_and_of_prose_the_neighbours_too(tokenizer):
    rows = statements_about("PX-4200", sources(PARTS), tokenizer=tokenizer)
    assert len(rows) == 1
    assert "drum pump" in rows[0].text
    assert len(statements_about("PX-4300", sources(SEAL), tokenizer=tokenizer)) == 3


def test_further_words_narrow_what_is_said_of_a_code(tokenizer):
    text = (
        "The PX-4300 has a case. The case weighs 2 kg.\n\n" + "Nothing. " * 4 + "\n\nThe PX-4300 is a bracket of steel."
    )
    about = statements_about("steel bracket of the PX-4300", sources(text), tokenizer=tokenizer)
    assert about
    assert all("case" not in one.text for one in about)


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("payment terms of the PX-4100", True),
        ("What is the delivery date of the PX-4200?", True),
        ("QF-7700的交期是多久", True),
        ("price of the PX-4100", False),
        ("name for the PX-4200", False),
        ("payment terms of the PX-4300", False),  # prose may say it in other words
        ("QF-7700的供应商是谁", False),
        ("who sells the PX-4100", False),
    ],
)
def test_rows_of_a_thing_lack_a_column_that_none_has(question, lacks, tokenizer):
    assert lacks_column(question, sources(PARTS, SEAL, 零件), tokenizer=tokenizer) is lacks


STAFF = """| Name | Room | Task |
| --- | --- | --- |
| Ada Lindt | 12 | supports the pump line |
| Orla Quist | 14 | calls dealers, 0471 556 210 |
"""
人员 = """| 姓名 | 工作 | 电话 |
| --- | --- | --- |
| 卢一舟 | 射频 | |
| 贺兰青 | 采购 | 13700001122 |
"""
RELEASE = (
    "# Tool 4.2.1\n\nReleased: 3 March 2025. Update while the pump rests. Close the lid.\n\n"
    "It takes long. 5.0.0 is in planning."
)


@pytest.mark.parametrize(
    ("question", "text", "kinds"),
    [
        ("phone number of Ada Lindt", STAFF, ["phone number"]),  # her neighbour has one
        ("mobile number of Orla Quist", STAFF, []),
        ("email of Ada Lindt", STAFF, ["e-mail address"]),
        ("卢一舟的手机号发我一下", 人员, ["phone number"]),
        ("贺兰青的电话号码", 人员, []),
        ("贺兰青的邮箱是什么", 人员, ["e-mail address"]),
        (
            "phone number of Ada Lindt",
            "Ada Lindt is on call.\n\nSent: Monday 11 May 2026 09:12 +0200",
            ["phone number"],
        ),
        ("phone number of Ada Lindt", "Ada Lindt: extension 412.", []),
        ("email of Ada Lindt", "From: Ada Lindt <a.lindt@norvex.example>\n\nGood morning, the lid is here.", []),
        ("when will tool 5.0.0 be released", RELEASE, ["date"]),
        ("when is 5.0.0 due", RELEASE, ["date"]),
        ("when was tool 4.2.1 released", RELEASE, []),
        ("5.0.0哪天发布", RELEASE, ["date"]),
    ],
)
def test_the_number_or_date_of_another_is_none(question, text, kinds, tokenizer):
    assert missing(question, [text], tokenizer, near=[text]) == kinds


@pytest.mark.parametrize(
    ("question", "is_lacking"),
    [
        ("whats the name of the buyer at Norvex we talk to", True),
        ("who is the plant manager at Norvex?", True),
        ("Norvex的采购员叫什么", True),
        ("what is the name of the founder of Norvex", False),
        ("who is the chairman of Norvex", False),  # some passage has the word
        ("who is Norvex", False),
    ],
)
def test_the_holder_of_an_office_that_nothing_names_is_lacking(question, is_lacking, tokenizer):
    texts = sources(
        "Norvex Cameras signed on 9 March. Norvex was founded by Ida Holm in 1998.", "The canteen opens at 11."
    )
    assert lacks_role(question, texts, {"norvex", "chairman", "name"}, tokenizer=tokenizer) is is_lacking
