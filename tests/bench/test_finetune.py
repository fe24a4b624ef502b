"""How the bench of fitted query vectors splits a set, and what it counts."""

from bench.finetune.halves import first_half
from bench.finetune.measure import _removed


def test_halves_hold_whole_documents():
    corpus = [
        {"id": f"{name}-{part}", "title": f"{name} part {part}", "text": ""} for name in "abcdefgh" for part in range(5)
    ]

    seen = first_half(corpus)

    assert 20 <= len(seen) < 25
    assert all(sum(one.startswith(name) for one in seen) in (0, 5) for name in "abcdefgh")
    assert seen == first_half(corpus[::-1])


def test_the_share_of_misses_that_are_found():
    assert _removed([0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]) == 0.5
    assert _removed([1.0, 1.0], [1.0, 0.0]) == 0.0  # nothing was missed
    assert _removed([0.0, 1.0], [0.0, 0.5]) == -0.5
