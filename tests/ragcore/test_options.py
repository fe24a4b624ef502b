"""Options in layers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import InvalidOptionsError
from ragcore.options import RepresentationOptions, RetrievalOptions, options_sha256, resolve


def test_the_last_layer_wins_and_its_name_is_kept():
    resolved = resolve(RetrievalOptions, ("site", {"top_k": 5, "cliff": True}), ("set HR", {"top_k": 60 // 2}))

    assert resolved.value.top_k == 30
    assert resolved.value.cliff is True
    assert (resolved.origin["top_k"], resolved.origin["cliff"]) == ("set HR", "site")
    assert resolved.origin["fused_limit"] == "default"


def test_what_is_made_of_documents_has_the_fingerprint_of_the_release_in_which_its_options_were_more():
    as_then = "881288df028319f4b40626456c4420a3a3f245fb372d0a20e2ea19d7ed186387"

    assert options_sha256(RepresentationOptions()) == as_then


def test_an_option_of_an_earlier_release_does_nothing():
    assert resolve(RetrievalOptions, ("run", {"alpha_slope": 2.0, "top_k": 5})).value == RetrievalOptions(top_k=5)


def test_zero_and_false_are_values_and_none_inherits():
    resolved = resolve(RetrievalOptions, ("site", {"min_match": 0.0, "rerank": False}), ("request", {"rerank": None}))

    assert resolved.value.min_match == 0.0
    assert resolved.value.rerank is False
    assert resolved.origin["rerank"] == "site"


def test_all_faults_are_reported_together():
    with pytest.raises(InvalidOptionsError) as caught:
        resolve(RetrievalOptions, ("site", {"topk": 3, "top_k": 51, "rerank": 1}))

    assert "unknown option 'topk'" in caught.value.message
    assert "between 1 and 50" in caught.value.message
    assert "of type bool" in caught.value.message


@given(st.integers(1, 50), st.booleans())
def test_equal_values_have_equal_fingerprints(top_k, rerank):
    one, two = (RetrievalOptions(top_k=top_k, rerank=rerank) for _ in range(2))

    assert options_sha256(one) == options_sha256(two)
    assert options_sha256(one) != options_sha256(RetrievalOptions(top_k=51 - top_k, rerank=not rerank))
