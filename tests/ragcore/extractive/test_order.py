"""The sentence that answers comes first."""

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

MINUTES = """# Aspen weekly

The office moved to the third floor in March. Parking is free on Fridays.
Aspen GA is planned for 12 June 2026.
The coffee machine was repaired.
Questions of customers go to Anna.
"""
BACKUP = """# Backup guide

The nightly job starts at 02:00. It copies the database first. The copy is checked with a hash. Old copies are deleted
after 30 days, since the disk is small. Nobody needs to watch it.
"""
CHINESE = """# 白杨周会

办公室三月搬到三楼。周五停车免费。
白杨正式版计划于2026年6月12日发布。
咖啡机已修好。
客户的问题由安娜回答。
"""
STEPS = """# Handover

How the handover works. First the terminal measures. Then it reports to the cell. The cell prepares the target. At last
the terminal moves, which is the handover itself.
"""
LEANING = """# The mast

The mast stands in Ulm. It was painted red in 1987. Nobody climbs it. It weighs four tons.
"""


def answer(question, text, language="en"):
    request = GenerationRequest(question=question, sources=(source(1, text, title="Notes"),), language=language)
    return "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(request))


@pytest.mark.parametrize(
    ("question", "document", "first"),
    [
        ("When is Aspen GA released?", MINUTES, "Aspen GA is planned for"),
        ("aspen GA release date", MINUTES, "Aspen GA is planned for"),
        ("Which date has Aspen GA?", MINUTES, "Aspen GA is planned"),
        ("Who gets the questions of customers?", MINUTES, "Questions of customers go"),
        ("What was repaired?", MINUTES, "The coffee machine was repaired"),
        ("why are old copies deleted", BACKUP, "Old copies are deleted"),
        ("how long are old copies kept until they are deleted", BACKUP, "Old copies are deleted"),
        ("白杨正式版什么时候发布？", CHINESE, "白杨正式版计划于"),
        ("白杨正式版发布日期", CHINESE, "白杨正式版计划于"),
        ("客户的问题由谁回答？", CHINESE, "客户的问题由安娜"),
        ("咖啡机修好了吗", CHINESE, "咖啡机已修好"),
        ("When was the mast painted?", LEANING, "The mast stands in Ulm. [1] It was painted red"),
    ],
)
def test_an_answer_leads_with_the_sentence_that_answers(question, document, first):
    text = answer(question, document, "zh" if document is CHINESE else "en").replace("**", "")

    assert text.startswith(first)


def test_the_order_of_what_happens_stays():
    text = answer("how does the handover work", STEPS)

    places = [text.find(part) for part in ("measures", "reports", "prepares", "moves")]
    shown = [place for place in places if place >= 0]
    assert len(shown) > 1
    assert shown == sorted(shown)
