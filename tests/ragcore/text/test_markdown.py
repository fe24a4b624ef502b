"""Markdown of sources without its marks."""

import pytest

from ragcore.text.code_blocks import code_blocks, fence_code, joined_texts
from ragcore.text.markdown import plain_text
from ragcore.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("There are 2 ** numerology slots.", "There are 2 ** numerology slots."),
        ("每个子帧有 2 ** n 个时隙。", "每个子帧有 2 ** n 个时隙。"),
        ("It is 2**k at most.", "It is 2**k at most."),
        ("Use `a ** b` and **bold**.", "Use `a ** b` and bold."),
        ("参数 `*args` 是**必填**的。", "参数 `*args` 是必填的。"),
        ("`x_y_z` and `config.yaml`", "x_y_z and config.yaml"),
        ("Set __init__ or `__main__`.", "Set `__init__` or `__main__`."),
        ("SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("延迟 <1 ms 或 >3 ms", "延迟 <1 ms 或 >3 ms"),
        ("`ls | wc -l` counts", "`ls | wc -l` counts"),
        ("__bold__ and *it* and <b>x</b>", "bold and it and x"),
        ("**Begun. ", "Begun."),
        ("the end**", "the end"),
    ],
)
def test_signs_that_are_no_marks_stay(written, plain):
    assert plain_text(written) == plain


def test_a_block_of_code_is_one_sentence_and_nothing_is_lost():
    text = "Run this. Then wait:\n\n- item\n  ```bash\n  a. B. c\n  ```\n\n  More. Text.\n"

    sentences = split_sentences(text)

    assert "".join(sentences) == text
    assert "  ```bash\n  a. B. c\n  ```\n\n" in sentences


@pytest.mark.parametrize("code", ["x = 1", 'print("```")', "a\n\n  b", "~~~\n````"])
def test_a_fence_holds_whatever_code_there_is(code):
    blocks = code_blocks(f"Text.\n\n{fence_code(code, 'python')}\n\nMore.")

    assert [(block.code, block.language) for block in blocks] == [(code, "python")]


def test_code_has_lines_of_its_own_between_sentences():
    block = fence_code("x")

    assert joined_texts(["Run:", block, "Then wait.", "And stop."]) == f"Run:\n\n{block}\n\nThen wait. And stop."
