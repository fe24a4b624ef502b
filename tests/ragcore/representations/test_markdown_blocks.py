from ragcore.representations.derived_texts import markdown_blocks
from ragcore.types import Block


def test_each_kind_of_block_is_recognised():
    parts = {
        "heading": "## Title",
        "paragraph": "Some text\non two lines.",
        "list": "- one\n- two",
        "table": "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "code": "```python\nx = 1\n\ny = 2\n```",
        "formula": "$$\nE = m c^2\n\n$$",
        "image": "![alt](picture:a.png)",
    }

    blocks = markdown_blocks("\n\n".join(parts.values()))

    assert [block.kind for block in blocks] == list(parts)
    assert [block.markdown() for block in blocks] == list(parts.values())


def test_a_formula_on_one_line_ends_there():
    assert [block.kind for block in markdown_blocks("$$x$$\n\ntext")] == ["formula", "paragraph"]


def test_a_heading_loses_its_hashes():
    assert markdown_blocks("### A") == [Block(kind="heading", text="A", level=3)]


def test_nothing_has_no_block():
    assert markdown_blocks(" \n\n") == []
