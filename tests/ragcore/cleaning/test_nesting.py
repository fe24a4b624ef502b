"""Paragraphs with levels as nested lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragcore.cleaning.nesting import nest_lists
from ragcore.parsing.markdown import MarkdownParser
from ragcore.types import Block, Box


def level_of(style: str, line: str) -> int:
    """Of `2> text` and of the style B2."""
    text = line.strip()
    return int(text[0]) if text[1:2] == ">" and text[0].isdigit() else int(style[1:] or 0) if style[:1] == "B" else 0


def paragraphs(*texts: str, **values: object) -> list[Block]:
    return [Block(kind="paragraph", text=text, **values) for text in texts]


def nested(*texts: str) -> list[str]:
    return [block.text for block in nest_lists(paragraphs(*texts), level_of)]


def test_levels_become_nested_lists_and_labels_stay():
    assert nested(
        "The UE shall:", "1> if a:", "2> set b;", "3> send c;", "2> set d;", "1> else:", "2> stop.", "End."
    ) == [
        "The UE shall:",
        "- 1> if a:\n  - 2> set b;\n    - 3> send c;\n  - 2> set d;\n- 1> else:\n  - 2> stop.",
        "End.",
    ]


def test_levels_come_from_styles_and_bullets_become_marks():
    blocks = [Block(kind="paragraph", text=f"- item {n}", style=f"B{n}") for n in (1, 2, 3, 1)]

    (made,) = nest_lists(blocks, level_of)

    assert (made.kind, made.is_nested) == ("list", True)
    assert made.text == "- item 1\n  - item 2\n    - item 3\n- item 1"


def test_lines_of_one_paragraph_are_items_of_their_own_and_the_others_belong_to_them():
    assert nested("Before\n1> if a\n   or b:\n    2> set c;") == ["Before", "- 1> if a\n  or b:\n  - 2> set c;"]


def test_a_list_that_begins_deep_or_leaves_levels_out_stays_at_its_margin():
    assert nested("3> a", "5> b", "4> c", "1> d") == ["- 3> a\n  - 5> b\n  - 4> c\n- 1> d"]


def test_a_note_between_two_levels_does_not_break_them_apart():
    found = nested("1> if a:", "2> set b;", "NOTE 1: b is\nlarge.", "2> set c;", "3> send d.", "The end.", "1> if e.")

    assert found == [
        "- 1> if a:\n  - 2> set b;\n\n    NOTE 1: b is\n    large.\n\n  - 2> set c;\n    - 3> send d.",
        "The end.",
        "- 1> if e.",
    ]


def test_tables_headings_and_many_paragraphs_end_a_list():
    table = Block(kind="table", text="| a |")
    others = paragraphs("a", "b", "c", "d")

    found = nest_lists(
        [*paragraphs("1> a", "2> b"), table, *paragraphs("2> c"), *others, *paragraphs("2> d")], level_of
    )

    assert [block.kind for block in found] == ["list", "table", "list", *["paragraph"] * 4, "list"]
    assert [block.text for block in found if block.kind == "list"] == ["- 1> a\n  - 2> b", "- 2> c", "- 2> d"]


def test_pages_stay_apart_and_boxes_are_joined():
    box = Box(page=1, x0=1, y0=2, x1=3, y1=4)
    blocks = [
        *paragraphs("1> a", page=1, box=box),
        *paragraphs("2> b", page=1, box=Box(page=1, x0=2, y0=4, x1=9, y1=6)),
        *paragraphs("2> c", page=2),
    ]

    first, second = nest_lists(blocks, level_of)

    assert (first.page, first.box) == (1, Box(page=1, x0=1, y0=2, x1=9, y1=6))
    assert (second.page, second.text, second.box) == (2, "- 2> c", None)


LEVELS = st.lists(st.integers(0, 5), max_size=12)


@given(levels=LEVELS)
def test_no_text_is_lost_and_a_second_time_changes_nothing(levels):
    texts = [f"{level}> item {at}" if level else f"plain {at}" for at, level in enumerate(levels)]
    found = nest_lists(paragraphs(*texts), level_of)

    words = [line.strip().removeprefix("- ") for block in found for line in block.text.split("\n") if line.strip()]
    assert words == texts
    assert nest_lists(found, level_of) == found


@given(levels=LEVELS)
def test_an_item_stands_below_the_nearest_one_with_a_lower_level(levels):
    texts = [f"{level}> item" for level in levels if level]
    lines = [line for block in nest_lists(paragraphs(*texts), level_of) for line in block.text.split("\n")]

    margins = [len(line) - len(line.lstrip()) for line in lines]
    known = [level for level in levels if level]
    for at, level in enumerate(known):
        above = [margin for margin, other in zip(margins[:at], known[:at], strict=True) if other < level]
        assert margins[at] == (above[-1] + 2 if above else 0)


def test_markdown_reads_the_list_as_one():
    (made,) = nest_lists(paragraphs("1> a", "2> b", "3> c"), level_of)

    read = MarkdownParser().parse(made.markdown().encode(), name="a.md")

    assert [(block.kind, block.text) for block in read.blocks] == [("list", made.text)]
