"""Faults of a description name their line and key, what is wrong and what to do, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils.translation import override

from accounts.error_messages import error_message
from knowledge.connectors.rest.connector import DESCRIPTIONS
from knowledge.connectors.rest.description import description_parse
from knowledge.connectors.rest.faults import line_of
from knowledge.rest_errors import RestDescriptionError

DOCS = Path(__file__).parents[4] / "docs" / "rest-sources.md"
COURSES = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
LINES = COURSES.splitlines()

CASES = [  # what is there, what stands in its place, the line by a text on it, key, words in both languages
    ('id = "code"', 'id = "code', 'id = "code', "", "A text has no end", "文本没有结束"),
    ('["bearer", "none"]', "bearer", "sign_in", "", "Texts stand between quotation marks", "文本须放在引号中"),
    ("attributes =", "atributes =", "atributes", "lists.courses.atributes", "Is “attributes” meant?", "attributes"),
    (
        'kind = "page"',
        'kind = "pages"',
        "request =",
        "request.paging.kind",
        "Must be one of none, page",
        "必须是以下之一",
    ),
    ('id = "code"', 'id = "code["', "id =", "lists.courses.id", "“code[” is not a JMESPath", "不是 JMESPath 表达式"),
    ("as markdown", "as markdwn", "text =", "lists.courses.text", "There is no format “markdwn”", "没有格式“markdwn”"),
    ('parameter = "page", ', "", "request =", "request.paging", "“page” needs “parameter”", "需要“parameter”"),
    ('changed = "updated"\n', "", "since =", "lists.courses.since", "needs “changed”", "还需要“changed”"),
    ('size = "bytes"', "size = 3", "size = 3", "attachments.size", "put it between quotation marks", "放在引号中"),
    ('"{item.text as text}"', '"{item.text[}"', "item.text[", "comments.text", "it is not complete", "不完整"),
]


def told(text: str, language: str = "en") -> str:
    with override(language), pytest.raises(RestDescriptionError) as refused:
        description_parse(text)
    with override(language):
        return error_message(refused.value)


@pytest.mark.every_row
@pytest.mark.parametrize(("there", "instead", "on", "key", "english", "chinese"), CASES)
def test_a_fault_is_told_with_its_line_its_key_and_what_to_do(there, instead, on, key, english, chinese):
    assert there in COURSES
    text = COURSES.replace(there, instead, 1)
    line = next(number for number, words in enumerate(text.splitlines(), 1) if on in words)

    words = told(text)

    assert f"Line {line}, " in words
    assert key in words
    assert english in words
    in_chinese = told(text, "zh-hans")
    assert f"第 {line} 行" in in_chinese
    assert chinese in in_chinese


def test_several_faults_are_told_together_up_to_ten():
    text = COURSES + "".join(f'\n[[lists]]\nname = "l{n}"\nid = "id"\n' for n in range(12))

    assert told(text).count("Line ") == 10


@pytest.mark.parametrize("path", sorted(DESCRIPTIONS.glob("*.toml")), ids=lambda path: path.stem)
def test_keys_of_each_list_are_looked_for_in_that_list(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for number, item_list in enumerate(description_parse(text).lists):
        line = lines[line_of(text, ("lists", str(number), "name")) - 1]
        assert line.replace(" ", "") == f'name="{item_list.name}"'
