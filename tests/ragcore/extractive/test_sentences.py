"""Lines of sources that are sentences, points of lists or headings."""

from __future__ import annotations

import pytest

from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


def statements(text: str):
    return read_statements([source(1, text)], TOKENIZER)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "II 检验\n  2.1 周期\n    2.1.1 每年一次\n    2.1.2 内部每三年一次",
            ["II 检验", "2.1 周期", "2.1.1 每年一次", "2.1.2 内部每三年一次"],
        ),
        ("4.1 Wear a helmet\n4.2 Wear gloves", ["4.1 Wear a helmet", "4.2 Wear gloves"]),
        ("5.7.1 General\nThe mast stands in Ulm.", ["The mast stands in Ulm."]),
        ("5.7.1 General\n\n5.7.2 Scope\n\nThe mast stands in Ulm.", ["The mast stands in Ulm."]),
    ],
)
def test_numbered_lines_are_points_where_they_stand_below_each_other_and_headings_elsewhere(text, shown):
    assert [statement.text for statement in statements(text)] == shown


@pytest.mark.parametrize(
    "point", ["(a) the site", "ii. the water", "（二）场地", "③ 消防泵", "- the tax", "2) the rest"]
)
def test_points_are_told_by_any_label(point):
    assert [statement.is_item for statement in statements(f"The owner pays\n{point}")] == [False, True]


def test_the_mark_of_a_note_at_a_figure_is_no_citation():
    (statement,) = statements("In all 2400[^3] parts a shift.")

    assert statement.text == "In all 2400［^3］ parts a shift."
