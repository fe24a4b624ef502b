"""Names of files that are the same, or versions of each other."""

from __future__ import annotations

import pytest

from ragcore.text.file_names import loose_key, name_key


@pytest.mark.parametrize(
    ("name", "same"), [("LEAVE.md", "leave.md"), ("ｌeave.md", "leave.md"), ("travel  policy.md", "travel policy.md")]
)
def test_capitals_and_forms_of_characters_make_no_other_name(name, same):
    assert name_key(name) == name_key(same)


@pytest.mark.parametrize(
    "name",
    [
        "leave policy (1).md",
        "leave_policy_v2.docx",
        "Leave-Policy-2026.md",
        "leave policy final.md",
        "leave policy - copy.md",
        "leave.policy.rev3.md",
    ],
)
def test_what_people_add_to_a_name_makes_it_a_near_one(name):
    assert loose_key(name) == loose_key("leave policy.md")


def test_chinese_names_with_a_version_are_near_ones():
    assert loose_key("请假制度_v2.docx") == loose_key("请假制度终稿.docx") == loose_key("请假制度.docx")


def test_names_with_nothing_but_a_number_are_near_to_none():
    assert loose_key("a (2).md") == loose_key("2026.md") == ""
