"""What a question wants of the files that came with it."""

import pytest

from ragcore.understanding.file_questions import read_file_question


@pytest.mark.parametrize(
    "question",
    [
        "Summarise this file",
        "Please sum this up.",
        "What is this document about?",
        "Give me a summary of the scan in three points",
        "What are the key findings of this report?",
        "总结这个文件",
        "这份文件讲了什么？",
        "请用三句话概括这篇文章的主要内容",
        "扫描件里写了什么",
        "帮我总结一下",
    ],
)
def test_a_wish_for_a_summary_names_nothing_in_the_file(question):
    assert read_file_question(question).kind == "overview"


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What does this policy say about receipts?", "receipts"),
        ("what does it say about lost receipts", "lost receipts"),
        ("Does it mention penalties?", "penalties"),
        ("这份文件对差旅补贴怎么说？", "差旅补贴"),
        ("文件里有没有提到发票？", "发票"),
    ],
)
def test_a_topic_is_taken_out_of_its_question(question, topic):
    asked = read_file_question(question)

    assert (asked.kind, asked.text) == ("topic", topic)


@pytest.mark.parametrize(
    ("question", "text", "names_file", "wants_others"),
    [
        ("According to the attached file, how long is the warranty?", "How long is the warranty?", True, False),
        ("What is the daily allowance in this file?", "What is the daily allowance?", True, False),
        ("根据附件，住宿标准是多少？", "住宿标准是多少？", True, False),
        ("How is beam failure repaired?", "How is beam failure repaired?", False, False),
        ("接地电阻太高怎么办？", "接地电阻太高怎么办？", False, False),
        ("Compare with our travel policy", "Compare with our travel policy", False, True),
        ("与我们公司的差旅制度有什么区别？", "与我们公司的差旅制度有什么区别？", False, True),
    ],
)
def test_other_questions_lose_only_their_mention_of_the_file(question, text, names_file, wants_others):
    asked = read_file_question(question)

    assert (asked.kind, asked.text) == ("question", text)
    assert (asked.names_file, asked.wants_others) == (names_file, wants_others)
