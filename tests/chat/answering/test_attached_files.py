"""A question that comes with a file is about the file: first, and alone where it answers."""

from __future__ import annotations

import pytest

from chat.concurrency.executors import run_db
from chat.models import Message
from tests.chat.test_attachments import TEXT, attach
from tests.ragcore.ocr.drawing import drawn, encoded
from tests.ragcore.parsing.build import docx_bytes, pdf_bytes
from tests.scripted_llm import Reply

pytestmark = pytest.mark.django_db
POLICY = """# 差旅费用管理办法

## 补贴标准

国内出差每人每天补贴一百八十元。境外出差每人每天补贴六十美元。

## 报销

发票应在出差结束后十个工作日内提交财务部。发票遗失的，应提交书面说明。

## 审批

出差超过三天的，须由部门负责人事先批准。
"""
NOTICE = ("Maintenance notice for pump station 7", "The pump P-12 is replaced on 14 March.")
SCAN = encoded(drawn([(40, 40, NOTICE[0]), (40, 120, NOTICE[1])]))
ABSENT, ABSENT_ZH = "No answer was found in the attached file.", "附件中没有找到该问题的答案。"


def from_files(answer) -> set[bool]:
    return {bool(one["attachment_id"]) for one in answer["citations"]}


@pytest.mark.parametrize(
    ("name", "content", "question", "words"),
    [
        ("差旅.md", POLICY.encode(), "总结这个文件", ("一百八十元", "十个工作日", "部门负责人")),
        ("差旅.md", POLICY.encode(), "这份文件对发票怎么说？", ("十个工作日", "书面说明")),
        ("notice.png", SCAN, "总结这个文件", NOTICE),
        (
            "travel.docx",
            docx_bytes(lambda document: document.add_paragraph(TEXT)),
            "How long may I wait before I send in receipts?",
            ("travel desk within ten days",),
        ),
        (
            "travel.pdf",
            pdf_bytes([[(72, 90, "The daily allowance for Ravensburg is 34 euros.")]]),
            "What does it say about the allowance?",
            ("34 euros",),
        ),
    ],
)
async def test_a_question_that_comes_with_a_file_is_answered_from_it_alone(api, world, name, content, question, words):
    row = await run_db(attach, world.reader, content, name)

    answer = await api.generate(question, attachments=[str(row.key)])

    assert answer["status"] == "answered"
    assert all(word in answer["answer"].replace("**", "") for word in words), answer["answer"]
    assert from_files(answer) == {True}
    assert {sentence["support"] for sentence in answer["sentences"]} == {"supported"}


@pytest.mark.parametrize(
    ("question", "absent", "heading", "words"),
    [
        ("How many steps has the random access procedure?", ABSENT, "#### From other documents", "four steps"),
        ("载波聚合最多支持多少个载波？", ABSENT_ZH, "#### 其他文档内容", "三十二"),
    ],
)
async def test_what_the_file_does_not_answer_is_said_before_other_documents_do(
    api, world, question, absent, heading, words
):
    row = await run_db(attach, world.reader, POLICY.encode(), "差旅.md")

    answer = await api.generate(question, attachments=[str(row.key)])

    first, title, rest = answer["answer"].split("\n\n", 2)
    assert (answer["status"], first, title) == ("answered", absent, heading)
    assert words in rest.replace("**", "")
    assert from_files(answer) == {False}
    assert {sentence["support"] for sentence in answer["sentences"]} == {"supported"}


async def test_where_nothing_answers_the_file_is_named_first(api, world):
    row = await run_db(attach, world.reader, POLICY.encode(), "差旅.md")

    answer = await api.generate("公司食堂几点开门？", attachments=[str(row.key)])

    assert answer["status"] in ("search_results", "refused")
    assert answer["answer"].startswith(ABSENT_ZH)


async def test_where_nothing_answers_the_closest_passages_of_the_file_are_listed_first_in_any_language(api, world):
    content = (
        b"# Hotels\n\nA night costs up to 120 euros.\n\nExceptions need the approval of the cost centre manager.\n"
    )
    row = await run_db(attach, world.reader, content, "travel.md")

    answer = await api.generate("住宿超标要谁批准？", attachments=[str(row.key)])

    assert answer["status"] == "search_results"
    assert bool(answer["citations"][0]["attachment_id"])
    assert "cost centre manager" in answer["answer"].replace("**", "")
    assert answer["answer"].index("travel.md") < answer["answer"].index("[1]")


async def test_a_comparison_has_a_part_from_the_file_and_one_from_documents(api, world):
    row = await run_db(attach, world.reader, b"The handover of the new vendor takes two commands.\n", "vendor.md")

    answer = await api.generate("How does the handover differ from our documents?", attachments=[str(row.key)])

    own, others = answer["answer"].split("#### From other documents")
    assert own.startswith("#### From the attached file")
    assert "two commands" in own
    assert "moves a terminal" in others
    assert from_files(answer) == {True, False}


async def test_the_file_stays_the_subject_until_the_subject_changes(api, world):
    row = await run_db(attach, world.reader)
    first = await api.generate("Summarise this file", attachments=[str(row.key)])
    talk = {"conversation_id": first["conversation_id"]}

    follow_up = await api.generate("Where are receipts sent to?", **talk)
    other = await api.generate("How many steps has the random access procedure?", **talk)
    back = await api.generate("Does the attached file mention taxis?", **talk)

    assert from_files(first) == from_files(follow_up) == {True}
    assert "travel desk" in follow_up["answer"]
    assert from_files(other) == {False}
    assert not other["answer"].startswith(ABSENT)
    assert back["answer"].startswith(ABSENT)


async def test_a_model_reads_the_file_before_other_documents(api, world, llm):
    llm.default = Reply(texts=("Ten days [1].",))
    row = await run_db(attach, world.reader)

    answer = await api.generate("How many steps has the random access procedure?", attachments=[str(row.key)])

    prompts = [request.body["messages"][-1]["content"] for request in llm.requests]
    (prompt,) = [prompt for prompt in prompts if "<context>" in prompt]
    assert 0 <= prompt.find("[Source 1] (File: travel.md") < prompt.find("has four steps"), prompt
    assert "are from the file that the user attached" in prompt
    assert ABSENT in prompt
    trace = await run_db(lambda: str(Message.objects.get(pk=answer["message_id"]).trace))
    assert "34 euros" not in trace
