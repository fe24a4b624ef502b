"""Presets and modes are valid layers of options, and what a request sends itself wins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import InvalidOptionsError
from ragcore.options import MODES, PRESETS, AnswerOptions, RetrievalOptions, resolve
from ragcore.presets import mode_layers, preset, preset_retrieval_mode

GROUPS = {"answer": AnswerOptions, "retrieval": RetrievalOptions}


def resolved(group, *layers):
    return resolve(GROUPS[group], *layers)


@pytest.mark.parametrize("layers", [*map(preset, PRESETS), *map(mode_layers, MODES)])
def test_every_preset_and_mode_names_only_options_that_exist_with_values_that_they_may_have(layers):
    for group, values in layers.items():
        resolved(group, ("layer", values))


@pytest.mark.parametrize("find", [preset, mode_layers])
def test_an_unknown_name_is_refused_with_the_known_ones(find):
    with pytest.raises(InvalidOptionsError, match=r"must be one of .*"):
        find("magic")


def test_presets_are_what_their_words_promise():
    accurate, fast, balanced, cheap = (
        resolved("answer", (name, preset(name).get("answer", {}))).value
        for name in ("accurate", "fast", "balanced", "cheap")
    )

    assert (accurate.strategy, accurate.rewrite_method) == ("self_rag", "hyde")
    assert accurate.temperature < AnswerOptions().temperature
    assert accurate.judge_support
    assert (fast.rewrite_method, fast.mode, fast.tiered, fast.compression_method) == ("none", "basic", True, "none")
    assert balanced.rewrite_method == "multi"
    assert (cheap.rewrite_method, cheap.compression_method) == ("none", "sentence_extraction")
    assert cheap.max_tokens < AnswerOptions().max_tokens
    assert [preset_retrieval_mode(name) for name in PRESETS] == [None, None, None, None, "vector"]


def test_fast_and_cheap_do_not_rerank_and_the_others_do():
    rerank = {name: resolved("retrieval", (name, preset(name).get("retrieval", {}))).value.rerank for name in PRESETS}

    assert rerank == {"": True, "accurate": True, "fast": False, "balanced": True, "cheap": False}


def test_the_ultimate_mode_searches_eight_passages_a_form_and_stops_early():
    answer = resolved("answer", ("mode", mode_layers("ultimate")["answer"])).value
    retrieval = resolved("retrieval", ("mode", mode_layers("ultimate")["retrieval"])).value

    assert (answer.rewrite_method, answer.max_chunks, answer.max_agentic_iterations) == ("multi", 10, 2)
    assert (answer.confidence_threshold, answer.compression_method, answer.compression_ratio) == (0.7, "hybrid", 0.6)
    assert (retrieval.top_k, retrieval.deduplicate) == (8, True)


def test_basic_and_no_preset_change_nothing():
    assert mode_layers("basic") == preset("") == {}


@given(
    name=st.sampled_from(PRESETS), mode=st.sampled_from(MODES), temperature=st.floats(0, 2), tokens=st.integers(1, 4096)
)
def test_what_a_request_sends_wins_over_every_preset_and_mode(name, mode, temperature, tokens):
    sent = {"temperature": temperature, "max_tokens": tokens}

    found = resolved(
        "answer",
        ("mode", mode_layers(mode).get("answer", {})),
        ("preset", preset(name).get("answer", {})),
        ("request", sent),
    )

    assert (found.value.temperature, found.value.max_tokens) == (temperature, tokens)
    assert found.origin["temperature"] == "request"


def test_what_is_done_with_a_layer_changes_no_preset():
    preset("accurate")["answer"]["temperature"] = 2.0

    assert preset("accurate")["answer"]["temperature"] < 0.2
