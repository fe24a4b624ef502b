"""Which passages only repeat another one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.near_duplicates import facts, fingerprint, same_facts, similarities, size, stands_in

LONG = (
    "The remote radio unit is fed from the site battery. The operator checks the cable, the connector and the earth "
    "rail before the unit is switched on. After the start the unit reports its state to the controller, which compares "
    "the measured values with those of the last visit and keeps the difference for the report of the week. "
)
LONG_ZH = (
    "射频单元由站点电池供电。操作人员在设备上电之前检查电缆、接头和接地排。启动之后，单元向控制器报告自身状态，"
    "控制器把测量值同最近一次巡检的数值进行比较，并将差异保存到周报之中，供维护人员查阅和分析。"
)


def likeness(one, other):
    rows = fingerprint(other)[None, :]
    return float(similarities(fingerprint(one), rows, np.array([size(rows[0])]))[0])


def is_copy(one, other, similarity=0.9):
    return likeness(one, other) >= similarity and same_facts(one, other)


@pytest.mark.parametrize("text", [LONG, LONG_ZH, "short", "5"])
def test_a_text_is_a_copy_of_itself(text):
    assert is_copy(text, text)


@pytest.mark.parametrize("text", [LONG, LONG_ZH])
def test_case_space_punctuation_and_width_make_no_difference(text):
    assert is_copy(text.replace(". ", " ;\n\n").replace("，", ","), text)


def test_a_few_other_words_make_no_difference():
    assert is_copy((LONG * 2).replace("keeps the difference", "stores the difference", 1), LONG * 2)


def test_a_long_text_may_stand_in_a_longer_one_but_not_the_other_way():
    longer = f"The visit begins at the gate. {LONG} The report is signed and sent to the office."

    assert stands_in(LONG, longer)
    assert not stands_in(longer, LONG)


def test_the_end_of_a_sentence_does_not_stand_there_by_itself():
    assert not stands_in(LONG[4:], f"Without doubt {LONG}")


def test_a_short_text_stands_elsewhere_by_chance_only():
    assert not stands_in("The unit reports.", "Here. The unit reports. There.")


def test_other_texts_are_no_copies():
    assert likeness(LONG, "A cake of apples needs flour, butter, sugar and some time in the oven.") < 0.1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It takes 5 minutes.", "It takes 6 minutes."),
        ("It needs 5 ms.", "It needs 5 s."),
        ("It stands -5 °C.", "It stands 5 °C."),
        ("The load is 1.5 A.", "The load is 15 A."),
        ("Since 2023-04-01.", "Since 2023-05-01."),
        ("Since March of that year.", "Since April of that year."),
        ("Valid for v2.1 only.", "Valid for v2.2 only."),
        ("Valid for R17.", "Valid for R18."),
        ("It is allowed.", "It is not allowed."),
        ("It can be mixed.", "It can't be mixed."),
        ("Feed with fuse.", "Feed without fuse."),
        ("Two units are fed.", "Three units are fed."),
        ("Signal > limit.", "Signal < limit."),
        ("Ask Alice for the key.", "Ask Bertha for the key."),
        ("可以更换。", "不可以更换。"),
        ("已经启用。", "尚未启用。"),
        ("共有三台设备。", "共有四台设备。"),
        ("适用于第2版。", "适用于第3版。"),
        ("从2023年4月开始。", "从2023年5月开始。"),
        ("温度＜４０度。", "温度＜５０度。"),
    ],
)
def test_a_number_date_version_name_or_negation_is_a_difference(first, second):
    base = LONG_ZH * 3 if any(char >= "\u4e00" for char in first) else LONG * 3
    one, other = f"{base} {first}", f"{base} {second}"

    assert likeness(one, other) >= 0.9
    assert not same_facts(one, other)
    assert not same_facts(f"{first} {base}", f"{second} {base}")
    assert not same_facts(f"{base} {first} {base}", f"{base} {second} {base}")


def test_the_same_numbers_in_another_order_are_a_difference():
    assert facts("A takes 5 and B takes 7.") != facts("A takes 7 and B takes 5.")


def test_two_signs_of_one_number_are_the_same():
    assert facts("５ ms, don’t") == facts("5 ms don't")


WORDS = ("alpha", "5", "-5", "ms", "s", "not", "Bob", ">", "三", "不", "个", "v2.1", "R17", "can't", "10%")
words = st.lists(st.sampled_from(WORDS), max_size=6)


@given(st.lists(words, min_size=4, max_size=4), st.sampled_from(["", "of the unit " * 5, "单元向控制器报告" * 5]))
def test_reading_only_what_differs_finds_what_reading_all_finds(parts, filler):
    start, one, other, end = (" ".join(part) for part in parts)
    first, second = f"{start} {filler} {one} {filler} {end}", f"{start} {filler} {other} {filler} {end}"

    assert same_facts(first, second) == (facts(first) == facts(second))


@given(st.text(max_size=300))
def test_any_text_is_a_copy_of_itself(text):
    assert is_copy(text, text) or not any(char.isalnum() for char in text)


@given(st.text(max_size=200), st.text(max_size=200))
def test_likeness_is_a_share(one, other):
    assert 0 <= likeness(one, other) <= 1


def test_a_fingerprint_is_that_of_one_text_whatever_stands_beside_it():
    rows = np.array([fingerprint(text) for text in (LONG, LONG_ZH, "x")])

    sizes = np.array([size(row) for row in rows])
    assert similarities(rows[1], rows, sizes).tolist() == [likeness(LONG_ZH, text) for text in (LONG, LONG_ZH, "x")]
