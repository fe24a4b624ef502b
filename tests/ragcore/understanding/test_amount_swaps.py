"""A question about another amount takes the place of the one before."""

import pytest

from ragcore.understanding.amount_swaps import swap_amount, with_same_amount


@pytest.mark.parametrize(
    ("new", "earlier", "question"),
    [
        ("满十年的", "工龄4年，奖金几天", "工龄十年，奖金几天"),
        ("18个月", "工龄4年奖金多少", "工龄18个月奖金多少"),
        ("12 nights", "hotel for three nights in Rome", "hotel for 12 nights in Rome"),
        ("300 kg", "who lifts 20 kg", "who lifts 300 kg"),
        ("300 kg", "who lifts it in 20 minutes", None),
        ("12 nights in Oslo", "hotel for three nights in Rome", None),
    ],
)
def test_another_amount(new, earlier, question):
    assert swap_amount(new, earlier) == question


@pytest.mark.parametrize(
    ("text", "earlier", "question"),
    [
        ("same quantity but with a lid", "price of BX-12 for 8000 pcs", "8000 pcs but with a lid"),
        ("同样数量带盖的呢", "BX-12买2000件多少钱", "2000件带盖的呢"),
        ("but with a lid", "price of BX-12 for 8000 pcs", None),
    ],
)
def test_the_same_amount(text, earlier, question):
    assert with_same_amount(text, earlier) == question
