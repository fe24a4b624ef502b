import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.normalise import nfkc, normalise_query, squeeze
from ragcore.text.scripts import cjk_share, columns, language_of


@pytest.mark.parametrize(("text", "share"), [("网络ab", 0.5), ("network 5", 0.0), ("", 0.0), ("网络，2", 1.0)])
def test_the_cjk_share_counts_letters_only(text, share):
    assert cjk_share(text) == share


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("什么是 network slicing in 5G core", "en"),
        ("什么是网络切片 network slicing", "zh"),
        ("什麼是網路切片", "zh"),
        ("what is it", "en"),
        ("これはペンです", "other"),
        ("네트워크", "other"),
        ("что", "other"),
        ("42 !", "other"),
    ],
)
def test_the_language_follows_the_script(text, language):
    assert language_of(text) == language


@given(st.text())
def test_the_share_lies_between_0_and_1(text):
    assert 0 <= cjk_share(text) <= 1


@given(st.text())
def test_normalising_a_question_twice_changes_nothing(text):
    once = normalise_query(text)

    assert normalise_query(once) == once


def test_a_question_loses_full_width_forms_and_invisible_characters():
    assert normalise_query("  ５Ｇ\u200b　core \n") == "5G core"


def test_squeezing_keeps_what_carries_meaning():
    assert squeeze("「364.6 公里」, 50+！") == "3646公里50+"
    assert squeeze("Ｂｉｇ-Data °C") == "bigdata°c"


@given(st.text())
def test_a_wide_character_takes_two_columns(text):
    assert columns(text) == sum(2 if char > "\u2e7f" else 1 for char in text)


def test_a_power_does_not_become_digits_of_its_number():
    assert [nfkc(text) for text in ("10⁶ Ω", "5×10⁻⁸", "25 m²", "Ｃ２")] == ["10^6 Ω", "5×10^\u22128", "25 m2", "C2"]
