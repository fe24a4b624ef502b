"""Questions made of sentences."""

import random

import pytest

from ragcore.answerability.made_questions import question_of_passage
from ragcore.text.tokenise import JiebaTokenizer, stop_words

ENGLISH = "The handover moves an active terminal from the Kestrel cell to a stronger neighbour within 50 milliseconds."
CHINESE = "辅小区去激活后，终端不在其上监听控制信道，也不上报其信道状态，从而节省电池电量。"


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_a_question_keeps_some_of_the_words_in_their_order(text, tokenizer):
    for seed in range(20):
        question = question_of_passage(text, tokenizer, random.Random(seed))

        said = [w for w in tokenizer.words(question) if w not in stop_words() and w.lower() in text.lower()]
        assert question.endswith(("?", "？"))
        assert 2 <= len(said) < len([w for w in tokenizer.words(text) if w not in stop_words()])
        rest = text.lower()
        for word in said:
            assert word.lower() in rest, f"{word} stands out of order in {question}"
            rest = rest.partition(word.lower())[2]


def test_the_same_seed_makes_the_same_question(tokenizer):
    assert question_of_passage(ENGLISH, tokenizer, random.Random(3)) == question_of_passage(
        ENGLISH, tokenizer, random.Random(3)
    )


def test_nothing_is_made_of_titles_and_short_sentences(tokenizer):
    assert question_of_passage("Overview", tokenizer, random.Random(1)) is None
    assert question_of_passage("It is so. That was all of it.", tokenizer, random.Random(1)) is None
