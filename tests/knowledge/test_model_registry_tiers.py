"""Which models the configuration makes, and in which order they are asked."""

import pytest
from django.test import override_settings

from knowledge import model_registry
from knowledge.model_setup import setup_now
from ragcore.llm.tiers import RoutingDecision, choose_tier

NONE = {
    f"LLM_{kind}{name}": None
    for kind in ("", "FAST_", "ADVANCED_", "JUDGE_")
    for name in ("BASE_URL", "API_KEY", "MODEL")
} | {"LLM_LOCAL_MODEL": None, "LLM_PRICES": None}


@pytest.fixture
def configured():
    """Settings of models for one test."""
    active = []

    def configure(**given):
        override = override_settings(**{**NONE, **given})
        override.enable()
        active.append(override)

    yield configure
    for override in reversed(active):
        override.disable()


def asked(generator):
    return [rung.tier.model for rung in generator._rungs]


SERVER = {"LLM_BASE_URL": "http://m/v1", "LLM_API_KEY": "k", "LLM_MODEL": "medium"}
ALL = {
    **SERVER, "LLM_FAST_MODEL": "small", "LLM_ADVANCED_MODEL": "large", "LLM_ADVANCED_BASE_URL": "http://l/v1",
    "LLM_LOCAL_MODEL": "tiny",
}  # fmt: skip


def test_without_models_answers_are_extractive(configured):
    configured()

    assert model_registry.chat_model() is None
    assert model_registry.judge_model() is None
    assert model_registry.tiers() == ()
    assert model_registry.generator() is model_registry.extractive_generator()


def test_a_single_server_is_all_there_is(configured):
    configured(**SERVER)

    assert model_registry.chat_model().name == model_registry.generator().name == "medium"
    assert [(tier.name, tier.price_in) for tier in model_registry.tiers()] == [("standard", None)]
    assert asked(model_registry.generator()) == ["medium"]
    assert model_registry.judge_model() is None


def test_all_tiers_stand_behind_the_one_that_is_asked(configured):
    configured(**ALL)

    tiers = {tier.model: tier for tier in reversed(model_registry.tiers())}  # of the local one the first tier

    assert asked(model_registry.generator()) == ["medium", "large", "small", "tiny"]
    assert asked(model_registry.generator_for(RoutingDecision(tier=tiers["small"], reason=""))) == [
        "small",
        "large",
        "medium",
        "tiny",
    ]
    assert asked(model_registry.generator_for(RoutingDecision(tier=tiers["tiny"], reason=""))) == [
        "tiny",
        "small",
        "large",
        "medium",
    ]
    assert model_registry.generator_for(RoutingDecision(tier=None, reason="")) is model_registry.extractive_generator()
    assert choose_tier(0.1, model_registry.tiers()).tier == tiers["tiny"]


@pytest.mark.parametrize(("complexity", "name"), [(0.1, "fast"), (0.4, "standard"), (0.8, "advanced")])
def test_the_local_model_is_preferred_in_every_tier(configured, complexity, name):
    configured(**ALL)

    choice = choose_tier(complexity, model_registry.tiers())

    assert (choice.tier.model, choice.tier.name, choice.reasons[1:]) == ("tiny", name, ("local",))
    assert asked(model_registry.generator_for(choice))[0] == "tiny"
    assert asked(model_registry.generator_for(choice)).count("tiny") == 1


def test_the_key_of_one_server_is_not_sent_to_another(configured):
    configured(**ALL, LLM_JUDGE_MODEL="judge")

    fast, advanced = (setup_now().models[name].endpoints for name in ("fast", "advanced"))

    assert [(one.url, one.key, one.hosts) for one in fast] == [("http://m/v1", "k", None)]
    assert [(one.url, one.key, one.hosts) for one in advanced] == [("http://l/v1", "", None)]
    assert model_registry.judge_model().name == "judge"


def test_prices_come_from_the_table(configured):
    configured(**SERVER, LLM_PRICES='{"medium": {"input": 1, "output": 2}}')

    assert [(tier.price_in, tier.price_out) for tier in model_registry.tiers()] == [(1, 2)]


def test_a_local_model_alone_is_the_model_for_everything(configured):
    configured(LLM_LOCAL_MODEL="tiny")

    assert model_registry.chat_model().name == "tiny"
    assert asked(model_registry.generator()) == ["tiny"]
