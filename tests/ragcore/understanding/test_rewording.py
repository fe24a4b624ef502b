"""What counts as asking the same again in other words. Cosines as the packaged embedding model gives them."""

from __future__ import annotations

import pytest

from ragcore.text.tokenise import JiebaTokenizer
from ragcore.understanding.rewording import is_rewording

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("earlier", "later", "cosine"),
    [
        ("What is RedCap?", "Explain the term RedCap", 0.835),
        ("How do I reset the badge reader?", "What are the steps to restart the badge reader?", 0.815),
        ("Who approves travel expenses?", "Whose approval do I need for travel costs?", 0.778),
        ("Why was the order cancelled?", "What was the reason for cancelling the order?", 0.931),
        ("什么是网络切片？", "网络切片是什么意思？", 0.938),
        ("水泵的保修期是多久？", "水泵保修多少年？", 0.853),
        ("订单为什么被取消？", "取消订单的原因是什么？", 0.870),
        ("滤芯多久换一次？", "过滤芯的更换周期是多长？", 0.764),
    ],
)
def test_the_same_in_other_words(earlier, later, cosine):
    assert is_rewording(earlier, later, cosine=cosine, tokenizer=TOKENIZER)


@pytest.mark.parametrize(
    ("earlier", "later", "cosine"),
    [
        ("What is RedCap?", "What did Release 18 add for RedCap?", 0.724),
        ("What is RedCap?", "Which bandwidth does RedCap use?", 0.780),
        ("What is a network slice?", "Who manages a network slice?", 0.876),
        ("How do I reset the badge reader?", "Where is the badge reader mounted?", 0.671),
        ("When is the alarm cleared?", "When is the alarm raised?", 0.634),
        ("How long is the warranty of the pump?", "How heavy is the pump?", 0.514),
        ("什么是 RedCap？", "Release 18 为 RedCap 增加了什么？", 0.737),
        ("什么是网络切片？", "谁负责管理网络切片？", 0.753),
        ("怎么重置门禁读卡器？", "门禁读卡器安装在哪里？", 0.787),
        ("滤芯多久换一次？", "滤芯是什么材料做的？", 0.638),
    ],
)
def test_another_question_about_the_same_thing_is_no_rewording(earlier, later, cosine):
    assert not is_rewording(earlier, later, cosine=cosine, tokenizer=TOKENIZER)
    assert not is_rewording(later, earlier, cosine=cosine, tokenizer=TOKENIZER)


def test_a_shared_word_is_not_enough_without_closeness_in_meaning():
    assert not is_rewording("RedCap bandwidth", "RedCap devices", cosine=0.4, tokenizer=TOKENIZER)


def test_the_same_words_in_another_order_are_enough_without_a_good_embedding_model():
    assert is_rewording(
        "The pump seal: how often is it replaced?",
        "how often is the seal of the pump replaced",
        cosine=0.2,
        tokenizer=TOKENIZER,
    )
