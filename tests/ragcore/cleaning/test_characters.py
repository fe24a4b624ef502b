from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.cleaning import normalise_text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("ＡＢＣ１２３％", "ABC123%"),
        ("你好，世界。真的？是！（注：一；二）", "你好，世界。真的？是！（注：一；二）"),
        ("１２：３０", "12:30"),
        ("⽤⼾⻚⾯", "用户页面"),
        ("eﬃcient ﬁle", "efficient file"),
        ("10² m ① ½ ㎡ ℃ H₂O", "10² m ① ½ m² °C H₂O"),
        ("zero\u200bwidth\ufeff soft\u00adhyphen", "zerowidth softhyphen"),
        ("hidden\U000e0041\U000e0042", "hidden"),
        ("bell\x07 null\x00", "bell null"),
        ("a\u00a0b\u3000c", "a b c"),
        ("\uf0b7 item", "• item"),
        ("e\u0301", "é"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_text_is_plain_and_keeps_its_meaning(raw, clean):
    assert normalise_text(raw) == clean


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\r\nb\rc\u2028d\x0ce", "a\nb\nc\nd\ne"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a \t\t b  c   \nd", "a b c\nd"),
        ("- a\n  - b\n\tc", "- a\n  - b\n    c"),
        ("基础、 战略 。好", "基础、战略。好"),
        ("张三 李四", "张三 李四"),
    ],
)
def test_white_space_is_tidy_and_indentation_stays(raw, clean):
    assert normalise_text(raw) == clean


@settings(deadline=None)
@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = normalise_text(text)

    assert normalise_text(once) == once


@settings(deadline=None)
@given(st.text())
def test_nothing_invisible_is_left(text):
    clean = normalise_text(text)

    assert not set(clean) & set("\x00\x07\r\t\u200b\u200e\u202e\ufeff\u00ad")
