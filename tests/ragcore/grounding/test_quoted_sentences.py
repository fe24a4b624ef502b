"""A model's reply is shown as the quoted sentence that it was taken from."""

import pytest

from ragcore.grounding.quoted_sentences import QuotedSentences

EXTRACT = (
    "The seal of the pump is replaced every 4,000 operating hours, or earlier where the pump has run dry. [1] "
    "Valve V3 is closed before that, since the housing stays under pressure for up to two minutes after a stop, and "
    "nobody may open the cover meanwhile, not even where the pressure gauge above the valve has fallen to zero. "
    "The drain stays open. [2]\n\n**Also relevant**\n\n"
    "- In 1974 the pump weighed 74 kg. [1]\n- 密封圈每运行 4000 小时更换一次，泵干转过时应当提前更换。[3]\n"
)
QUESTION = "When is the seal of the pump replaced?"


@pytest.fixture
def quoted(tokenizer):
    return QuotedSentences(EXTRACT, QUESTION, tokenizer)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (
            "every 4,000 operating hours",
            "The seal of the pump is replaced **every 4,000 operating hours**, or earlier where the pump has run dry."
            " [1]",
        ),
        ("74 kg", "In 1974 the pump weighed **74 kg**. [1]"),
        ("74", "In 1974 the pump weighed **74** kg. [1]"),
        ("The drain is left open.", "The drain stays open. [2]"),
        ("It costs 20 euros and a cup of tea.", None),
        ("", ""),
    ],
    ids=["part", "figure", "whole word", "own words", "nothing says it", "empty"],
)
def test_a_short_reply_is_shown_in_its_sentence(quoted, reply, shown):
    assert quoted.instead_of(reply) == shown


@pytest.mark.parametrize(
    ("sentence", "reply", "shown"),
    [
        ("The bandwidth is 5.5 MHz. [1] The gap is 5 km. [2]", "5", "The gap is **5** km. [2]"),
        ("The cell serves 10,000 users. [1]", "10", None),
        ("功耗下降20%以上的小区会休眠。[1]", "20%", "功耗下降20%以上的小区会休眠。[1]"),
        ("Send `ADD CELL: ID=5` first. [1]", "ID=5", "Send `ADD CELL: ID=5` first. [1]"),
    ],
    ids=["part of a number", "thousands", "sign beside a letter", "code"],
)
def test_bold_stands_where_markdown_reads_it(sentence, reply, shown, tokenizer):
    question = "功耗下降多少？" if "功耗" in sentence else "How much is it?"

    assert QuotedSentences(sentence, question, tokenizer).instead_of(reply) == shown


def test_a_part_of_a_much_longer_sentence_stays(quoted):
    claim = "Valve V3 is closed before that, since the housing stays under pressure."

    assert quoted.instead_of(claim) == ""


def test_words_that_stand_far_apart_in_a_sentence_are_shown_as_the_sentence(quoted):
    claim = "Valve V3 is closed meanwhile, since the pressure gauge above the valve has fallen to zero."

    assert quoted.instead_of(claim).startswith("Valve V3 is closed before that, since the housing")


@pytest.mark.parametrize(
    "claim",
    [
        "Valve V3 is not closed before that, since the housing stays under pressure.",
        "Valve V3 is closed before that by the engineer, since the housing stays under pressure.",
    ],
    ids=["denial", "own word"],
)
def test_what_a_longer_sentence_adds_is_not_shown(quoted, claim):
    shown = quoted.instead_of(claim)

    assert shown.startswith("Valve V3 is closed before that, since the housing")
    assert shown.endswith("[2]")  # the mark of the sentence behind it


def test_sentences_in_another_language_are_left_alone(tokenizer):
    assert "密封圈" not in QuotedSentences(EXTRACT, QUESTION, tokenizer).instead_of("4000")
    assert QuotedSentences(EXTRACT, "密封圈多久更换一次？", tokenizer).instead_of("4000 小时") == (
        "密封圈每运行 **4000 小时**更换一次，泵干转过时应当提前更换。[3]"
    )
