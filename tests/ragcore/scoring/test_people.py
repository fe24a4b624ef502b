"""What is said of the agreement with people is what was measured."""

from __future__ import annotations

import pytest

from ragcore.metrics.registry import metric_info
from ragcore.scoring.people import agreement_with_people


@pytest.mark.parametrize("score", ["judge_score", "faithfulness"])
def test_the_interface_says_the_measured_correlation(score):
    known, info = agreement_with_people(score), metric_info(score)

    assert known is not None
    assert info is not None
    assert 0 < known.pearson < 1
    assert f"r = {known.pearson:.2f}" in info.help


def test_a_score_that_was_not_compared_says_so():
    assert agreement_with_people("coherence") is None
    assert agreement_with_people("made_by") is None
