"""A follow-up that keeps the question before and adds to it."""

import pytest

from ragcore.understanding.same_but import same_but

PRICE, PRICE_ZH = "unit price of the P10 for 300 pcs", "P10买300台单价多少？"


@pytest.mark.parametrize(
    ("text", "earlier", "expected"),
    [
        ("same quantity but with housing", PRICE, f"{PRICE} with housing"),
        ("and the same amount, but without the cable?", PRICE, f"{PRICE} without the cable"),
        ("同样数量带外壳的呢", PRICE_ZH, "P10买300台单价多少，带外壳"),
        ("数量不变，换成防水型呢", PRICE_ZH, "P10买300台单价多少，防水型"),
        ("is it the same with housing", PRICE, None),
        ("同样的问题怎么处理", "", None),
    ],
)
def test_what_is_added_stands_behind_the_question_before(text, earlier, expected):
    assert same_but(text, earlier) == expected
