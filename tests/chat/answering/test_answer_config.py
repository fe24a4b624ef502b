"""Options in layers, and what a client may and may not change."""

import pytest

from chat.answering.answer_config import LEAST_LATENCY, resolve_answer_config
from chat.answering.metadata import unused_options
from chat.types import AnswerRequest, Constraints
from knowledge import model_registry
from knowledge.models import SiteOptions
from ragcore.llm.tiers import build_tier
from tests.factories import make_set, make_user, scope_of

OWN = "Answer in two words."


@pytest.fixture
def owner(db):
    return make_user()


def asked(owner, *, given=(), **values):
    request = AnswerRequest(query="q", given=frozenset(given or values), **values)
    return request, resolve_answer_config(scope=scope_of(owner), request=request)


def site(owner, **answer):
    SiteOptions.objects.update_or_create(tenant=owner.tenant, defaults={"options": {"answer": answer}})


def limits(cost=None, latency=None):
    return {"constraints": Constraints(max_cost_per_query=cost, max_latency=latency)}


# ── prompts of clients ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("which", ["alone", "among others", "all"])
def test_a_set_that_forbids_own_prompts_forbids_them_wherever_it_is_asked(owner, which):
    strict = make_set(owners=[owner], options={"answer": {"own_prompts": False}})
    free = make_set(owners=[owner])
    sets = {"alone": (strict.pk,), "among others": (free.pk, strict.pk), "all": ()}[which]

    request, config = asked(owner, sets=sets, system_prompt=OWN)

    assert config.system_prompt == ""
    assert unused_options(request, config) == ["system_prompt"]


def test_where_every_set_permits_them_own_prompts_are_used(owner):
    make_set(owners=[make_user()], visibility="members", options={"answer": {"own_prompts": False}})  # unreadable
    permitting = make_set(owners=[owner], options={"answer": {"own_prompts": True}})
    silent = make_set(owners=[owner])

    for sets in ((), (permitting.pk,), (permitting.pk, silent.pk)):
        request, config = asked(owner, sets=sets, system_prompt=OWN)
        assert config.system_prompt == OWN
        assert unused_options(request, config) == []


def test_sets_without_a_word_do_as_the_site_does(owner):
    site(owner, own_prompts=False)
    permitting, silent = make_set(owners=[owner], options={"answer": {"own_prompts": True}}), make_set(owners=[owner])

    assert asked(owner, sets=(permitting.pk,), system_prompt=OWN)[1].system_prompt == OWN
    assert asked(owner, sets=(permitting.pk, silent.pk), system_prompt=OWN)[1].system_prompt == ""


# ── limits ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("of_site", "of_client", "in_force"), [(0.5, 2.0, 0.5), (0.5, 0.1, 0.1), (0.0, 2.0, 2.0)])
def test_of_two_limits_the_smaller_one_holds(owner, of_site, of_client, in_force):
    site(owner, max_cost=of_site, max_latency=of_site)

    _, config = asked(owner, **limits(of_client, of_client))

    assert (config.options.max_cost, config.options.max_latency) == (in_force, in_force)


def test_a_preset_does_not_lift_the_limit_of_the_site(owner):
    site(owner, max_latency=2.0)

    _, config = asked(owner, preset="fast")

    assert (config.options.max_latency, config.origin["max_latency"]) == (2.0, "site")


def test_nothing_is_not_the_same_as_no_limit(owner):
    site(owner, max_cost=0.5)

    _, nothing = asked(owner, **limits(0, 0))
    _, unsaid = asked(owner, **limits())

    assert (nothing.is_free_only, nothing.options.max_latency) == (True, LEAST_LATENCY)
    assert (unsaid.is_free_only, unsaid.options.max_latency) == (False, 0.0)
    assert nothing.sha256() != unsaid.sha256()


# ── modes ───────────────────────────────────────────────────────────────────────────────────────


def test_without_its_rounds_a_mode_writes_with_the_model_that_the_question_needs(owner):
    _, config = asked(owner, mode="ultimate", use_agentic_rag=False)
    _, default = asked(owner, mode="ultimate", use_agentic_rag=False, use_tiered_generation=False)
    _, with_rounds = asked(owner, mode="ultimate")

    assert (config.options.mode, config.options.agentic, config.options.tiered) == ("ultimate", "off", True)
    assert not default.options.tiered
    assert not with_rounds.options.tiered


def test_rounds_may_be_asked_for_in_any_mode(owner):
    assert asked(owner, mode="enhanced", use_agentic_rag=True)[1].options.mode == "enhanced"
    assert asked(owner, mode="enhanced", use_agentic_rag=True)[1].options.agentic == "on"
    assert asked(owner, use_agentic_rag=True)[1].options.mode == "agentic"


def test_the_mode_that_the_client_names_brings_its_search_whatever_the_preset_says(owner):
    _, config = asked(owner, mode="ultimate", preset="fast")
    _, by_preset = asked(owner, preset="fast")

    assert (config.options.mode, config.mode_retrieval["top_k"]) == ("ultimate", 8)
    assert by_preset.mode_retrieval == {}


def test_a_switch_that_self_rag_does_not_read_is_told(owner):
    request, config = asked(owner, strategy="self_rag", use_agentic_rag=False)

    assert unused_options(request, config) == ["use_agentic_rag"]
    assert unused_options(*asked(owner, mode="ultimate", use_agentic_rag=False)) == []


# ── what had no effect ──────────────────────────────────────────────────────────────────────────

LOCAL, REMOTE = build_tier("fast", "small", is_local=True), build_tier("standard", "large")


@pytest.mark.parametrize(
    ("tiers", "tiered", "unused"),
    [
        ([LOCAL, REMOTE], True, []),
        ([LOCAL, REMOTE], False, ["prefer_api_models"]),  # the model is not chosen
        ([REMOTE], True, ["prefer_api_models"]),
        ([], True, ["prefer_api_models"]),
    ],
)
def test_a_preference_for_remote_models_is_named_where_there_is_no_choice(owner, monkeypatch, tiers, tiered, unused):
    monkeypatch.setattr(model_registry, "tiers", lambda: tuple(tiers))

    found = unused_options(*asked(owner, prefer_api_models=True, use_tiered_generation=tiered))

    assert found == unused
    assert unused_options(*asked(owner, prefer_api_models=False)) == []


@pytest.mark.parametrize(("cost", "unused"), [(None, ["constraints.estimated_tokens"]), (0.5, []), (0, [])])
def test_an_estimate_of_tokens_is_named_where_no_cost_is_limited(owner, monkeypatch, cost, unused):
    monkeypatch.setattr(model_registry, "tiers", lambda: (REMOTE,))
    constraints = Constraints(max_cost_per_query=cost, estimated_tokens=500)

    assert unused_options(*asked(owner, constraints=constraints)) == unused


def test_prompts_are_kept_within_the_context_of_the_models(owner, monkeypatch):
    site(owner, max_tokens=1500, context_tokens=3000)
    _request, before = asked(owner)
    monkeypatch.setattr(model_registry, "least_context_tokens", lambda: 4096)

    _request, small = asked(owner)

    found = small.options
    assert (before.options.max_tokens, before.options.context_tokens) == (1500, 3000)
    assert found.max_tokens + found.context_tokens + small.history_tokens <= 4096
    assert before.history_tokens > small.history_tokens
    assert small.origin["context_tokens"] == "model"
    monkeypatch.setattr(model_registry, "least_context_tokens", lambda: 128_000)
    _request, large = asked(owner)
    assert (large.options, large.origin) == (before.options, before.origin)


@pytest.mark.parametrize(("reranker", "unused"), [("none", ["rerank"]), ("linear", [])])
def test_reranking_is_named_where_nothing_can_rerank(owner, settings, reranker, unused):
    settings.RERANKER = reranker

    assert unused_options(*asked(owner, rerank=True)) == unused
    assert unused_options(*asked(owner, rerank=False)) == []


# ── answer templates of sets ─────────────────────────────────────────────────────────────────


def test_a_set_that_is_asked_alone_says_the_form_of_its_answers(owner):
    plain, own = make_set(owners=[owner]), make_set(owners=[owner], answer_template="## Cause\n## Remedy")
    closed = make_set(owners=[make_user()], visibility="members", answer_template="## Secret")

    alone, both = asked(owner, sets=(own.pk,))[1], asked(owner, sets=(own.pk, plain.pk))[1]

    assert alone.template == "## Cause\n## Remedy"
    assert both.template == ""
    assert asked(owner, sets=(closed.pk,))[1].template == ""
    assert alone.sha256() != asked(owner, sets=(plain.pk,))[1].sha256()


# ── house style ───────────────────────────────────────────────────────────────────────────────────


def test_a_set_that_is_asked_alone_says_its_house_style_below_that_of_the_site(owner):
    voices = {"tone": "friendly", "assistant_name": "Bea"}
    SiteOptions.objects.create(tenant=owner.tenant, options={"voice": {"tone": "formal", "audience": "engineers"}})
    own = make_set(owners=[owner], options={"voice": voices})
    closed = make_set(owners=[make_user()], visibility="members", options={"voice": {"assistant_name": "Secret"}})

    alone, everywhere = asked(owner, sets=(own.pk,))[1], asked(owner)[1]

    assert (alone.voice.tone, alone.voice.assistant_name, alone.voice.audience) == ("friendly", "Bea", "engineers")
    assert (everywhere.voice.tone, everywhere.voice.assistant_name) == ("formal", "")
    assert asked(owner, sets=(closed.pk,))[1].voice == everywhere.voice
    assert alone.sha256() != everywhere.sha256()
