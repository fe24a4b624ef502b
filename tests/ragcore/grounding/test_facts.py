"""What a sentence states that a source must have too."""

import pytest

from ragcore.grounding.facts import (
    figures,
    figures_offered,
    names,
    negations,
    plain_figure,
    quotations,
    reporting_words,
)


def test_figures_are_compared_without_their_way_of_writing():
    assert [plain_figure(f) for f in figures("1,024 of ２．５０ and 007")] == ["1024", "2.5", "7"]
    assert {"4", "32"} <= figures_offered("four steps, 32 carriers")
    assert "3" in figures_offered("共有三个步骤")


def test_names_are_capitalised_words_within_a_sentence_and_identifiers():
    assert names("Yesterday the mast in Ulm was built by Anna's team. The TS38.300 says so.") == [
        "ulm",
        "anna",
        "ts38.300",
    ]


def test_quotations_are_what_stands_in_marks():
    assert quotations("他写了《围城》和“小说”。") == ["围城", "小说"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It is not sent.", 1),
        ("It isn't sent.", 1),
        ("It is noted.", 0),
        ("不支持", 1),
        ("不同的无线网络", 0),
        ("没有发送", 1),
    ],
)
def test_denials_are_counted_and_words_that_only_look_like_them_are_not(text, wanted):
    assert negations(text) == wanted


def test_words_about_sources_are_known_as_the_tokenizer_gives_them(tokenizer):
    assert set(tokenizer.words("sources mention")) <= reporting_words()
    assert "来源" in reporting_words()
