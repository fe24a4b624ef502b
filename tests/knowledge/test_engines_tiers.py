"""Which models the configuration makes, and in which order they are asked."""

import pytest
from django.test import override_settings

from knowledge import engines
from ragcore.llm.routing import RoutingDecision, choose_tier

CACHED = (
    engines.tiers, engines.generator, engines._generator_of, engines._server_model, engines._local_model
)  # fmt: skip
NONE = {
    f"LLM_{kind}{name}": None
    for kind in ("", "FAST_", "ADVANCED_", "JUDGE_")
    for name in ("BASE_URL", "API_KEY", "MODEL")
} | {"LLM_LOCAL_MODEL": None, "LLM_PRICES": None}


@pytest.fixture
def configured():
    """Settings of models for one test; engines are made anew before and after it."""
    active = []

    def configure(**given):
        override = override_settings(**{**NONE, **given})
        override.enable()
        active.append(override)
        _forget()

    yield configure
    for override in reversed(active):
        override.disable()
    _forget()


def _forget():
    for function in CACHED:
        function.cache_clear()


def asked(generator):
    return [rung.tier.model for rung in generator._rungs]


SERVER = {"LLM_BASE_URL": "http://m/v1", "LLM_API_KEY": "k", "LLM_MODEL": "medium"}
ALL = {
    **SERVER, "LLM_FAST_MODEL": "small", "LLM_ADVANCED_MODEL": "large", "LLM_ADVANCED_BASE_URL": "http://l/v1",
    "LLM_LOCAL_MODEL": "tiny",
}  # fmt: skip


def test_without_models_answers_are_extractive(configured):
    configured()

    assert engines.chat_model() is None
    assert engines.judge_model() is None
    assert engines.tiers() == ()
    assert engines.generator() is engines.extractive_generator()


def test_a_single_server_is_all_there_is(configured):
    configured(**SERVER)

    assert engines.chat_model().name == engines.generator().name == "medium"
    assert [(tier.name, tier.price_in) for tier in engines.tiers()] == [("standard", None)]
    assert asked(engines.generator()) == ["medium"]
    assert engines.judge_model() is None


def test_all_tiers_stand_behind_the_one_that_is_asked(configured):
    configured(**ALL)

    tiers = {tier.model: tier for tier in engines.tiers()}

    assert asked(engines.generator()) == ["medium", "large", "small", "tiny"]
    assert asked(engines.generator_for(RoutingDecision(tier=tiers["small"], reason=""))) == [
        "small",
        "large",
        "medium",
        "tiny",
    ]
    assert asked(engines.generator_for(RoutingDecision(tier=tiers["tiny"], reason=""))) == [
        "tiny",
        "small",
        "large",
        "medium",
    ]
    assert engines.generator_for(RoutingDecision(tier=None, reason="")) is engines.extractive_generator()
    assert choose_tier(0.1, engines.tiers()).tier == tiers["tiny"]


def test_the_key_of_one_server_is_not_sent_to_another(configured):
    configured(**ALL, LLM_JUDGE_MODEL="judge")

    fast, advanced = engines._server_model("FAST"), engines._server_model("ADVANCED")

    assert (fast._base_url, fast._api_key) == ("http://m/v1", "k")
    assert (advanced._base_url, advanced._api_key) == ("http://l/v1", "")
    assert engines.judge_model().name == "judge"


def test_prices_come_from_the_table(configured):
    configured(**SERVER, LLM_PRICES='{"medium": {"input": 1, "output": 2}}')

    assert [(tier.price_in, tier.price_out) for tier in engines.tiers()] == [(1, 2)]


def test_a_local_model_alone_is_the_model_for_everything(configured):
    configured(LLM_LOCAL_MODEL="tiny")

    assert engines.chat_model().name == "tiny"
    assert asked(engines.generator()) == ["tiny"]
