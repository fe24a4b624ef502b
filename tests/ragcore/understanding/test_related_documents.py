"""Questions for documents beside another one."""

from __future__ import annotations

import pytest

from ragcore.understanding.related_documents import RelatedWish, related_wish


@pytest.mark.parametrize(
    ("question", "role", "name"),
    [
        ("What are the test cases of this design?", "test", ""),
        ("Show me the tests for F123", "test", "F123"),
        ("这个设计的测试用例有哪些？", "test", ""),
        ("该方案的测试用例", "test", ""),
        ("F123的测试用例要求什么？", "test", "F123"),
        ("《载波聚合设计》的测试用例", "test", "载波聚合设计"),
        ("What does the design of feature F77 say?", "design", "F77"),
        ("该功能的设计文档是什么", "design", ""),
        ("这个需求的开发文档", "development", ""),
        ("Which amendments to this document are there?", "supplement", ""),
        ("the previous edition of this document", "older", ""),
    ],
)
def test_role_and_document_are_read(question, role, name):
    assert related_wish(question) == RelatedWish(role=role, name=name)


@pytest.mark.parametrize(
    "question",
    [
        "How do I test this?",
        "What is the design of the bridge?",
        "Which tests of the battery failed?",
        "the tests for these 3 rules",
        "测试环境怎么申请？",
        "设计评审需要谁参加",
        "",
    ],
)
def test_other_questions_are_left_alone(question):
    assert related_wish(question) is None
