from hypothesis import given
from hypothesis import strategies as st

from ragcore.compression.extraction import units_of, width

CASES = """
# Setup
The cell is started. Then it is configured!
The steps are:
- first one
- ok
2. two
| a | b |
|---|---|
| 1 | 2 |
```python
x = 1
```
$$
a^2 + b^2
$$ c $$
载波聚合把多个载波合并使用。最多三十二个。
步骤如下：
1、打开电源
"""
LINES = st.lists(st.sampled_from(CASES.split("\n")), max_size=14)


@given(LINES)
def test_units_joined_are_the_text_again(lines):
    text = "\n".join(lines)

    assert "".join(unit.text for unit in units_of(text)) == text


@given(st.text(alphabet="ab. \n|#-`$\\：。一\r\u2028", max_size=60))
def test_no_character_is_lost_of_any_text(text):
    assert "".join(unit.text for unit in units_of(text)) == text


@given(LINES)
def test_a_head_stands_before_what_hangs_on_it(lines):
    units = units_of("\n".join(lines))

    assert all(unit.head is None or unit.head < number for number, unit in enumerate(units))


def test_code_tables_and_formulas_are_one_unit_each():
    text = "Before it.\n```\na. b.\n\nc. d.\n```\nBetween them.\n\n| a | b |\n|---|---|\n| 1. | 2. |\n\n"
    text += "$$\nx. y.\n$$\nBehind it."

    blocks = [unit.text.strip() for unit in units_of(text) if unit.kind == "block"]

    assert blocks == ["```\na. b.\n\nc. d.\n```", "| a | b |\n|---|---|\n| 1. | 2. |", "$$\nx. y.\n$$"]


def test_a_list_hangs_on_the_sentence_before_it_and_that_on_its_heading():
    units = units_of(
        "## Restart\nThe restart takes these steps:\n- Disconnect the power supply first.\n- Wait for half a minute.\n"
    )

    assert [unit.kind for unit in units] == ["heading", "head", "item", "item"]
    assert [unit.head for unit in units] == [None, 0, 1, 1]


def test_short_items_stay_with_their_neighbours():
    units = units_of("- n78\n- n79\n- n41 and all other bands of the region\n")

    assert [unit.text for unit in units] == ["- n78\n- n79\n- n41 and all other bands of the region\n"]


def test_a_chinese_character_is_two_columns_wide():
    assert width("载波 CA ") == 7
