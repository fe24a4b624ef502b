"""How far a model is trusted by script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.script_trust import ScriptTrust, trust_of_recall, trust_told


@pytest.mark.parametrize(("recall", "trust"), [(0.0, 0.0), (0.2, 0.0), (0.4, 0.5), (0.6, 1.0), (1.0, 1.0)])
def test_a_model_that_finds_little_is_trusted_little(recall, trust):
    assert trust_of_recall(recall) == pytest.approx(trust)


@given(latin=st.floats(0, 1), cjk=st.floats(0, 1), share=st.floats(-1, 2))
def test_a_mixed_text_lies_between_both_scripts(latin, cjk, share):
    trust = ScriptTrust(latin=latin, cjk=cjk)

    assert min(latin, cjk) - 1e-9 <= trust(share) <= max(latin, cjk) + 1e-9
    assert (trust(0.0), trust(1.0)) == pytest.approx((latin, cjk))


def test_where_nothing_is_on_record_a_model_is_trusted():
    assert trust_told(lambda vectors, *, model: vectors, 1.0) == 1.0
