import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.sentences import split_sentences

SNIPPETS = st.sampled_from(
    ["e.g. ", "3.14", "。", "！", ". ", "? ", "\n", "\n\n", "- ", "1. ", "[3]", "Dr. ", "网络", "The cell ", "”", "# T"]
)


@given(st.one_of(st.text(), st.lists(SNIPPETS).map("".join)))
def test_the_sentences_joined_are_the_text(text):
    sentences = split_sentences(text)

    assert "".join(sentences) == text
    assert all(sentences)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("基站已重启。请检查告警！好了吗？", ["基站已重启。", "请检查告警！", "好了吗？"]),
        ("他说：“断电。”然后离开了。", ["他说：“断电。”", "然后离开了。"]),
        ("版本3.5发布。下一版是4.0。", ["版本3.5发布。", "下一版是4.0。"]),
        ("It works. It is fast.", ["It works. ", "It is fast."]),
        ("See Fig. 3, e.g. the AMF. Then stop.", ["See Fig. 3, e.g. the AMF. ", "Then stop."]),
        ("TS 23.501 says so. The UE is at 3.5 GHz.", ["TS 23.501 says so. ", "The UE is at 3.5 GHz."]),
        ("Dr. J. Smith agreed. So did we.", ["Dr. J. Smith agreed. ", "So did we."]),
        ("Done. eNB restarts. ok", ["Done. ", "eNB restarts. ok"]),
        ("Yes, no. 4 is broken. I say no. Then.", ["Yes, no. 4 is broken. ", "I say no. ", "Then."]),
        ("It is so.[1] [2] And more [3]. End", ["It is so.[1] [2] ", "And more [3]. ", "End"]),
        ("结论成立。[1]另见附录。[2]", ["结论成立。[1]", "另见附录。[2]"]),
        ("她以笔名S.G. Lee写作。书已出版。", ["她以笔名S.G. Lee写作。", "书已出版。"]),
        ("初步诊断：1. 哮喘 2. 高血压 3. 痛风\n门诊随访", ["初步诊断：1. 哮喘 2. 高血压 3. 痛风\n", "门诊随访"]),
        ("Causes: 1. dust 2. Heat 3. Noise. Then rest.", ["Causes: 1. dust 2. Heat 3. Noise. ", "Then rest."]),
        ("It was built in 1999. 2. Liga clubs play.", ["It was built in 1999. ", "2. Liga clubs play."]),
        ("The value is 5. Then it falls.", ["The value is 5. ", "Then it falls."]),
    ],
)
def test_sentences_end_at_full_stops_only(text, expected):
    assert split_sentences(text) == expected


def test_headings_list_items_and_table_rows_stand_alone():
    text = "# Power\n1. Switch off\n2. Wait. Then go on\n- last\n\n| a | b |\n| 1 | 2 |\n"

    sentences = split_sentences(text)

    assert [s.strip() for s in sentences] == [
        "# Power", "1. Switch off", "2. Wait.", "Then go on", "- last", "| a | b |", "| 1 | 2 |",
    ]  # fmt: skip


def test_a_wrapped_line_is_joined_with_the_next_and_a_short_one_is_not():
    wrapped = "The antenna is connected to the base station by a fibre which is\nlaid in the ground. Done."
    short = "General\nThe antenna is here."

    assert split_sentences(wrapped)[0].endswith("laid in the ground. ")
    assert split_sentences(short) == ["General\n", "The antenna is here."]


def test_points_with_letters_and_roman_numbers_stand_alone():
    text = "The owner pays\n  (a) the site\n    i. water\n    ii. power\n  b) the tax\n甲. 范围\n"

    assert [s.strip() for s in split_sentences(text)] == [
        "The owner pays", "(a) the site", "i. water", "ii. power", "b) the tax", "甲. 范围",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [("0.1 for 60 seconds.", True), ("1.8 GHz and below.", True), ("5.7 General", False), ("1.Open it.", False)],
)
@pytest.mark.parametrize("indent", ["", "  "])
def test_a_wrapped_line_that_begins_with_a_measure_is_joined(line, goes_on, indent):
    before = "An alarm is cleared when the value stays below the threshold minus the hysteresis of"

    assert len(split_sentences(f"{before}\n{indent}{line}")) == (1 if goes_on else 2)


@pytest.mark.parametrize(
    "text",
    ["Step 1. Open the cabinet.", "The plant stands in Dongguan, P.R. China.", "Case 12. Two devices collide."],
)
def test_a_label_or_dotted_initials_end_no_sentence(text):
    assert split_sentences(text) == [text]


def test_a_numbered_thing_at_the_end_of_a_sentence_ends_it():
    assert split_sentences("It is told in step 1. Open the cabinet.") == ["It is told in step 1. ", "Open the cabinet."]


@pytest.mark.parametrize(
    "text",
    [
        "| E-12 | 1. Stop the drive 2. Tension to 85 N 3. Restart | ok |\n",
        "E-12 · Belt torn · 1. Stop the drive 2. Restart",
        "1. 关闭电源 2. 打开盖板 3. 更换",
        "操作 1. 关闭电源 2. 打开盖板",
    ],
)
def test_steps_that_stand_in_one_line_are_one_sentence(text):
    assert split_sentences(text) == [text]


def test_a_number_at_the_end_of_a_sentence_begins_no_list():
    assert split_sentences("He came in 1. It was 2. Then") == ["He came in 1. ", "It was 2. ", "Then"]
